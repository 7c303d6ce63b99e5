"""Graphs in the words of other programs: Mermaid, DOT."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bridge.cli.output import escape

if TYPE_CHECKING:
    from bridge.queries.lineage import EdgeResult, LineageResult
    from bridge.store.references import NodeReference

#: From which node to which, by their places in a list, and what is written on it: names would not do as ids.
DiagramEdge = tuple[int, str, int]


def as_mermaid(walk: "LineageResult") -> Iterator[str]:
    """Give a Mermaid flowchart: datasets are nodes, jobs are written on the arrows."""
    return mermaid(*_graph(walk))


def as_dot(walk: "LineageResult") -> Iterator[str]:
    """Give a graph for Graphviz."""
    return dot(*_graph(walk))


def mermaid(nodes: Iterable[str], arrows: Iterable[DiagramEdge]) -> Iterator[str]:
    """Give a flowchart of named nodes, which arrows name by their places."""
    yield "flowchart LR"
    for number, name in enumerate(nodes):
        yield f'  n{number}["{_entities(name)}"]'
    for source, label, target in arrows:
        yield f'  n{source} -- "{_entities(label)}" --> n{target}'


def dot(nodes: Iterable[str], arrows: Iterable[DiagramEdge]) -> Iterator[str]:
    """Give a graph of named nodes, which arrows name by their places."""
    yield "digraph lineage {"
    yield "  rankdir=LR; node [shape=box];"
    for number, name in enumerate(nodes):
        yield f"  n{number} [label={_quoted(name)}];"
    for source, label, target in arrows:
        yield f"  n{source} -> n{target} [label={_quoted(label)}];"
    yield "}"


def _graph(walk: "LineageResult") -> tuple[list[str], list[DiagramEdge]]:
    """Give the datasets of a walk, each once, and its edges between their places."""
    ends = [walk.start, *(end for edge in walk.edges for end in (edge.source, edge.target))]
    places = {end: place for place, end in enumerate(dict.fromkeys(ends))}
    arrows = [(places[edge.source], _edge_label(edge), places[edge.target]) for edge in walk.edges]
    return [_name(end) for end in places], arrows


def _name(dataset: "NodeReference | None") -> str:
    return f"{dataset.namespace} {dataset.name}" if dataset else "no known source"


def _edge_label(edge: "EdgeResult") -> str:
    if edge.job is None:
        return "renamed"
    return edge.job.name + (f" / {edge.step}" if edge.step else "")


def _entities(text: str) -> str:
    """Write a text so that Mermaid reads nothing into it."""
    return "".join(char if char.isalnum() or char in " ./:_-" else f"#{ord(char)};" for char in escape(text))


def _quoted(text: str) -> str:
    """Write a text as Graphviz quotes it: a backslash would begin one of its own words."""
    spelled = escape(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{spelled}"'
