"""Query: the events behind a fact, an edge or a column."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec

from bridge.queries.event_finder import EventFinder, EventReference, RegisterOrder, decode_order, rank_name
from bridge.queries.lineage import ColumnHopResult, hop_results
from bridge.queries.query import QueryContext
from bridge.queries.subject import DatasetSubjectQuery, Namespace, require_column
from bridge.store.identity_groups import member_ids
from bridge.store.lineage.column_walk import ColumnHop
from bridge.store.lineage.evidence import EvidenceKind
from bridge.store.references import NodeReference, node_reference
from mappers.canonical.identity import NO_ID
from mappers.timestamps import format_timestamp

_REGISTERS = """
SELECT 'description' AS fact, documentation_order AS said, description AS value FROM ol_dataset
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
_STATED = """
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
_LINES = """
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
    """What is known of a dataset, who said so, when, and in which events."""

    fact: str
    value: str | None
    rank: str
    said_at: str
    events: list[EventReference]


class Assertion(msgspec.Struct, frozen=True):
    """One reason for an edge: what says so, for which job, in which run, and in which events."""

    evidence: str
    said_by: str
    job: NodeReference | None
    run_id: str | None
    first_seen: str
    last_seen: str
    events: list[EventReference]


class ColumnDerivation(msgspec.Struct, frozen=True):
    """One way in which a column is made, whether the newest run still shows it, and which event first said so."""

    hop: ColumnHopResult
    active: bool
    run_id: str | None
    discovered_at: str
    events: list[EventReference]


class Explanation(msgspec.Struct, frozen=True):
    """Why the store holds what it holds of a dataset, of an edge into it, or of a column of it."""

    dataset: NodeReference
    facts: list[Fact] = []
    #: Of an edge: its source, the evidence with which walks show it (null when they do not), and what speaks for it.
    source: NodeReference | None = None
    shown_as: EvidenceKind | None = None
    assertions: list[Assertion] = []
    #: Of a column.
    lines: list[ColumnDerivation] = []


class ExplainQuery(DatasetSubjectQuery[Explanation], frozen=True, kw_only=True):
    """Which events and facets made what is known of a dataset, of an edge into it, or of a column of it."""

    path = "/explain"
    result_type = Explanation
    source_namespace: Namespace | None = None
    source_name: (
        Annotated[str, msgspec.Meta(min_length=1, description="Explain the edge that comes from this dataset.")]
        | None
    ) = None
    field: Annotated[str, msgspec.Meta(min_length=1, description="Explain this column.")] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=100, description="How many reasons of each kind.")] = 10

    def run(self, view: QueryContext) -> Explanation:
        """Look for the reasons."""
        target = self.group_id(view)
        dataset = node_reference(target, view.graph().dataset_name(target))
        if self.source_name is not None:
            source = _EdgeSource(namespace=self.source_namespace, name=self.source_name).group_id(view)
            shown = [edge.evidence for edge in view.graph().upstream([target]) if edge.source == source]
            return Explanation(
                dataset,
                source=node_reference(source, view.graph().dataset_name(source)),
                shown_as=next(iter(shown), None),
                assertions=self._assertions(view, source, target),
            )
        if self.field is not None:
            require_column(view, target, self.field)
            return Explanation(dataset, lines=list(self._lines(view, target)))
        return Explanation(dataset, facts=list(_facts(view, target)))

    def _assertions(self, view: QueryContext, source: bytes, target: bytes) -> list[Assertion]:
        bound = (view.org, source, target, self.limit)
        ends = _members(view, source) | _members(view, target)
        log = EventFinder(view)
        found = [(*row, None) for row in view.db.fetch_all(_STATED, *bound)]
        found += [("inferred", job, first, last, run) for run, job, first, last in view.db.fetch_all(_RUNS, *bound)]
        found += [("renamed", NO_ID, at, at, run) for run, at in view.db.fetch_all(_RENAMED, *bound)]
        jobs = view.graph().job_names({job for _, job, *_ in found if job != NO_ID})
        return [
            Assertion(
                evidence, _EVIDENCE_SOURCES[evidence], node_reference(job, jobs[job]) if job != NO_ID else None, run,
                format_timestamp(first), format_timestamp(last), _events(log, (first, last), ends | {job}, run),
            )
            for evidence, job, first, last, run in found
        ]  # fmt: skip

    def _lines(self, view: QueryContext, target: bytes) -> Iterator[ColumnDerivation]:
        ends, log = _members(view, target), EventFinder(view)
        rows = view.db.fetch_all(_LINES, view.org, target, self.field, self.limit)
        hops = [ColumnHop((row[0], row[1]), (row[2], row[3]), row[4], row[5], bool(row[6]), row[7]) for row in rows]
        for hop, (*_, active, run, discovered) in zip(hop_results(view.graph(), hops), rows, strict=True):
            yield ColumnDerivation(
                hop, bool(active), run, format_timestamp(discovered), _events(log, (discovered,), ends, run)
            )


class _EdgeSource(DatasetSubjectQuery[Any], frozen=True, kw_only=True):
    """The other end of an edge."""


def _members(view: QueryContext, dataset: bytes) -> set[bytes]:
    return member_ids(view.db, view.org, [dataset])


def _events(log: EventFinder, times: Iterable[int], ends: set[bytes], run: str | None) -> list[EventReference]:
    found = [event for at in sorted(set(times)) for event in log.find(at, ends)]
    return [event for event in found if run is None or event.run_id == run]


def _facts(view: QueryContext, dataset: bytes) -> Iterator[Fact]:
    """Give every fact in the words of the statement that won it."""
    ends, log = _members(view, dataset), EventFinder(view)
    winners: dict[str, tuple[bytes, str | None]] = {}
    for fact, order, value in view.db.fetch_all(_REGISTERS, view.org, dataset, NO_ID):
        winners[fact] = max(winners.get(fact, (b"", None)), (order, value), key=lambda one: one[0])
    for fact, (order, value) in sorted(winners.items()):
        said: RegisterOrder = decode_order(order)
        events = log.find(said.micros, ends, said.content)
        yield Fact(fact, value, rank_name(said.rank), format_timestamp(said.micros), events)
