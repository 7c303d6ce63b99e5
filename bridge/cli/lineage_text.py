"""Text and JSON output of `lineage-bridge lineage`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bridge.cli.output import escape, truncation_note

if TYPE_CHECKING:
    from bridge.queries.lineage import ColumnHopResult, ColumnLineageResult, EdgeResult, LineageResult
    from bridge.store.lineage.walk import Direction
    from bridge.store.references import ColumnReference, NodeReference


def tree_lines(walk: "LineageResult", direction: "Direction") -> Iterator[str]:
    """Give the lines of the tree, beginning with the dataset that was asked for."""
    children: dict[str, list[EdgeResult]] = {}
    for edge in walk.edges:
        at = edge.target if direction == "upstream" else edge.source
        if at is not None:
            children.setdefault(at.id, []).append(edge)
    for edges in children.values():
        edges.sort(key=lambda edge: _line(edge, direction))
    yield _dataset(walk.start)
    yield from _branches(walk.start.id, children, direction)
    yield from truncation_note(walk.cut)


def _branches(start: str, children: "dict[str, list[EdgeResult]]", direction: "Direction") -> Iterator[str]:
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


def _other(edge: "EdgeResult", direction: "Direction") -> "NodeReference | None":
    return edge.source if direction == "upstream" else edge.target


def _marked(edges: "list[EdgeResult]") -> "list[tuple[EdgeResult, bool]]":
    return [(edge, edge is edges[-1]) for edge in edges]


def _line(edge: "EdgeResult", direction: "Direction") -> str:
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


def _run(edge: "EdgeResult") -> str:
    """Name the run, and the versions that it read and wrote."""
    if edge.run_id is None:
        return ""
    versions = (("read", edge.source_version), ("wrote", edge.target_version))
    return f" run {edge.run_id}" + "".join(f" {did} {version}" for did, version in versions if version)


def _dataset(dataset: "NodeReference") -> str:
    return escape(f"{dataset.namespace} {dataset.name}")


_WHOLE = "(whole dataset)"


def column_lines(walk: "LineageResult") -> Iterator[str]:
    """Give a section for each target, in the order of the walk, its columns sorted by name."""
    if not walk.columns:
        yield "no column lineage is known between these datasets"
    for target in dict.fromkeys(edge.target for edge in walk.edges):
        section = {
            (hop.target.column or "", _column(hop.source), _transformation_label(hop))
            for hop in walk.columns
            if hop.target.id == target.id
        }
        if section:
            yield ""
            yield escape(f"columns of {target.namespace} {target.name}")
            yield from (
                escape(f"  {column or _WHOLE}  <- {source}  {how}") for column, source, how in sorted(section)
            )


def hop_lines(walk: "ColumnLineageResult") -> Iterator[str]:
    """Give a line for each hop, level by level, with the job that does it."""
    if not walk.hops:
        yield "no column lineage is known from here"
    for hop in walk.hops:
        job = f"   [{hop.job.namespace} {hop.job.name}]" if hop.job else ""
        yield escape(f"{_column(hop.target)}  <- {_column(hop.source)}  {_transformation_label(hop)}{job}")
    yield from truncation_note(walk.cut)


def _column(of: "ColumnReference") -> str:
    return f"{of.namespace} {of.name}" + (f".{of.column}" if of.column else f" {_WHOLE}")


def _transformation_label(hop: "ColumnHopResult") -> str:
    done = "/".join(part for part in (hop.type, hop.subtype) if part)
    return f"{done} [masked]" if hop.masking else done
