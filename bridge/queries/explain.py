"""Query: the events behind a fact, an edge or a column."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec

from bridge.queries.event_finder import EventFinder, EventReference, decode_order, rank_name
from bridge.queries.lineage import ColumnHopResult, hop_results, logical_job_references
from bridge.queries.query import QueryContext
from bridge.queries.subject import DatasetSubjectQuery, Namespace, require_column
from bridge.store.identity_groups import member_ids
from bridge.store.lineage.column_walk import ColumnHop
from bridge.store.lineage.evidence import EvidenceKind
from bridge.store.references import NodeReference, node_reference
from mappers.canonical.identity import NO_ID
from mappers.timestamps import format_timestamp

_REGISTERS = """
SELECT 'description' AS fact, documentation_order AS register_order, description AS value FROM ol_dataset
WHERE org_id = ?1 AND class_id = ?2 AND documentation_order IS NOT NULL
UNION ALL
SELECT 'owners', ownership_order, coalesce(owner_team, owner_email) FROM ol_dataset
WHERE org_id = ?1 AND class_id = ?2 AND ownership_order IS NOT NULL
UNION ALL
SELECT 'format', storage_order, default_format FROM ol_dataset
WHERE org_id = ?1 AND class_id = ?2 AND storage_order IS NOT NULL
UNION ALL
SELECT 'schema', s.columns_order, s.columns_json FROM class_schema k
JOIN ol_dataset d ON d.org_id = k.org_id AND d.class_id = k.class_id
JOIN dataset_schema s ON s.org_id = d.org_id AND s.dataset_id = d.dataset_id AND s.schema_hash = k.schema_hash
WHERE k.org_id = ?1 AND k.class_id = ?2 AND s.columns_order IS NOT NULL
UNION ALL
SELECT 'facet ' || f.name, f.facet_order, f.body FROM ol_dataset d
JOIN facet f ON f.org_id = d.org_id AND f.owner_id = d.dataset_id AND f.about_id = ?3
WHERE d.org_id = ?1 AND d.class_id = ?2
"""
_EDGES = """
SELECT e.evidence, e.job_id, e.first_seen, e.last_seen FROM ol_dataset s
JOIN lineage_edge e ON e.org_id = s.org_id AND e.source_id = s.dataset_id AND e.edge_role = 'DERIVES'
JOIN ol_dataset t ON t.org_id = e.org_id AND t.dataset_id = e.target_id
WHERE s.org_id = ?1 AND s.class_id = ?2 AND t.class_id = ?3
ORDER BY e.last_seen DESC, e.evidence, e.job_id LIMIT ?4
"""
_RUNS = """
SELECT DISTINCT r.run_uuid, o.job_id, o.first_seen, o.last_seen FROM ol_dataset t
JOIN ol_run_output o ON o.org_id = t.org_id AND o.dataset_id = t.dataset_id
JOIN ol_run_input i ON i.org_id = o.org_id AND i.run_id = o.run_id AND i.job_id = o.job_id
JOIN ol_dataset s ON s.org_id = i.org_id AND s.dataset_id = i.dataset_id
JOIN ol_run r ON r.org_id = o.org_id AND r.run_id = o.run_id
WHERE t.org_id = ?1 AND s.class_id = ?2 AND t.class_id = ?3
ORDER BY o.last_seen DESC, r.run_uuid LIMIT ?4
"""
_RENAMED = """
SELECT r.run_uuid, x.renamed_at FROM ol_dataset s
JOIN dataset_succession x ON x.org_id = s.org_id AND x.source_id = s.dataset_id
JOIN ol_dataset t ON t.org_id = x.org_id AND t.dataset_id = x.target_id
LEFT JOIN ol_run r ON r.org_id = x.org_id AND r.run_id = x.run_id
WHERE s.org_id = ?1 AND s.class_id = ?2 AND t.class_id = ?3
ORDER BY x.renamed_at DESC, r.run_uuid LIMIT ?4
"""
_COLUMN_ROWS = """
SELECT t.class_id, c.target_field, s.class_id, c.source_field, c.transformation_type, c.transformation_subtype,
  c.masking, c.job_id, c.is_active, r.run_uuid, c.discovered_at
FROM ol_dataset t
JOIN column_lineage c ON c.org_id = t.org_id AND c.target_id = t.dataset_id AND c.target_field IN (?3, '')
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
LEFT JOIN ol_run r ON r.org_id = c.org_id AND r.run_id = c.run_id
WHERE t.org_id = ?1 AND t.class_id = ?2
ORDER BY c.target_field DESC, c.discovered_at, c.lineage_id LIMIT ?4
"""
_EVIDENCE_SOURCES: dict[str, str] = {
    "explicit": "the facet lineage",
    "column": "the facet columnLineage",
    "declared": "a JobEvent or DatasetEvent",
    "inferred": "the inputs and outputs of a run",
    "renamed": "the facet lifecycleStateChange",
}


class Fact(msgspec.Struct, frozen=True):
    """A fact about a dataset: its source, its time, and the events that stated it."""

    fact: str
    value: str | None
    rank: str
    said_at: str
    events: list[EventReference]


class Assertion(msgspec.Struct, frozen=True):
    """One reason for an edge: the kind of evidence, with its job, run and events."""

    evidence: str
    said_by: str
    job: NodeReference | None
    run_id: str | None
    first_seen: str
    last_seen: str
    events: list[EventReference]
    #: The job that users know: for a Spark action, its application or process.
    logical_job: NodeReference | None = None


class ColumnDerivation(msgspec.Struct, frozen=True):
    """One derivation of a column, whether the newest run still reports it, and the event that first reported it."""

    hop: ColumnHopResult
    active: bool
    run_id: str | None
    discovered_at: str
    events: list[EventReference]


class Explanation(msgspec.Struct, frozen=True):
    """The events and facets behind the facts about a dataset, a column of it, or an edge into it."""

    dataset: NodeReference
    facts: list[Fact] = []
    #: For an edge: its source, its evidence in walks (null if walks do not contain the edge), and its reasons.
    source: NodeReference | None = None
    shown_as: EvidenceKind | None = None
    assertions: list[Assertion] = []
    #: For a column.
    lines: list[ColumnDerivation] = []


class ExplainQuery(DatasetSubjectQuery[Explanation], frozen=True, kw_only=True):
    """The events and facets behind the facts about a dataset, an edge into the dataset, or one of its columns."""

    path = "/explain"
    result_type = Explanation
    source_namespace: Namespace | None = None
    source_name: (
        Annotated[str, msgspec.Meta(min_length=1, description="Explain the edge from this dataset.")] | None
    ) = None
    field: Annotated[str, msgspec.Meta(min_length=1, description="Explain this column.")] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=100, description="Maximum number of reasons of each kind.")] = 10

    def run(self, ctx: QueryContext) -> Explanation:
        target = self.group_id(ctx)
        dataset = node_reference(target, ctx.graph().dataset_name(target))
        if self.source_name is not None:
            source = _EdgeSource(namespace=self.source_namespace, name=self.source_name).group_id(ctx)
            shown_evidence = [edge.evidence for edge in ctx.graph().upstream([target]) if edge.source == source]
            return Explanation(
                dataset,
                source=node_reference(source, ctx.graph().dataset_name(source)),
                shown_as=next(iter(shown_evidence), None),
                assertions=self._read_assertions(ctx, source, target),
            )
        if self.field is not None:
            require_column(ctx, target, self.field)
            return Explanation(dataset, lines=list(self._read_derivations(ctx, target)))
        return Explanation(dataset, facts=list(_read_facts(ctx, target)))

    def _read_assertions(self, ctx: QueryContext, source: bytes, target: bytes) -> list[Assertion]:
        """List the reasons for an edge: stored edges, runs that read and wrote, and renames."""
        parameters = (ctx.org, source, target, self.limit)
        node_ids = _member_ids(ctx, source) | _member_ids(ctx, target)
        finder = EventFinder(ctx)
        reasons = [(*row, None) for row in ctx.db.fetch_all(_EDGES, *parameters)]
        reasons += [
            ("inferred", job, first_seen, last_seen, run)
            for run, job, first_seen, last_seen in ctx.db.fetch_all(_RUNS, *parameters)
        ]
        reasons += [
            ("renamed", NO_ID, renamed_at, renamed_at, run)
            for run, renamed_at in ctx.db.fetch_all(_RENAMED, *parameters)
        ]
        jobs = {job for _, job, *_ in reasons if job != NO_ID}
        job_names = ctx.graph().job_names(jobs)
        logical_jobs = logical_job_references(ctx, jobs)
        return [
            Assertion(
                evidence,
                _EVIDENCE_SOURCES[evidence],
                node_reference(job, job_names[job]) if job != NO_ID else None,
                run,
                format_timestamp(first_seen),
                format_timestamp(last_seen),
                _find_events(finder, (first_seen, last_seen), node_ids | {job}, run),
                logical_jobs.get(job),
            )
            for evidence, job, first_seen, last_seen, run in reasons
        ]

    def _read_derivations(self, ctx: QueryContext, target: bytes) -> Iterator[ColumnDerivation]:
        node_ids = _member_ids(ctx, target)
        finder = EventFinder(ctx)
        rows = ctx.db.fetch_all(_COLUMN_ROWS, ctx.org, target, self.field, self.limit)
        hops = [
            ColumnHop((target_id, target_field), (source_id, source_field), type_, subtype, bool(masking), job)
            for target_id, target_field, source_id, source_field, type_, subtype, masking, job, *_ in rows
        ]
        for hop, (*_, is_active, run, discovered_at) in zip(hop_results(ctx, hops), rows, strict=True):
            yield ColumnDerivation(
                hop,
                bool(is_active),
                run,
                format_timestamp(discovered_at),
                _find_events(finder, (discovered_at,), node_ids, run),
            )


class _EdgeSource(DatasetSubjectQuery[Any], frozen=True, kw_only=True):
    """The source dataset of the edge to explain."""


def _member_ids(ctx: QueryContext, dataset: bytes) -> set[bytes]:
    return member_ids(ctx.db, ctx.org, [dataset])


def _find_events(
    finder: EventFinder, times: Iterable[int], node_ids: set[bytes], run: str | None
) -> list[EventReference]:
    """Find the events of a run, or of any run, at these times that mention any of the nodes."""
    events = [event for time in sorted(set(times)) for event in finder.find(time, node_ids)]
    return [event for event in events if run is None or event.run_id == run]


def _read_facts(ctx: QueryContext, dataset: bytes) -> Iterator[Fact]:
    """List every fact with the assertion that won its register."""
    node_ids = _member_ids(ctx, dataset)
    finder = EventFinder(ctx)
    winners: dict[str, tuple[bytes, str | None]] = {}
    for fact, order, value in ctx.db.fetch_all(_REGISTERS, ctx.org, dataset, NO_ID):
        winning_order, _ = winners.get(fact, (b"", None))
        if order > winning_order:
            winners[fact] = order, value
    for fact, (order, value) in sorted(winners.items()):
        rank, micros, content_hash = decode_order(order)
        events = finder.find(micros, node_ids, content_hash)
        yield Fact(fact, value, rank_name(rank), format_timestamp(micros), events)
