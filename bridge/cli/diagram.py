"""A walk in the words of other programs: Mermaid, DOT."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bridge.cli.escape import escape

if TYPE_CHECKING:
    from bridge.catalogue.lineage import EdgeAnswer, LineageAnswer
    from bridge.catalogue.things import Thing


def as_mermaid(walk: "LineageAnswer") -> Iterator[str]:
    """Give a Mermaid flowchart: datasets are nodes, jobs are written on the arrows."""
    numbers = _numbered(walk)
    yield "flowchart LR"
    for end, number in numbers.items():
        yield f'  n{number}["{_entities(_name(end))}"]'
    for edge in walk.edges:
        yield f'  n{numbers[edge.source]} -- "{_entities(_how(edge))}" --> n{numbers[edge.target]}'


def as_dot(walk: "LineageAnswer") -> Iterator[str]:
    """Give a graph for Graphviz."""
    numbers = _numbered(walk)
    yield "digraph lineage {"
    yield "  rankdir=LR; node [shape=box];"
    for end, number in numbers.items():
        yield f"  n{number} [label={_quoted(_name(end))}];"
    for edge in walk.edges:
        yield f"  n{numbers[edge.source]} -> n{numbers[edge.target]} [label={_quoted(_how(edge))}];"
    yield "}"


def _numbered(walk: "LineageAnswer") -> "dict[Thing | None, int]":
    """Give the datasets of a walk numbers: names would not do as ids in either language."""
    ends = [walk.start, *(end for edge in walk.edges for end in (edge.source, edge.target))]
    return {end: number for number, end in enumerate(dict.fromkeys(ends))}


def _name(dataset: "Thing | None") -> str:
    return f"{dataset.namespace} {dataset.name}" if dataset else "no known source"


def _how(edge: "EdgeAnswer") -> str:
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
