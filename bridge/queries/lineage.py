"""-"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

from bridge.queries.query import QueryContext
from bridge.queries.subject import DatasetSubjectQuery, require_column
from bridge.store.database import Database
from bridge.store.lineage.column_walk import ColumnHop, ColumnKey, ColumnLineageWalker, ColumnWalk
from bridge.store.lineage.evidence import NO_TIME_LIMIT, EvidenceKind
from bridge.store.lineage.graph import Edge, LineageGraph, QualifiedName
from bridge.store.lineage.walk import MAX_EDGES, Direction, LineageWalk, Truncation, walk
from bridge.store.references import ColumnReference, NodeReference, node_reference
from mappers.canonical.identity import NO_ID, run_id
from mappers.logical_job import Granularity

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
    """The versions along edges of runs, all looked up at once."""

    def __init__(self, db: Database, org: str, edges: Iterable[Edge]) -> None:
        self._org = org
        self._runs = {edge: run_id(org, edge.run_uuid) for edge in edges if edge.run_uuid}
        read = sorted({(run, edge.source) for edge, run in self._runs.items() if edge.source})
        written = sorted({(run, edge.target) for edge, run in self._runs.items()})
        self._read = _least(db.fetch_for_keys(_READ, read, org))
        self._written = _least(db.fetch_for_keys(_WRITTEN, written, org))

    def read(self, edge: Edge) -> str | None:
        """Tell which version of its source the run of an edge read."""
        return self._read.get((self._runs[edge], edge.source)) if edge in self._runs and edge.source else None

    def written(self, edge: Edge) -> str | None:
        """Tell which version of its target the run of an edge wrote."""
        return self._written.get((self._runs[edge], edge.target)) if edge in self._runs else None


def _least(rows: list[tuple[bytes, bytes, str]]) -> dict[tuple[bytes, bytes], str]:
    """Keep one version a run and dataset: a dataset of many names may be told of under each."""
    found: dict[tuple[bytes, bytes], str] = {}
    for run, dataset, version in sorted(rows, key=lambda row: (row[0], row[1], row[2]), reverse=True):
        found[run, dataset] = version
    return found


DepthField = Annotated[int, msgspec.Meta(ge=1, le=10_000, description="How many datasets far.")]
MaxEdgesField = Annotated[
    int, msgspec.Meta(ge=1, le=100_000, description="How many edges at most, in each direction.")
]
AsOfField = Annotated[
    datetime | None,
    msgspec.Meta(
        description="Only what runs said that had begun by then; UTC without a time zone.",
        extra_json_schema={"format": "date-time"},
    ),
]
DirectionChoice = Literal["upstream", "downstream", "both"]
_WAYS: dict[DirectionChoice, tuple[Direction, ...]] = {
    "upstream": ("upstream",),
    "downstream": ("downstream",),
    "both": ("upstream", "downstream"),
}


class EdgeResult(msgspec.Struct, frozen=True):
    """Data went from source to target in a job; null where nobody knows them."""

    source: NodeReference | None
    target: NodeReference
    job: NodeReference | None
    step: str | None
    evidence: EvidenceKind
    #: With granularity run: the run, and which version it read and wrote, as far as they are known.
    run_id: str | None = None
    source_version: str | None = None
    target_version: str | None = None
    #: Whether it is gone: its job ran often enough since, and showed it no more.
    retired: bool = False


class ColumnHopResult(msgspec.Struct, frozen=True):
    """What a job makes of a column."""

    source: ColumnReference
    target: ColumnReference
    type: str
    subtype: str | None
    masking: bool
    job: NodeReference | None


class LineageResult(msgspec.Struct, frozen=True):
    """What a walk found, and what kept it from finding more, if anything did."""

    start: NodeReference
    edges: list[EdgeResult]
    columns: list[ColumnHopResult]
    cut: Truncation | None


class ColumnLineageResult(msgspec.Struct, frozen=True):
    """The hops from a column, and what kept the walk from finding more, if anything did."""

    start: ColumnReference
    hops: list[ColumnHopResult]
    cut: Truncation | None


class LineageQuery(DatasetSubjectQuery[LineageResult], frozen=True, kw_only=True):
    """Where a dataset comes from, and where it goes."""

    path = "/lineage"
    result_type = LineageResult
    direction: DirectionChoice = "upstream"
    depth: DepthField = 5
    granularity: Annotated[
        Granularity, msgspec.Meta(description="What counts as a job: a run, a step, a job, the root of all.")
    ] = "job"
    as_of: AsOfField = None
    columns: Annotated[bool, msgspec.Meta(description="Also which column is made of which.")] = False
    retired: Annotated[
        bool, msgspec.Meta(description="Also edges that the last complete runs of their jobs no longer showed.")
    ] = False
    most: MaxEdgesField = MAX_EDGES

    def run(self, view: QueryContext) -> LineageResult:
        """Walk."""
        start = self.group_id(view)
        until = _micros(self.as_of)
        graph = view.graph(self.granularity, until, retired=self.retired)
        walks = [walk(graph, start, way, self.depth, self.most) for way in _WAYS[self.direction]]
        edges = list(dict.fromkeys(edge for found in walks for edge in found.edges))
        pairs = {(edge.source, edge.target) for edge in edges if edge.source}
        hops = ColumnLineageWalker(view.db, view.org, until).between(pairs) if self.columns else []
        told = _edges(graph, edges, _RunVersions(view.db, view.org, edges if self.granularity == "run" else []))
        return LineageResult(
            node_reference(start, graph.dataset_name(start)), told, hop_results(graph, hops), _cut(walks)
        )


class ColumnLineageQuery(DatasetSubjectQuery[ColumnLineageResult], frozen=True, kw_only=True):
    """Where a column comes from, and where it goes, with what is done on each hop; as the newest runs show it."""

    path = "/columns/{field}/lineage"
    result_type = ColumnLineageResult
    field: Annotated[str, msgspec.Meta(min_length=1, description="The column.")]
    direction: DirectionChoice = "upstream"
    depth: DepthField = 5
    as_of: AsOfField = None
    most: MaxEdgesField = MAX_EDGES

    def run(self, view: QueryContext) -> ColumnLineageResult:
        """Walk."""
        graph = view.graph()
        start = (self.group_id(view), self.field)
        require_column(view, *start)
        columns = ColumnLineageWalker(view.db, view.org, _micros(self.as_of))
        walks = [columns.walk(start, way, self.depth, self.most) for way in _WAYS[self.direction]]
        hops = dict.fromkeys(hop for found in walks for hop in found.hops)
        return ColumnLineageResult(_column(graph, start), hop_results(graph, hops), _cut(walks))


def _cut(walks: Iterable[LineageWalk | ColumnWalk]) -> Truncation | None:
    cuts = {found.truncated_by for found in walks}
    return "size" if "size" in cuts else "depth" if "depth" in cuts else None


def _micros(moment: datetime | None) -> int:
    if moment is None:
        return NO_TIME_LIMIT
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(zoned.timestamp()) * 1_000_000 + zoned.microsecond


def _edges(graph: LineageGraph, edges: Sequence[Edge], versions: _RunVersions) -> list[EdgeResult]:
    graph.dataset_names(end for edge in edges for end in (edge.source, edge.target) if end)
    graph.job_names(edge.job for edge in edges if edge.job)
    return [
        EdgeResult(
            node_reference(edge.source, graph.dataset_name(edge.source)) if edge.source else None,
            node_reference(edge.target, graph.dataset_name(edge.target)),
            node_reference(edge.job, graph.job_name(edge.job)) if edge.job else None,
            edge.step or None,
            edge.evidence,
            edge.run_uuid,
            versions.read(edge),
            versions.written(edge),
            edge.retired,
        )
        for edge in edges
    ]


def hop_results(graph: LineageGraph, hops: Iterable[ColumnHop]) -> list[ColumnHopResult]:
    """Give hops with the names of their ends."""
    told = list(hops)
    graph.dataset_names({end for hop in told for end in (hop.source[0], hop.target[0])})
    graph.job_names({hop.job for hop in told if hop.job != NO_ID})
    return [
        ColumnHopResult(
            _column(graph, hop.source),
            _column(graph, hop.target),
            hop.transformation_type,
            hop.subtype or None,
            hop.masking,
            node_reference(hop.job, graph.job_name(hop.job)) if hop.job != NO_ID else None,
        )
        for hop in told
    ]


def _column(graph: LineageGraph, column: ColumnKey) -> ColumnReference:
    named: QualifiedName = graph.dataset_name(column[0])
    known = node_reference(column[0], named)
    return ColumnReference(known.id, known.namespace, known.name, column[1] or None)
