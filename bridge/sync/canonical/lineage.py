"""Reads current edges into datasets and consuming jobs, with columns and SQL."""

from collections.abc import Collection, Iterable
from typing import NamedTuple, get_args

from bridge.store.database import Database
from bridge.store.job_families import logical_jobs
from bridge.store.lineage.evidence import (
    IS_CURRENT_SQL,
    NO_TIME_LIMIT,
    EdgeEvidence,
    EdgeEvidenceReader,
    EvidenceKind,
)
from bridge.store.lineage.retirement import RetirementPolicy, logical_job_of
from bridge.sync.canonical.jobs import facet_texts
from mappers.logical_job import FoldingRule
from mappers.openmetadata.lineage_details import ColumnEdge

_EVIDENCE = get_args(EvidenceKind)
_LINES = """
SELECT s.class_id, t.class_id, c.source_field, c.target_field, c.transformation_type, c.transformation_subtype,
  c.masking, c.transformation_description
FROM ol_dataset t
JOIN column_lineage c ON c.org_id = t.org_id AND c.target_id = t.dataset_id AND c.is_active
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
WHERE t.org_id = ?1 AND t.class_id {ids}
"""
_BENEATH = """
SELECT source_id, target_id FROM lineage_edge WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PARENT'
"""
_READ = f"""
SELECT d.class_id, e.target_id, max(CASE WHEN e.evidence = 'declared' THEN {NO_TIME_LIMIT} ELSE e.last_seen END)
FROM lineage_edge e
JOIN ol_dataset d ON d.org_id = e.org_id AND d.dataset_id = e.source_id
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
WHERE e.org_id = ?1 AND e.target_id {{ids}} AND e.edge_role = 'CONSUMES'
  AND e.source_type = 'dataset' AND {IS_CURRENT_SQL}
GROUP BY d.class_id, e.target_id
"""
_WRITES = """
SELECT DISTINCT source_id FROM lineage_edge
WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PRODUCES' AND target_type = 'dataset'
UNION SELECT job_id FROM column_head WHERE org_id = ?1 AND job_id {ids}
"""


class CanonicalEdge(NamedTuple):
    """What leads into a dataset or job: from a dataset, or from a job that names no source."""

    source: bytes | None
    job: bytes | None
    evidence: str
    sql: str | None = None
    #: Other jobs that lead from the same source to the same target.
    other_jobs: tuple[bytes, ...] = ()
    columns: tuple[ColumnEdge, ...] = ()


class _Assertion(NamedTuple):
    """One job's word for an edge."""

    strength: int
    job: bytes | None
    leaf: bytes | None


def read_lineage(
    db: Database, org: str, rule: FoldingRule, targets: Collection[bytes]
) -> dict[bytes, list[CanonicalEdge]]:
    """Read what leads into datasets, given by their classes."""
    said: dict[tuple[bytes, bytes | None], set[_Assertion]] = {}
    standing = RetirementPolicy(db, org, rule).current(list(EdgeEvidenceReader(db, org).into(sorted(set(targets)))))
    for found in standing:
        said.setdefault((found.target, found.source), set()).add(_said(found, rule))
    lines: dict[tuple[bytes, bytes], list[ColumnEdge]] = {}
    for source, target, *line in db.fetch_for_ids(_LINES, sorted(set(targets)), org):
        lines.setdefault((target, source), []).append(_line(*line))
    sql = facet_texts(db, org, {one.leaf for words in said.values() for one in words if one.leaf}, "sql", "query")
    edges: dict[bytes, list[CanonicalEdge]] = {target: [] for target in targets}
    for (target, source), words in sorted(said.items(), key=lambda item: (item[0][0], item[0][1] or b"")):
        if source is None:
            with_source = {one.job for (to, of), others in said.items() if to == target and of for one in others}
            jobs = sorted({one.job for one in words if one.job} - with_source)
            edges[target] += [CanonicalEdge(None, job, "inferred") for job in jobs]
        else:
            edges[target].append(_edge(source, words, sql, sorted(lines.get((target, source), ()))))
    return edges


def _said(found: EdgeEvidence, rule: FoldingRule) -> _Assertion:
    strength = _EVIDENCE.index(found.evidence)
    return _Assertion(strength, logical_job_of(found, rule), found.reporting_job)


def _edge(source: bytes, words: set[_Assertion], sql: dict[bytes, str], lines: list[ColumnEdge]) -> CanonicalEdge:
    """Choose the job that stands for an edge: the one with the strongest evidence, else the smallest id."""
    best = min(words, key=lambda one: (one.job is None, one.strength, one.job or b""))
    texts = (sql[one.leaf] for one in words if one.job == best.job and one.leaf in sql)
    also = tuple(sorted({one.job for one in words if one.job} - {best.job}))
    evidence = _EVIDENCE[min(one.strength for one in words)]
    return CanonicalEdge(source, best.job, evidence, min(texts, default=None), also, tuple(lines))


def _line(source: str, target: str, kind: str, subtype: str, masking: bool, description: str) -> ColumnEdge:
    return ColumnEdge(source, target, kind, subtype, bool(masking), description)


def read_consumption(
    db: Database, org: str, rule: FoldingRule, jobs: Collection[bytes]
) -> dict[bytes, list[CanonicalEdge]]:
    """Read what jobs read that are not known to write anything: it leads into the jobs themselves."""
    leaves = family_members(db, org, rule, jobs)
    everything = sorted({leaf for found in leaves.values() for leaf in found})
    writing = {job for (job,) in db.fetch_for_ids(_WRITES, everything, org)}
    reads: dict[bytes, list[tuple[bytes, int]]] = {}
    for dataset, job, seen in db.fetch_for_ids(_READ, everything, org):
        reads.setdefault(job, []).append((dataset, seen))
    found = {job: [one for leaf in of - writing for one in reads.get(leaf, ())] for job, of in leaves.items()}
    oldest = {job: min(seen for _, seen in read) for job, read in found.items() if read}
    limits = RetirementPolicy(db, org, rule).oldest_current(oldest)
    return {
        job: [
            CanonicalEdge(dataset, None, "inferred")
            for dataset in sorted({dataset for dataset, seen in read if seen >= limits.get(job, 0)})
        ]
        for job, read in found.items()
    }


def family_members(db: Database, org: str, rule: FoldingRule, jobs: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    """Find the jobs that are shown as each of these: itself, and actions one or two levels beneath it."""
    wanted = set(jobs)
    beneath = set(db.fetch_for_ids(_BENEATH, sorted(wanted), org))
    children = {child for _, child in beneath}
    everybody = wanted | children | {child for _, child in db.fetch_for_ids(_BENEATH, sorted(children), org)}
    found: dict[bytes, set[bytes]] = {job: set() for job in wanted}
    for leaf, shown in logical_jobs(db, org, rule, everybody).items():
        for job in shown & wanted:
            found[job].add(leaf)
    return found
