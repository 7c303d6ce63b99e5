"""Reads current edges into datasets and consuming jobs, with columns and SQL."""

from collections.abc import Collection, Iterable
from typing import NamedTuple, get_args

from bridge.store.database import Database
from bridge.store.governance_facets import read_facet_texts
from bridge.store.job_families import family_members
from bridge.store.lineage.evidence import (
    IS_CURRENT_SQL,
    NO_TIME_LIMIT,
    EdgeEvidence,
    EdgeEvidenceReader,
    EvidenceKind,
)
from bridge.store.lineage.graph import LineageGraph
from bridge.store.lineage.retirement import RetirementPolicy, logical_job_of
from mappers.logical_job import FoldingRule
from mappers.naming import last_part
from mappers.openmetadata.lineage_details import ColumnEdge

_EVIDENCE_BY_STRENGTH = get_args(EvidenceKind)
_COLUMN_EDGES = """
SELECT s.class_id, t.class_id, c.source_field, c.target_field, c.transformation_type, c.transformation_subtype,
  c.masking, c.transformation_description
FROM ol_dataset t
JOIN column_lineage c ON c.org_id = t.org_id AND c.target_id = t.dataset_id AND c.is_active
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
WHERE t.org_id = ?1 AND t.class_id {ids}
"""
_READ_DATASETS = f"""
SELECT d.class_id, e.target_id, max(CASE WHEN e.evidence = 'declared' THEN {NO_TIME_LIMIT} ELSE e.last_seen END)
FROM lineage_edge e
JOIN ol_dataset d ON d.org_id = e.org_id AND d.dataset_id = e.source_id
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
WHERE e.org_id = ?1 AND e.target_id {{ids}} AND e.edge_role = 'CONSUMES'
  AND e.source_type = 'dataset' AND {IS_CURRENT_SQL}
GROUP BY d.class_id, e.target_id
"""
_WRITERS = """
SELECT DISTINCT source_id FROM lineage_edge
WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PRODUCES' AND target_type = 'dataset'
UNION SELECT job_id FROM column_head WHERE org_id = ?1 AND job_id {ids}
"""


class CanonicalEdge(NamedTuple):
    """An edge into a dataset or job; the source is a dataset or, if the job's inputs are unknown, the job."""

    source: bytes | None
    job: bytes | None
    evidence: str
    sql: str | None = None
    #: Other jobs that assert the same edge.
    other_jobs: tuple[bytes, ...] = ()
    columns: tuple[ColumnEdge, ...] = ()


class Origin(NamedTuple):
    """Names of the jobs that write a dataset, and short names of the datasets from which they derive it."""

    writers: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()


class _Assertion(NamedTuple):
    """Evidence from one job for an edge."""

    strength: int
    job: bytes | None
    reporting_job: bytes | None


def read_lineage(
    db: Database, org: str, rule: FoldingRule, targets: Collection[bytes]
) -> dict[bytes, list[CanonicalEdge]]:
    """Return current edges into datasets; `targets` are identity groups."""
    assertions: dict[bytes, dict[bytes | None, set[_Assertion]]] = {}
    reporting_jobs: set[bytes] = set()
    for evidence in _read_current(db, org, rule, targets):
        assertion = _assertion(evidence, rule)
        assertions.setdefault(evidence.target, {}).setdefault(evidence.source, set()).add(assertion)
        if assertion.reporting_job:
            reporting_jobs.add(assertion.reporting_job)
    column_edges: dict[tuple[bytes, bytes], list[ColumnEdge]] = {}
    for source, target, *values in db.fetch_for_ids(_COLUMN_EDGES, sorted(set(targets)), org):
        column_edges.setdefault((target, source), []).append(_column_edge(*values))
    sql_by_job = read_facet_texts(db, org, reporting_jobs, "sql", "query")
    edges: dict[bytes, list[CanonicalEdge]] = {target: [] for target in targets}
    for target, assertions_by_source in assertions.items():
        writers = {assertion.job for assertion in assertions_by_source.get(None, ()) if assertion.job}
        by_known_source = {source: group for source, group in assertions_by_source.items() if source is not None}
        writers_with_inputs = {assertion.job for group in by_known_source.values() for assertion in group}
        edges[target] += [CanonicalEdge(None, job, "inferred") for job in sorted(writers - writers_with_inputs)]
        for source, edge_assertions in sorted(by_known_source.items()):
            columns = sorted(column_edges.get((target, source), ()))
            edges[target].append(_build_edge(source, edge_assertions, sql_by_job, columns))
    return edges


def _read_current(db: Database, org: str, rule: FoldingRule, targets: Collection[bytes]) -> list[EdgeEvidence]:
    evidence = list(EdgeEvidenceReader(db, org).into(sorted(set(targets))))
    return RetirementPolicy(db, org, rule).current(evidence)


def read_writers(db: Database, org: str, rule: FoldingRule, targets: Collection[bytes]) -> dict[bytes, set[bytes]]:
    """Return the logical jobs that currently write datasets; `targets` are identity groups."""
    return _writers(_read_current(db, org, rule, targets), rule)


def _writers(evidence: Iterable[EdgeEvidence], rule: FoldingRule) -> dict[bytes, set[bytes]]:
    writers: dict[bytes, set[bytes]] = {}
    for edge in evidence:
        if job := logical_job_of(edge, rule):
            writers.setdefault(edge.target, set()).add(job)
    return writers


def read_origins(db: Database, org: str, rule: FoldingRule, targets: Collection[bytes]) -> dict[bytes, Origin]:
    """Return the origins of datasets with current edges; `targets` are identity groups."""
    current = _read_current(db, org, rule, targets)
    writers = _writers(current, rule)
    sources: dict[bytes, set[bytes]] = {}
    for edge in current:
        if edge.source and edge.source != edge.target:
            sources.setdefault(edge.target, set()).add(edge.source)
    graph = LineageGraph(db, org)
    job_names = graph.job_names(set().union(*writers.values()))
    dataset_names = graph.dataset_names(set().union(*sources.values()))
    return {
        target: Origin(
            frozenset(job_names[job].name for job in writers.get(target, ())),
            frozenset(last_part(dataset_names[source].name) for source in sources.get(target, ())),
        )
        for target in writers.keys() | sources.keys()
    }


def _assertion(evidence: EdgeEvidence, rule: FoldingRule) -> _Assertion:
    strength = _EVIDENCE_BY_STRENGTH.index(evidence.evidence)
    return _Assertion(strength, logical_job_of(evidence, rule), evidence.reporting_job)


def _build_edge(
    source: bytes, assertions: set[_Assertion], sql_by_job: dict[bytes, str], columns: list[ColumnEdge]
) -> CanonicalEdge:
    """Build an edge; its job is the one with the strongest evidence or, among equals, with the smallest id."""
    best = min(assertions, key=lambda assertion: (assertion.job is None, assertion.strength, assertion.job or b""))
    statements = (
        sql_by_job[assertion.reporting_job]
        for assertion in assertions
        if assertion.job == best.job and assertion.reporting_job in sql_by_job
    )
    other_jobs = tuple(sorted({assertion.job for assertion in assertions if assertion.job} - {best.job}))
    evidence = _EVIDENCE_BY_STRENGTH[min(assertion.strength for assertion in assertions)]
    return CanonicalEdge(source, best.job, evidence, min(statements, default=None), other_jobs, tuple(columns))


def _column_edge(source: str, target: str, kind: str, subtype: str, masking: bool, description: str) -> ColumnEdge:
    return ColumnEdge(source, target, kind, subtype, bool(masking), description)


def read_consumption(
    db: Database, org: str, rule: FoldingRule, jobs: Collection[bytes]
) -> dict[bytes, list[CanonicalEdge]]:
    """Return edges from datasets into jobs that read them without deriving another dataset from them.

    OpenMetadata hides all edges that name a pipeline as soon as an edge leads into the pipeline.
    """
    members_by_job = family_members(db, org, rule, jobs)
    all_members = sorted({member for members in members_by_job.values() for member in members})
    writers = {job for (job,) in db.fetch_for_ids(_WRITERS, all_members, org)}
    reads_by_member: dict[bytes, list[tuple[bytes, int]]] = {}
    for dataset, job, last_seen in db.fetch_for_ids(_READ_DATASETS, all_members, org):
        reads_by_member.setdefault(job, []).append((dataset, last_seen))
    reads_by_job = {
        job: [dataset_read for member in members - writers for dataset_read in reads_by_member.get(member, ())]
        for job, members in members_by_job.items()
    }
    policy = RetirementPolicy(db, org, rule)
    oldest_read_by_job = {job: min(seen for _, seen in reads) for job, reads in reads_by_job.items() if reads}
    oldest_current_by_job = policy.oldest_current(oldest_read_by_job)
    read_datasets = {dataset for reads in reads_by_job.values() for dataset, _ in reads}
    current_edges = (
        policy.current(list(EdgeEvidenceReader(db, org).out_of(sorted(read_datasets)))) if read_datasets else []
    )
    # datasets from which a job derives another dataset, each with the job
    derived_through = {(edge.source, logical_job_of(edge, rule)) for edge in current_edges}
    return {
        job: [
            CanonicalEdge(dataset, None, "inferred")
            for dataset in sorted({dataset for dataset, seen in reads if seen >= oldest_current_by_job.get(job, 0)})
            if (dataset, job) not in derived_through
        ]
        for job, reads in reads_by_job.items()
    }
