"""A walk drawn as a tree: every dataset is unfolded once."""

from collections.abc import Iterator

from bridge.cli.cut import tell_cut
from bridge.cli.escape import escape
from bridge.store.graph import Edge, Graph
from bridge.store.walk import Direction, Walk


def draw(graph: Graph, walk: Walk, direction: Direction) -> Iterator[str]:
    """Give the lines of the tree, beginning with the dataset that was asked for."""
    children: dict[bytes, list[Edge]] = {}
    for edge in walk.edges:
        at = edge.target if direction == "upstream" else edge.source
        if at is not None:
            children.setdefault(at, []).append(edge)
    for edges in children.values():
        edges.sort(key=lambda edge: _line(graph, edge, _other(edge, direction), direction))
    yield _dataset(graph, walk.start)
    yield from _branches(graph, walk.start, children, direction)
    yield from tell_cut(walk.cut)


def _branches(graph: Graph, start: bytes, children: dict[bytes, list[Edge]], direction: Direction) -> Iterator[str]:
    """Unfold datasets depth first; a chain may be longer than calls can be nested."""
    drawn = {start}
    unfolding = [("", iter(_marked(children.get(start, []))))]
    while unfolding:
        indent, edges = unfolding[-1]
        found = next(edges, None)
        if found is None:
            unfolding.pop()
            continue
        edge, last = found
        other = _other(edge, direction)
        again = other is not None and other in drawn
        line = _line(graph, edge, other, direction) + (" (see above)" if again else "")
        yield f"{indent}{'└─' if last else '├─'} {line}"
        if other is not None and not again:
            drawn.add(other)
            unfolding.append((indent + ("   " if last else "│  "), iter(_marked(children.get(other, [])))))


def _other(edge: Edge, direction: Direction) -> bytes | None:
    return edge.source if direction == "upstream" else edge.target


def _marked(edges: list[Edge]) -> list[tuple[Edge, bool]]:
    return [(edge, edge is edges[-1]) for edge in edges]


def _line(graph: Graph, edge: Edge, other: bytes | None, direction: Direction) -> str:
    arrow = "<-" if direction == "upstream" else "->"
    if edge.job is None:
        how = "renamed"
    else:
        job = graph.job(edge.job)
        step = f" / {edge.step}" if edge.step else ""
        run = f" run {edge.run_uuid}" if edge.run_uuid else ""
        how = f"{job.namespace} {job.name}{step}{run}, {edge.evidence}"
    what = _dataset(graph, other) if other is not None else "no known source"
    return f"{arrow} {what}   [{escape(how)}]"


def _dataset(graph: Graph, dataset: bytes) -> str:
    named = graph.dataset(dataset)
    return escape(f"{named.namespace} {named.name}")
