"""Reads quality checks, their results, and dataset profiles."""

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.governance_facets import EXPECTATIONS
from bridge.store.visible_versions import nested_writes_sql
from mappers.canonical.identity import NO_ID
from mappers.canonical.rank import Rank, order_micros, order_rank
from mappers.openlineage.facets import ExpectationsFacet
from mappers.openlineage.quality import assertion_id

_CHECKS = """
SELECT q.qdef_id, d.class_id, q.job_id, q.name, q.sql_expression, q.field_name, q.expected_result, q.dataset_id,
  q.definition_order
FROM quality_check_def q
LEFT JOIN ol_dataset d ON d.org_id = q.org_id AND d.dataset_id = q.dataset_id
WHERE q.org_id = ?1 AND q.qdef_id {ids}
"""
_EXPECTATION_FACETS = """
SELECT owner_id, facet_order, body FROM facet WHERE org_id = ?1 AND owner_id {ids} AND about_id = ?2 AND name = ?3
"""
_LAST_REPORTS = """
SELECT qdef_id, max(executed_at) FROM quality_check_result WHERE org_id = ?1 AND qdef_id {ids} GROUP BY qdef_id
"""
_PRODUCED = """
SELECT e.source_id, d.class_id FROM lineage_edge e
JOIN ol_dataset d ON d.org_id = e.org_id AND d.dataset_id = e.target_id
WHERE e.org_id = ?1 AND e.source_id {ids} AND e.edge_role = 'PRODUCES' AND e.target_type = 'dataset'
"""
_RESULTS = """
SELECT qres_id, qdef_id, executed_at, status, detail_json FROM quality_check_result
WHERE org_id = ?1 AND qres_id {ids}
"""
_NEWEST = """
SELECT x.qres_id, x.qdef_id, x.executed_at, x.status, x.detail_json FROM (
  SELECT r.*, row_number() OVER (PARTITION BY r.qdef_id ORDER BY r.executed_at DESC, r.qres_id) AS place
  FROM quality_check_result r WHERE r.org_id = ?1 AND r.qdef_id {ids}
) x WHERE x.place = 1
"""
_OF_DATASETS = """
SELECT q.qdef_id FROM ol_dataset d
JOIN quality_check_def q ON q.org_id = d.org_id AND q.dataset_id = d.dataset_id
WHERE d.org_id = ?1 AND d.class_id {ids}
"""
_OF_WRITERS = """
SELECT q.qdef_id FROM ol_dataset d
JOIN lineage_edge e ON e.org_id = d.org_id AND e.target_id = d.dataset_id AND e.edge_role = 'PRODUCES'
JOIN quality_check_def q ON q.org_id = e.org_id AND q.job_id = e.source_id
WHERE d.org_id = ?1 AND d.class_id {ids}
"""
_OF_JOBS = "SELECT qdef_id FROM quality_check_def WHERE org_id = ?1 AND job_id {ids}"
_CHECKS_OF_RESULTS = "SELECT DISTINCT qdef_id FROM quality_check_result WHERE org_id = ?1 AND qres_id {ids}"
_OF_CHECKS = "SELECT qres_id FROM quality_check_result WHERE org_id = ?1 AND qdef_id {ids}"


class CanonicalCheck(NamedTuple):
    """A quality check and its dataset; a test of a job applies to the only dataset that the job writes."""

    dataset: bytes | None
    name: str
    assertion: str
    column: str | None
    expected: str | None
    #: Whether it was removed from the asset files and no run has reported it since.
    withdrawn: bool = False


class CanonicalCheckResult(NamedTuple):
    """Result of a quality check; the time is in microseconds."""

    check: bytes
    executed_at: int
    status: str
    detail: dict[str, Any]


def read_checks(db: Database, org: str, checks: Collection[bytes]) -> dict[bytes, CanonicalCheck]:
    rows = db.fetch_for_ids(_CHECKS, sorted(set(checks)), org)
    written: dict[bytes, set[bytes]] = {}
    for job, dataset in db.fetch_for_ids(
        _PRODUCED, sorted({job for _, dataset, job, *_ in rows if job and not dataset}), org
    ):
        written.setdefault(job, set()).add(dataset)
    dataset_by_declared_check = {
        check: dataset
        for check, *_, dataset, order in rows
        if dataset and order and order_rank(order) == Rank.STEWARD
    }
    withdrawn = _withdrawn_checks(db, org, dataset_by_declared_check)
    checks_by_id = {}
    for check, dataset, job, name, assertion, column, expected, *_ in rows:
        subject = dataset
        if not dataset:
            written_by_job = written.get(job, set())
            subject = next(iter(written_by_job)) if len(written_by_job) == 1 else None
        checks_by_id[check] = CanonicalCheck(
            subject, name, assertion or name, column or None, expected, check in withdrawn
        )
    return checks_by_id


def _withdrawn_checks(db: Database, org: str, dataset_by_check: dict[bytes, bytes]) -> set[bytes]:
    """Return checks that are no longer expected for their dataset and that no run has reported since then."""
    withdrawn_at: dict[bytes, int] = {}
    facets = {
        dataset: (order_micros(order), _expected_checks(dataset, body))
        for dataset, order, body in db.fetch_for_ids(
            _EXPECTATION_FACETS, sorted(set(dataset_by_check.values())), org, NO_ID, EXPECTATIONS
        )
    }
    for check, dataset in dataset_by_check.items():
        if dataset not in facets:
            continue
        changed_at, expected_checks = facets[dataset]
        if check not in expected_checks:
            withdrawn_at[check] = changed_at
    reported_at = dict(db.fetch_for_ids(_LAST_REPORTS, sorted(withdrawn_at), org))
    return {check for check, at in withdrawn_at.items() if reported_at.get(check, -1) <= at}


def _expected_checks(dataset: bytes, body: str | None) -> frozenset[bytes]:
    """Return ids of the checks in an expectations facet; `body` is None if the facet was deleted."""
    checks = msgspec.json.decode(body, type=ExpectationsFacet).checks if body else ()
    return frozenset(assertion_id(dataset, check.check, check.name, check.column) for check in checks)


def read_results(db: Database, org: str, results: Collection[bytes]) -> dict[bytes, CanonicalCheckResult]:
    return {id_: _result(*row) for id_, *row in db.fetch_for_ids(_RESULTS, sorted(set(results)), org)}


def read_newest_results(
    db: Database, org: str, checks: Collection[bytes]
) -> dict[bytes, tuple[bytes, CanonicalCheckResult]]:
    """Return the id and content of the newest result of each check."""
    rows = db.fetch_for_ids(_NEWEST, sorted(set(checks)), org)
    return {check: (result, _result(check, *values)) for result, check, *values in rows}


def checks_of_datasets(db: Database, org: str, datasets: Collection[bytes]) -> set[bytes]:
    """Return checks of datasets and of the jobs that write them; `datasets` are identity groups."""
    group_ids = sorted(set(datasets))
    return {check for sql in (_OF_DATASETS, _OF_WRITERS) for (check,) in db.fetch_for_ids(sql, group_ids, org)}


def checks_of_jobs(db: Database, org: str, jobs: Collection[bytes]) -> set[bytes]:
    return {check for (check,) in db.fetch_for_ids(_OF_JOBS, sorted(set(jobs)), org)}


def checks_of_results(db: Database, org: str, results: Collection[bytes]) -> set[bytes]:
    return {check for (check,) in db.fetch_for_ids(_CHECKS_OF_RESULTS, sorted(set(results)), org)}


def results_of_checks(db: Database, org: str, checks: Collection[bytes]) -> set[bytes]:
    return {result for (result,) in db.fetch_for_ids(_OF_CHECKS, sorted(set(checks)), org)}


def _result(check: bytes, executed_at: int, status: str, detail: str | None) -> CanonicalCheckResult:
    content = msgspec.json.decode(detail) if detail else None
    return CanonicalCheckResult(check, executed_at, status, content if isinstance(content, dict) else {})


_STATISTICS = """
SELECT g.a, g.b, d.class_id, v.produced_at, i.last_seen, v.row_count, v.byte_count, t.lifecycle, t.run_id
FROM {keys} g
JOIN ol_dataset d ON d.org_id = ?1 AND d.dataset_id = g.a
LEFT JOIN dataset_version v ON v.org_id = ?1 AND v.dataset_id = g.a AND v.writer_id = g.b
LEFT JOIN ol_run_output t ON t.org_id = ?1 AND t.run_id = g.b AND t.dataset_id = g.a
LEFT JOIN ol_run_input i ON i.org_id = ?1 AND i.run_id = g.b AND i.dataset_id = g.a
ORDER BY g.a, g.b
"""
_METRICS = """
SELECT g.a, g.b, f.body FROM {keys} g
JOIN facet f ON f.org_id = ?1 AND f.owner_id = g.b AND f.about_id = g.a
  AND f.name IN ('input:dataQualityMetrics', 'output:dataQualityMetrics') AND f.body IS NOT NULL
ORDER BY f.name
"""
_COLUMN_COUNTS = """
SELECT class_id, count(*) FROM class_field WHERE org_id = ?1 AND class_id {ids} AND depth = 0 GROUP BY class_id
"""
_NESTED_WRITES = nested_writes_sql()
_ID_BYTES = 16


class CanonicalProfile(NamedTuple):
    """Statistics of a dataset from one run; the time is in microseconds."""

    dataset: bytes
    at: int
    rows: int | None
    bytes: int | None
    change: str | None
    wrote: bool
    columns: int
    metrics: dict[str, Any]
    #: Whether an enclosing action reports the write; then the profile contains only what the run measured.
    nested: bool = False


def read_profiles(db: Database, org: str, keys: Collection[bytes]) -> dict[bytes, CanonicalProfile]:
    """Return profiles by key (dataset id followed by run id)."""
    pairs = [(key[:_ID_BYTES], key[_ID_BYTES:]) for key in sorted(set(keys))]
    metrics: dict[bytes, dict[str, Any]] = {}
    for dataset, run, body in db.fetch_for_keys(_METRICS, pairs, org):
        content = msgspec.json.decode(body)
        if isinstance(content, dict):
            metrics[dataset + run] = content
    nested = {dataset + run for dataset, run in db.fetch_for_keys(_NESTED_WRITES, pairs, org)}
    profiles: dict[bytes, CanonicalProfile] = {}
    rows = db.fetch_for_keys(_STATISTICS, pairs, org)
    columns = dict(db.fetch_for_ids(_COLUMN_COUNTS, sorted({class_id for _, _, class_id, *_ in rows}), org))
    for dataset, run, class_id, produced_at, read_at, count, size, change, wrote in rows:
        at = max((time for time in (produced_at, read_at) if time is not None), default=None)
        key = dataset + run
        if at is None or key in profiles:
            continue
        profile = CanonicalProfile(
            class_id, at, count, size, change, wrote is not None, columns.get(class_id, 0), metrics.get(key, {})
        )
        profiles[key] = profile._replace(rows=None, bytes=None, nested=True) if key in nested else profile
    return profiles
