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
    children: dict[str, list[EdgeResult]] = {}
    for edge in walk.edges:
        node = edge.target if direction == "upstream" else edge.source
        if node is not None:
            children.setdefault(node.id, []).append(edge)
    for edges in children.values():
        edges.sort(key=lambda edge: _edge_line(edge, direction))
    yield _dataset_label(walk.start)
    yield from _branch_lines(walk.start.id, children, direction)
    yield from truncation_note(walk.cut)


def _branch_lines(start: str, children: "dict[str, list[EdgeResult]]", direction: "Direction") -> Iterator[str]:
    """Draw datasets depth first, iteratively: a chain may be longer than the recursion limit."""
    drawn = {start}
    stack = [("", iter(_with_last_flag(children.get(start, []))))]
    while stack:
        indent, edges = stack[-1]
        next_edge = next(edges, None)
        if next_edge is None:
            stack.pop()
            continue
        edge, is_last = next_edge
        neighbor = _neighbor(edge, direction)
        is_repeated = neighbor is not None and neighbor.id in drawn
        note = " (see above)" if is_repeated else ""
        connector = "└─" if is_last else "├─"
        yield f"{indent}{connector} {_edge_line(edge, direction)}{note}"
        if neighbor is not None and not is_repeated:
            drawn.add(neighbor.id)
            child_indent = indent + ("   " if is_last else "│  ")
            stack.append((child_indent, iter(_with_last_flag(children.get(neighbor.id, [])))))


def _neighbor(edge: "EdgeResult", direction: "Direction") -> "NodeReference | None":
    return edge.source if direction == "upstream" else edge.target


def _with_last_flag(edges: "list[EdgeResult]") -> "list[tuple[EdgeResult, bool]]":
    return [(edge, edge is edges[-1]) for edge in edges]


def _edge_line(edge: "EdgeResult", direction: "Direction") -> str:
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
    for hop in walk.hops:
        job = f"   [{hop.job.namespace} {hop.job.name}]" if hop.job else ""
        yield escape(
            f"{_column_label(hop.target)}  <- {_column_label(hop.source)}  {_transformation_label(hop)}{job}"
        )
    yield from truncation_note(walk.cut)


def _column_label(column: "ColumnReference") -> str:
    return f"{column.namespace} {column.name}" + (f".{column.column}" if column.column else f" {_WHOLE_DATASET}")


def _transformation_label(hop: "ColumnHopResult") -> str:
    label = "/".join(part for part in (hop.type, hop.subtype) if part)
    return f"{label} [masked]" if hop.masking else label
