"""Text and JSON output of `lineage-bridge lineage`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bridge.cli.output import escape, truncation_note

if TYPE_CHECKING:
    from bridge.queries.lineage import ColumnHopResult, ColumnLineageResult, EdgeResult, LineageResult
    from bridge.store.lineage.walk import Direction
    from bridge.store.references import ColumnReference, NodeReference


def tree_lines(walk: "LineageResult", direction: "Direction") -> Iterator[str]:
    """Draw the lineage as a tree with the requested dataset at the root."""
    edges_by_dataset: dict[str, list[EdgeResult]] = {}
    for edge in walk.edges:
        dataset = edge.target if direction == "upstream" else edge.source
        if dataset is not None:
            edges_by_dataset.setdefault(dataset.id, []).append(edge)
    for edges in edges_by_dataset.values():
        edges.sort(key=lambda edge: _edge_line(edge, direction))
    yield _dataset_label(walk.start)
    yield from _branch_lines(walk.start.id, edges_by_dataset, direction)
    yield from truncation_note(walk.cut)


def _branch_lines(
    start: str, edges_by_dataset: "dict[str, list[EdgeResult]]", direction: "Direction"
) -> Iterator[str]:
    """Draw datasets depth first, without recursion: a chain may be longer than the recursion limit."""
    drawn_ids = {start}
    stack = [("", iter(_with_last_flag(edges_by_dataset.get(start, []))))]
    while stack:
        indent, edges = stack[-1]
        next_edge = next(edges, None)
        if next_edge is None:
            stack.pop()
            continue
        edge, is_last = next_edge
        neighbor = _neighbor(edge, direction)
        is_repeated = neighbor is not None and neighbor.id in drawn_ids
        note = " (see above)" if is_repeated else ""
        connector = "└─" if is_last else "├─"
        yield f"{indent}{connector} {_edge_line(edge, direction)}{note}"
        if neighbor is not None and not is_repeated:
            drawn_ids.add(neighbor.id)
            child_indent = indent + ("   " if is_last else "│  ")
            stack.append((child_indent, iter(_with_last_flag(edges_by_dataset.get(neighbor.id, [])))))


def _neighbor(edge: "EdgeResult", direction: "Direction") -> "NodeReference | None":
    """Return the next dataset in the direction of the walk."""
    return edge.source if direction == "upstream" else edge.target


def _with_last_flag(edges: "list[EdgeResult]") -> "list[tuple[EdgeResult, bool]]":
    """Pair each edge with a flag that is True for the last edge."""
    return [(edge, edge is edges[-1]) for edge in edges]


def _edge_line(edge: "EdgeResult", direction: "Direction") -> str:
    """Describe an edge by its next dataset, and by its job, run and evidence."""
    arrow = "<-" if direction == "upstream" else "->"
    if edge.job is None:
        description = "renamed"
    else:
        step = f" / {edge.step}" if edge.step else ""
        evidence = f"{edge.evidence}, retired" if edge.retired else edge.evidence
        description = f"{edge.job.namespace} {edge.job.name}{step}{_run_label(edge)}, {evidence}"
    neighbor = _neighbor(edge, direction)
    name = _dataset_label(neighbor) if neighbor is not None else "unknown source"
    return f"{arrow} {name}   [{escape(description)}]"


def _run_label(edge: "EdgeResult") -> str:
    """Return the run id of an edge with the versions that the run read and wrote."""
    if edge.run_id is None:
        return ""
    versions = (("read", edge.source_version), ("wrote", edge.target_version))
    return f" run {edge.run_id}" + "".join(f" {verb} {version}" for verb, version in versions if version)


def _dataset_label(dataset: "NodeReference") -> str:
    return escape(f"{dataset.namespace} {dataset.name}")


_WHOLE_DATASET = "(whole dataset)"


def column_lines(walk: "LineageResult") -> Iterator[str]:
    """Yield one section per target dataset in the order of the walk, with columns sorted by name."""
    if not walk.columns:
        yield "no column lineage between these datasets"
    for target in dict.fromkeys(edge.target for edge in walk.edges):
        rows = {
            (hop.target.column or "", _column_label(hop.source), _transformation_label(hop))
            for hop in walk.columns
            if hop.target.id == target.id
        }
        if rows:
            yield ""
            yield escape(f"columns of {target.namespace} {target.name}")
            yield from (
                escape(f"  {column or _WHOLE_DATASET}  <- {source}  {label}")
                for column, source, label in sorted(rows)
            )


def hop_lines(walk: "ColumnLineageResult") -> Iterator[str]:
    """Yield one line per hop with its job, level by level."""
    if not walk.hops:
        yield "no column lineage from here"
    yield from dict.fromkeys(map(_hop_line, walk.hops))  # several actions of an application report one hop each
    yield from truncation_note(walk.cut)


def _hop_line(hop: "ColumnHopResult") -> str:
    logical_job = hop.logical_job or hop.job  # a service of an earlier version sends no logical jobs
    job = f"   [{logical_job.namespace} {logical_job.name}]" if logical_job else ""
    return escape(f"{_column_label(hop.target)}  <- {_column_label(hop.source)}  {_transformation_label(hop)}{job}")


def _column_label(column: "ColumnReference") -> str:
    suffix = f".{column.column}" if column.column else f" {_WHOLE_DATASET}"
    return f"{column.namespace} {column.name}{suffix}"


def _transformation_label(hop: "ColumnHopResult") -> str:
    label = "/".join(part for part in (hop.type, hop.subtype) if part)
    return f"{label} [masked]" if hop.masking else label
