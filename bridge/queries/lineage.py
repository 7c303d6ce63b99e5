"""Queries: lineage of datasets and of columns."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Annotated, Literal

import msgspec

from bridge.queries.query import Cursor, QueryContext, format_cursor, parse_cursor
from bridge.queries.subject import DatasetSubjectQuery, require_column
from bridge.store.database import Database
from bridge.store.job_families import logical_jobs
from bridge.store.lineage.column_walk import ColumnHop, ColumnKey, ColumnLineageWalker, ColumnWalk
from bridge.store.lineage.evidence import NO_TIME_LIMIT, EvidenceKind
from bridge.store.lineage.graph import Edge, LineageGraph
from bridge.store.lineage.walk import MAX_EDGES, Direction, LineageWalk, Truncation, walk
from bridge.store.references import ColumnReference, NodeReference, format_id, node_reference
from mappers.canonical.identity import NO_ID, run_id
from mappers.logical_job import Granularity
from mappers.timestamps import from_datetime

_READ = """
SELECT i.run_id, d.class_id, i.version FROM {keys} g
JOIN ol_dataset d ON d.org_id = ?1 AND d.class_id = g.b
JOIN ol_run_input i ON i.org_id = d.org_id AND i.run_id = g.a AND i.dataset_id = d.dataset_id
WHERE i.version IS NOT NULL
"""
_WRITTEN = """
SELECT v.writer_id, d.class_id, v.version_tag FROM {keys} g
JOIN ol_dataset d ON d.org_id = ?1 AND d.class_id = g.b
JOIN dataset_version v ON v.org_id = d.org_id AND v.dataset_id = d.dataset_id AND v.writer_id = g.a
"""


class _RunVersions:
    """The versions that runs read and wrote along edges, looked up in two queries."""

    def __init__(self, db: Database, org: str, edges: Iterable[Edge]) -> None:
        self._runs = {edge: run_id(org, edge.run_uuid) for edge in edges if edge.run_uuid}
        read_keys = sorted({(run, edge.source) for edge, run in self._runs.items() if edge.source})
        written_keys = sorted({(run, edge.target) for edge, run in self._runs.items()})
        self._versions_read = _smallest_versions(db.fetch_for_keys(_READ, read_keys, org))
        self._versions_written = _smallest_versions(db.fetch_for_keys(_WRITTEN, written_keys, org))

    def version_read(self, edge: Edge) -> str | None:
        """Return the version of its source that an edge's run read, if known."""
        if edge not in self._runs or edge.source is None:
            return None
        return self._versions_read.get((self._runs[edge], edge.source))

    def version_written(self, edge: Edge) -> str | None:
        """Return the version of its target that an edge's run wrote, if known."""
        if edge not in self._runs:
            return None
        return self._versions_written.get((self._runs[edge], edge.target))


def _smallest_versions(rows: list[tuple[bytes, bytes, str]]) -> dict[tuple[bytes, bytes], str]:
    """Keep the smallest version per run and dataset. A run may report a dataset under several of its names."""
    versions: dict[tuple[bytes, bytes], str] = {}
    for run, dataset, version in sorted(rows, reverse=True):
        versions[run, dataset] = version
    return versions


DepthField = Annotated[int, msgspec.Meta(ge=1, le=10_000, description="Maximum distance in datasets.")]
MaxEdgesField = Annotated[
    int, msgspec.Meta(ge=1, le=100_000, description="Maximum number of edges in each direction.")
]
#: Maximum number of edges and column hops per response, about 10 MB.
MAX_PAGE_ITEMS = 20_000
#: More than a walk can have.
_MAX_ITEMS = 1 << 40
PageSizeField = Annotated[
    int,
    msgspec.Meta(ge=1, le=MAX_PAGE_ITEMS, description="Maximum number of edges and column hops in the response."),
]
AsOfField = Annotated[
    datetime | None,
    msgspec.Meta(
        description="Only what runs reported that had started by then; UTC unless it has a time zone.",
        extra_json_schema={"format": "date-time"},
    ),
]
DirectionChoice = Literal["upstream", "downstream", "both"]
_DIRECTIONS: dict[DirectionChoice, tuple[Direction, ...]] = {
    "upstream": ("upstream",),
    "downstream": ("downstream",),
    "both": ("upstream", "downstream"),
}


class EdgeResult(msgspec.Struct, frozen=True):
    """A data flow from source to target in a job; source and job are null if they are unknown."""

    source: NodeReference | None
    target: NodeReference
    job: NodeReference | None
    step: str | None
    evidence: EvidenceKind
    #: With granularity `run`: the run, and the versions that it read and wrote, if they are known.
    run_id: str | None = None
    source_version: str | None = None
    target_version: str | None = None
    #: True if the last complete runs of the job did not report the edge.
    retired: bool = False


class ColumnHopResult(msgspec.Struct, frozen=True):
    """The derivation of a target column from a source column by one job."""

    source: ColumnReference
    target: ColumnReference
    type: str
    subtype: str | None
    masking: bool
    job: NodeReference | None
    #: The job that users know: for a Spark action, its application or process.
    logical_job: NodeReference | None = None


class LineageResult(msgspec.Struct, frozen=True):
    """A page of the edges of a walk and their column hops, and the limit that truncated them, if any."""

    start: NodeReference
    edges: list[EdgeResult]
    columns: list[ColumnHopResult]
    cut: Truncation | None
    #: Cursor of the next page; null on the last page.
    next: str | None = None


class ColumnLineageResult(msgspec.Struct, frozen=True):
    """A page of the hops from a column, and the limit that truncated them, if any."""

    start: ColumnReference
    hops: list[ColumnHopResult]
    cut: Truncation | None
    #: Cursor of the next page; null on the last page.
    next: str | None = None


class _PageCursor(msgspec.Struct, frozen=True, array_like=True):
    """Number of preceding items; the target from which on to look up hops, and the number of hops before it."""

    offset: Annotated[int, msgspec.Meta(ge=0, le=_MAX_ITEMS)] = 0
    first_target: bytes = b""
    skipped_hops: Annotated[int, msgspec.Meta(ge=0, le=_MAX_ITEMS)] = 0


class LineageQuery(DatasetSubjectQuery[LineageResult], frozen=True, kw_only=True):
    """Upstream and downstream lineage of a dataset."""

    path = "/lineage"
    result_type = LineageResult
    direction: DirectionChoice = "upstream"
    depth: DepthField = 5
    granularity: Annotated[
        Granularity, msgspec.Meta(description="What counts as a job: a run, a step, a logical job, or the root job.")
    ] = "job"
    as_of: AsOfField = None
    columns: Annotated[bool, msgspec.Meta(description="Include column lineage.")] = False
    retired: Annotated[
        bool, msgspec.Meta(description="Include edges that the last complete runs of their jobs did not report.")
    ] = False
    most: MaxEdgesField = MAX_EDGES
    limit: PageSizeField = MAX_PAGE_ITEMS
    after: Cursor = None

    def run(self, ctx: QueryContext) -> LineageResult:
        cursor = parse_cursor(self.after, _PageCursor) or _PageCursor()
        end = cursor.offset + self.limit
        start = self.group_id(ctx)
        until = _until_micros(self.as_of)
        graph = ctx.graph(self.granularity, until, retired=self.retired)
        walks = [walk(graph, start, direction, self.depth, self.most) for direction in _DIRECTIONS[self.direction]]
        edges = list(dict.fromkeys(edge for lineage_walk in walks for edge in lineage_walk.edges))
        # One more hop than the page has room for tells whether there is another page.
        hops_start = len(edges) + cursor.skipped_hops
        hops = self._column_hops(ctx, edges, end + 1 - hops_start, cursor.first_target) if self.columns else []
        page_edges = edges[cursor.offset : end]
        page_hops = hops[max(0, cursor.offset - hops_start) : max(0, end - hops_start)]
        versions = _RunVersions(ctx.db, ctx.org, page_edges if self.granularity == "run" else [])
        next_cursor = None
        if hops_start + len(hops) > end:
            next_cursor = format_cursor(_next_cursor(end, hops, page_hops, cursor.skipped_hops))
        return LineageResult(
            node_reference(start, graph.dataset_name(start)),
            _edge_results(graph, page_edges, versions),
            hop_results(ctx, page_hops),
            "size" if next_cursor else _truncation(walks),
            next_cursor,
        )

    def _column_hops(
        self, ctx: QueryContext, edges: Iterable[Edge], limit: int, first_target: bytes
    ) -> list[ColumnHop]:
        dataset_pairs = {(edge.source, edge.target) for edge in edges if edge.source}
        walker = ColumnLineageWalker(ctx.db, ctx.org, _until_micros(self.as_of))
        return walker.hops_between(dataset_pairs, limit, first_target)


class ColumnLineageQuery(DatasetSubjectQuery[ColumnLineageResult], frozen=True, kw_only=True):
    """Upstream and downstream lineage of a column with transformations, as reported by the newest runs."""

    path = "/columns/{field}/lineage"
    result_type = ColumnLineageResult
    field: Annotated[str, msgspec.Meta(min_length=1, description="Column name.")]
    direction: DirectionChoice = "upstream"
    depth: DepthField = 5
    as_of: AsOfField = None
    most: MaxEdgesField = MAX_EDGES
    limit: PageSizeField = MAX_PAGE_ITEMS
    after: Cursor = None

    def run(self, ctx: QueryContext) -> ColumnLineageResult:
        cursor = parse_cursor(self.after, _PageCursor) or _PageCursor()
        end = cursor.offset + self.limit
        graph = ctx.graph()
        start = (self.group_id(ctx), self.field)
        require_column(ctx, *start)
        walker = ColumnLineageWalker(ctx.db, ctx.org, _until_micros(self.as_of))
        walks = [walker.walk(start, direction, self.depth, self.most) for direction in _DIRECTIONS[self.direction]]
        hops = list(dict.fromkeys(hop for column_walk in walks for hop in column_walk.hops))
        next_cursor = format_cursor(_PageCursor(end)) if len(hops) > end else None
        return ColumnLineageResult(
            _column_reference(graph, start),
            hop_results(ctx, hops[cursor.offset : end]),
            "size" if next_cursor else _truncation(walks),
            next_cursor,
        )


def _next_cursor(end: int, hops: list[ColumnHop], page_hops: list[ColumnHop], skipped_hops: int) -> _PageCursor:
    """Continue the lookup of hops at the target of the last hop of a page."""
    if not page_hops:
        return _PageCursor(end)
    last_target, _ = page_hops[-1].target
    preceding_hops = next(index for index, hop in enumerate(hops) if hop.target[0] == last_target)
    return _PageCursor(end, last_target, skipped_hops + preceding_hops)


def _truncation(walks: Iterable[LineageWalk | ColumnWalk]) -> Truncation | None:
    """Return the limit that truncated any of the walks. `size` takes precedence, as it truncates more."""
    limits = {completed_walk.truncated_by for completed_walk in walks}
    if "size" in limits:
        return "size"
    return "depth" if "depth" in limits else None


def _until_micros(as_of: datetime | None) -> int:
    return NO_TIME_LIMIT if as_of is None else from_datetime(as_of)


def _edge_results(graph: LineageGraph, edges: Sequence[Edge], versions: _RunVersions) -> list[EdgeResult]:
    """Convert edges to results, looking up all names in two queries."""
    # These calls fill the cache from which the names of single datasets and jobs are returned.
    graph.dataset_names({edge.target for edge in edges} | {edge.source for edge in edges if edge.source})
    graph.job_names(edge.job for edge in edges if edge.job)
    return [
        EdgeResult(
            node_reference(edge.source, graph.dataset_name(edge.source)) if edge.source else None,
            node_reference(edge.target, graph.dataset_name(edge.target)),
            node_reference(edge.job, graph.job_name(edge.job)) if edge.job else None,
            edge.step or None,
            edge.evidence,
            edge.run_uuid,
            versions.version_read(edge),
            versions.version_written(edge),
            edge.retired,
        )
        for edge in edges
    ]


def hop_results(ctx: QueryContext, hops: Iterable[ColumnHop]) -> list[ColumnHopResult]:
    """Convert hops to results, looking up the names of all datasets and jobs together."""
    hop_list = list(hops)
    graph = ctx.graph()
    logical_jobs = logical_job_references(ctx, {hop.job for hop in hop_list if hop.job != NO_ID})
    # These calls fill the cache from which the names of single datasets and jobs are returned.
    graph.dataset_names({dataset for hop in hop_list for dataset, _ in (hop.source, hop.target)})
    graph.job_names({hop.job for hop in hop_list if hop.job != NO_ID})
    return [
        ColumnHopResult(
            _column_reference(graph, hop.source),
            _column_reference(graph, hop.target),
            hop.transformation_type,
            hop.subtype or None,
            hop.masking,
            node_reference(hop.job, graph.job_name(hop.job)) if hop.job != NO_ID else None,
            logical_jobs.get(hop.job),
        )
        for hop in hop_list
    ]


def logical_job_references(ctx: QueryContext, jobs: Collection[bytes]) -> dict[bytes, NodeReference]:
    """Map each job to the logical job that it is folded into. Of several, the first by name is used."""
    logical_ids = logical_jobs(ctx.db, ctx.org, ctx.rule, jobs)
    names = ctx.graph().job_names(set().union(*logical_ids.values()))
    references: dict[bytes, NodeReference] = {}
    for job, candidates in logical_ids.items():
        logical_job = min(candidates, key=names.__getitem__)
        references[job] = node_reference(logical_job, names[logical_job])
    return references


def _column_reference(graph: LineageGraph, column: ColumnKey) -> ColumnReference:
    dataset, column_name = column
    namespace, name = graph.dataset_name(dataset)
    return ColumnReference(format_id(dataset), namespace, name, column_name or None)
