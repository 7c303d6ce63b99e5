"""A walk drawn as a tree: every dataset is unfolded once."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bridge.cli.cut import tell_cut
from bridge.cli.escape import escape

if TYPE_CHECKING:
    from bridge.catalogue.lineage import EdgeAnswer, LineageAnswer
    from bridge.catalogue.things import Thing
    from bridge.store.walk import Direction


def draw(walk: "LineageAnswer", direction: "Direction") -> Iterator[str]:
    """Give the lines of the tree, beginning with the dataset that was asked for."""
    children: dict[str, list[EdgeAnswer]] = {}
    for edge in walk.edges:
        at = edge.target if direction == "upstream" else edge.source
        if at is not None:
            children.setdefault(at.id, []).append(edge)
    for edges in children.values():
        edges.sort(key=lambda edge: _line(edge, direction))
    yield _dataset(walk.start)
    yield from _branches(walk.start.id, children, direction)
    yield from tell_cut(walk.cut)


def _branches(start: str, children: "dict[str, list[EdgeAnswer]]", direction: "Direction") -> Iterator[str]:
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
        again = other is not None and other.id in drawn
        yield f"{indent}{'└─' if last else '├─'} {_line(edge, direction)}{' (see above)' if again else ''}"
        if other is not None and not again:
            drawn.add(other.id)
            unfolding.append((indent + ("   " if last else "│  "), iter(_marked(children.get(other.id, [])))))


def _other(edge: "EdgeAnswer", direction: "Direction") -> "Thing | None":
    return edge.source if direction == "upstream" else edge.target


def _marked(edges: "list[EdgeAnswer]") -> "list[tuple[EdgeAnswer, bool]]":
    return [(edge, edge is edges[-1]) for edge in edges]


def _line(edge: "EdgeAnswer", direction: "Direction") -> str:
    arrow = "<-" if direction == "upstream" else "->"
    if edge.job is None:
        how = "renamed"
    else:
        step = f" / {edge.step}" if edge.step else ""
        said = f"{edge.evidence}, retired" if edge.retired else edge.evidence
        how = f"{edge.job.namespace} {edge.job.name}{step}{_run(edge)}, {said}"
    other = _other(edge, direction)
    what = _dataset(other) if other is not None else "no known source"
    return f"{arrow} {what}   [{escape(how)}]"


def _run(edge: "EdgeAnswer") -> str:
    """Name the run, and the versions that it read and wrote."""
    if edge.run_id is None:
        return ""
    versions = (("read", edge.source_version), ("wrote", edge.target_version))
    return f" run {edge.run_id}" + "".join(f" {did} {version}" for did, version in versions if version)


def _dataset(dataset: "Thing") -> str:
    return escape(f"{dataset.namespace} {dataset.name}")
