"""A walk in the words of other programs: Mermaid, DOT."""

from collections.abc import Iterator

from bridge.cli.escape import escape
from bridge.store.graph import Edge, Graph
from bridge.store.walk import Walk

_UNKNOWN = b""


def as_mermaid(graph: Graph, walk: Walk) -> Iterator[str]:
    """Give a Mermaid flowchart: datasets are nodes, jobs are written on the arrows."""
    numbers = _numbered(walk)
    yield "flowchart LR"
    for end, number in numbers.items():
        yield f'  n{number}["{_entities(_name(graph, end))}"]'
    for edge in walk.edges:
        arrow = f'-- "{_entities(_how(graph, edge))}" -->'
        yield f"  n{numbers[edge.source or _UNKNOWN]} {arrow} n{numbers[edge.target]}"


def as_dot(graph: Graph, walk: Walk) -> Iterator[str]:
    """Give a graph for Graphviz."""
    numbers = _numbered(walk)
    yield "digraph lineage {"
    yield "  rankdir=LR; node [shape=box];"
    for end, number in numbers.items():
        yield f"  n{number} [label={_quoted(_name(graph, end))}];"
    for edge in walk.edges:
        yield (
            f"  n{numbers[edge.source or _UNKNOWN]} -> n{numbers[edge.target]} [label={_quoted(_how(graph, edge))}];"
        )
    yield "}"


def _numbered(walk: Walk) -> dict[bytes, int]:
    """Give the datasets of a walk numbers: names would not do as ids in either language."""
    ends = [walk.start, *(end for edge in walk.edges for end in (edge.source or _UNKNOWN, edge.target))]
    return {end: number for number, end in enumerate(dict.fromkeys(ends))}


def _name(graph: Graph, dataset: bytes) -> str:
    return " ".join(graph.dataset(dataset)) if dataset else "no known source"


def _how(graph: Graph, edge: Edge) -> str:
    if edge.job is None:
        return "renamed"
    return graph.job(edge.job).name + (f" / {edge.step}" if edge.step else "")


def _entities(text: str) -> str:
    """Write a text so that Mermaid reads nothing into it."""
    return "".join(char if char.isalnum() or char in " ./:_-" else f"#{ord(char)};" for char in escape(text))


def _quoted(text: str) -> str:
    """Write a text as Graphviz quotes it: a backslash would begin one of its own words."""
    spelled = escape(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{spelled}"'
