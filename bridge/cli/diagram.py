"""Renders lineage graphs as Mermaid and Graphviz DOT."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bridge.cli.output import escape

if TYPE_CHECKING:
    from bridge.queries.lineage import EdgeResult, LineageResult
    from bridge.store.references import NodeReference

#: Source index, label and target index. Nodes are referenced by index because names are not valid ids.
DiagramEdge = tuple[int, str, int]


def lineage_to_mermaid(walk: "LineageResult") -> Iterator[str]:
    """Render lineage as a Mermaid flowchart with datasets as nodes and jobs as edge labels."""
    return render_mermaid(*_nodes_and_edges(walk))


def lineage_to_dot(walk: "LineageResult") -> Iterator[str]:
    """Render lineage as a Graphviz graph with datasets as nodes and jobs as edge labels."""
    return render_dot(*_nodes_and_edges(walk))


def render_mermaid(nodes: Iterable[str], edges: Iterable[DiagramEdge]) -> Iterator[str]:
    """Render a Mermaid flowchart. Edges refer to nodes by index."""
    yield "flowchart LR"
    for index, name in enumerate(nodes):
        yield f'  n{index}["{_escape_mermaid(name)}"]'
    for source, label, target in edges:
        yield f'  n{source} -- "{_escape_mermaid(label)}" --> n{target}'


def render_dot(nodes: Iterable[str], edges: Iterable[DiagramEdge]) -> Iterator[str]:
    """Render a Graphviz graph. Edges refer to nodes by index."""
    yield "digraph lineage {"
    yield "  rankdir=LR; node [shape=box];"
    for index, name in enumerate(nodes):
        yield f"  n{index} [label={_quote_dot(name)}];"
    for source, label, target in edges:
        yield f"  n{source} -> n{target} [label={_quote_dot(label)}];"
    yield "}"


def _nodes_and_edges(walk: "LineageResult") -> tuple[list[str], list[DiagramEdge]]:
    """Return the labels of the distinct datasets, and edges that refer to the labels by index."""
    datasets = [walk.start, *(dataset for edge in walk.edges for dataset in (edge.source, edge.target))]
    indexes = {dataset: index for index, dataset in enumerate(dict.fromkeys(datasets))}
    edges = [(indexes[edge.source], _edge_label(edge), indexes[edge.target]) for edge in walk.edges]
    return [_node_label(dataset) for dataset in indexes], edges


def _node_label(dataset: "NodeReference | None") -> str:
    return f"{dataset.namespace} {dataset.name}" if dataset else "unknown source"


def _edge_label(edge: "EdgeResult") -> str:
    if edge.job is None:
        return "renamed"
    return edge.job.name + (f" / {edge.step}" if edge.step else "")


def _escape_mermaid(text: str) -> str:
    """Replace characters that have a meaning in Mermaid by numeric entities."""
    return "".join(char if char.isalnum() or char in " ./:_-" else f"#{ord(char)};" for char in escape(text))


def _quote_dot(text: str) -> str:
    """Quote for DOT, in which a backslash starts an escape sequence."""
    escaped = escape(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
