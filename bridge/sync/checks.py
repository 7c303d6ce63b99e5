"""Checks of data, and how they ended, as a target shall know them."""

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database

_CHECKS = """
SELECT q.qdef_id, d.class_id, q.job_id, q.name, q.sql_expression, q.field_name, q.expected_result
FROM quality_check_def q
LEFT JOIN ol_dataset d ON d.org_id = q.org_id AND d.dataset_id = q.dataset_id
WHERE q.org_id = ?1 AND q.qdef_id {among}
"""
_PRODUCED = """
SELECT e.source_id, d.class_id FROM lineage_edge e
JOIN ol_dataset d ON d.org_id = e.org_id AND d.dataset_id = e.target_id
WHERE e.org_id = ?1 AND e.source_id {among} AND e.edge_role = 'PRODUCES' AND e.target_type = 'dataset'
"""
_RESULTS = """
SELECT qres_id, qdef_id, executed_at, status, detail_json FROM quality_check_result
WHERE org_id = ?1 AND qres_id {among}
"""
_NEWEST = """
SELECT x.qres_id, x.qdef_id, x.executed_at, x.status, x.detail_json FROM (
  SELECT r.*, row_number() OVER (PARTITION BY r.qdef_id ORDER BY r.executed_at DESC, r.qres_id) AS place
  FROM quality_check_result r WHERE r.org_id = ?1 AND r.qdef_id {among}
) x WHERE x.place = 1
"""
_OF_DATASETS = """
SELECT q.qdef_id FROM ol_dataset d
JOIN quality_check_def q ON q.org_id = d.org_id AND q.dataset_id = d.dataset_id
WHERE d.org_id = ?1 AND d.class_id {among}
"""
_OF_WRITERS = """
SELECT q.qdef_id FROM ol_dataset d
JOIN lineage_edge e ON e.org_id = d.org_id AND e.target_id = d.dataset_id AND e.edge_role = 'PRODUCES'
JOIN quality_check_def q ON q.org_id = e.org_id AND q.job_id = e.source_id
WHERE d.org_id = ?1 AND d.class_id {among}
"""
_OF_JOBS = "SELECT qdef_id FROM quality_check_def WHERE org_id = ?1 AND job_id {among}"
_OF_CHECKS = "SELECT qres_id FROM quality_check_result WHERE org_id = ?1 AND qdef_id {among}"


class StoredCheck(NamedTuple):
    """A check, and the one dataset that it is about, by its class; a test of a job is about what the job writes."""

    dataset: bytes | None
    name: str
    assertion: str
    column: str | None
    expected: str | None


class StoredResult(NamedTuple):
    """How a check ended; the time is in microseconds."""

    check: bytes
    executed_at: int
    status: str
    said: dict[str, Any]


def read_checks(db: Database, org: str, checks: Collection[bytes]) -> dict[bytes, StoredCheck]:
    """Read checks."""
    rows = db.among(_CHECKS, sorted(set(checks)), org)
    written: dict[bytes, set[bytes]] = {}
    for job, dataset in db.among(
        _PRODUCED, sorted({job for _, dataset, job, *_ in rows if job and not dataset}), org
    ):
        written.setdefault(job, set()).add(dataset)
    found = {}
    for check, dataset, job, name, assertion, column, expected in rows:
        of_job = written.get(job, set())
        about = dataset or (next(iter(of_job)) if len(of_job) == 1 else None)
        found[check] = StoredCheck(about, name, assertion or name, column or None, expected)
    return found


def read_results(db: Database, org: str, results: Collection[bytes]) -> dict[bytes, StoredResult]:
    """Read how checks ended."""
    return {id_: _result(*row) for id_, *row in db.among(_RESULTS, sorted(set(results)), org)}


def read_newest(db: Database, org: str, checks: Collection[bytes]) -> dict[bytes, tuple[bytes, StoredResult]]:
    """Read how checks ended last: the ids of the results, and the results."""
    rows = db.among(_NEWEST, sorted(set(checks)), org)
    return {row[1]: (row[0], _result(*row[1:])) for row in rows}


def checks_of(db: Database, org: str, datasets: Collection[bytes]) -> set[bytes]:
    """Find the checks of datasets, given by their classes, and those of the jobs that write them."""
    wanted = sorted(set(datasets))
    return {check for sql in (_OF_DATASETS, _OF_WRITERS) for (check,) in db.among(sql, wanted, org)}


def checks_of_jobs(db: Database, org: str, jobs: Collection[bytes]) -> set[bytes]:
    """Find the tests of jobs."""
    return {check for (check,) in db.among(_OF_JOBS, sorted(set(jobs)), org)}


def results_of(db: Database, org: str, checks: Collection[bytes]) -> set[bytes]:
    """Find all results of checks."""
    return {result for (result,) in db.among(_OF_CHECKS, sorted(set(checks)), org)}


def _result(check: bytes, executed_at: int, status: str, detail: str | None) -> StoredResult:
    said = msgspec.json.decode(detail) if detail else None
    return StoredResult(check, executed_at, status, said if isinstance(said, dict) else {})
