"""Reads the runs of all logical jobs, the runs of one job, or the steps of a run."""

from collections.abc import Sequence
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.job_families import first_action_sql, is_action_sql
from bridge.store.visible_versions import written_versions_sql
from mappers.canonical.identity import NO_ID
from mappers.openlineage.names import canonical_job_name

_IS_ACTION = is_action_sql("j")
#: True for a job `j` that is an action of an application rather than a logical job.
IS_STEP_SQL = f"""({_IS_ACTION} AND EXISTS (
  SELECT 1 FROM lineage_edge e WHERE e.org_id = j.org_id AND e.target_id = j.job_id AND e.edge_role = 'PARENT'))"""
#: True for a job `j` that is the application of a registered process, which is shown as the process.
_IS_PROCESS_APPLICATION = """(upper(coalesce(j.job_type, '')) = 'APPLICATION' AND EXISTS (
  SELECT 1 FROM lineage_edge e JOIN ol_job above ON above.org_id = e.org_id AND above.job_id = e.source_id
  WHERE e.org_id = j.org_id AND e.target_id = j.job_id AND e.edge_role = 'PARENT'
    AND above.integration = 'LINEAGE_BRIDGE'))"""
#: The run that `r` is listed as. An application that was only mentioned is listed in place of its first action.
_LISTED_RUN = f"""coalesce((
  SELECT m.run_id FROM ol_run m
  WHERE m.org_id = r.org_id AND m.run_id = r.parent_run_id AND m.least_claimant IS NULL
    AND r.run_id = ({first_action_sql("m")})), r.run_id)"""
#: A cross join fixes the join order: the newest runs first, by the index of start times.
_RUNS_OF_LOGICAL_JOBS = f"""
ol_run r CROSS JOIN ol_run s CROSS JOIN ol_job j
WHERE s.org_id = r.org_id AND s.run_id = {_LISTED_RUN}
  AND j.org_id = s.org_id AND j.job_id = s.job_id AND NOT {IS_STEP_SQL} AND NOT {_IS_PROCESS_APPLICATION}
"""
_REPORTED_RUNS = "ol_run r JOIN ol_run s ON s.org_id = r.org_id AND s.run_id = r.run_id WHERE r.{key} = ?7"
_MENTIONED_RUNS = f"""
ol_run s JOIN ol_run r ON r.org_id = s.org_id AND r.run_id = ({first_action_sql("s")})
WHERE s.least_claimant IS NULL AND s.{{key}} = ?7
"""
_RUNS_OF_STEPS = f"""
ol_run r JOIN ol_run s ON s.org_id = r.org_id AND s.run_id = r.run_id
JOIN ol_job j ON j.org_id = r.org_id AND j.job_id = r.job_id
WHERE (r.parent_run_id = ?7 OR r.parent_run_id IN (SELECT a.run_id FROM ol_run a WHERE a.parent_run_id = ?7))
  AND {_IS_ACTION}
"""
_FAILED = "'FAILED' = (SELECT o.status FROM run_outcome o WHERE o.org_id = s.org_id AND o.run_id = s.run_id)"
_PAGE = """
SELECT s.run_id, s.least_claimant IS NOT NULL AS reported, r.started_at, r.run_id AS position
FROM {source} AND r.org_id = ?1 AND r.started_at IS NOT NULL AND r.started_at >= ?5
  AND (r.started_at < ?3 OR (r.started_at = ?3 AND r.run_id < ?4))
ORDER BY r.started_at DESC, r.run_id DESC LIMIT ?2
"""
#: Row counts are summed as floats: counts that producers send may overflow an integer sum.
_OUTPUTS = f"""
(v.dataset_id, v.writer_id) IN (
  SELECT t.dataset_id, t.run_id FROM ol_run_output t
  JOIN (
    SELECT p.run_id
    UNION SELECT c.run_id FROM ol_run c
    JOIN ol_job j ON j.org_id = c.org_id AND j.job_id = c.job_id
    WHERE c.org_id = p.org_id AND c.parent_run_id = p.run_id AND {_IS_ACTION}
  ) w ON w.run_id = t.run_id
  WHERE t.org_id = p.org_id)
"""
_ROWS_WRITTEN = f"SELECT sum(w.row_count * 1.0) FROM ({written_versions_sql(_OUTPUTS)}) w WHERE w.org_id = p.org_id"
_OUTPUT_NAME = """
SELECT min(h.name) FROM ol_run_output t
JOIN ol_dataset d ON d.org_id = t.org_id AND d.dataset_id = t.dataset_id
JOIN ol_dataset h ON h.org_id = d.org_id AND h.dataset_id = d.class_id
WHERE t.org_id = p.org_id AND t.run_id = p.run_id
"""
_EXIT_CODE = """
SELECT x.body FROM facet x
WHERE x.org_id = p.org_id AND x.owner_id = p.run_id AND x.about_id = ?6 AND x.name = 'exitCode'
"""
#: As a subquery, because PostgreSQL would otherwise compute the outcomes of all runs.
_ENDED_AT = "SELECT o.ended_at FROM run_outcome o WHERE o.org_id = p.org_id AND o.run_id = p.run_id"
_RUNS = f"""
SELECT p.run_id, p.run_uuid, n.namespace_uri, j.name, p.status, p.status_derived, p.start_ts, p.end_ts,
  ({_ENDED_AT}) - page.started_at AS duration_us, p.last_activity_ts,
  ({_ROWS_WRITTEN}) AS rows_written, p.error_message, ({_OUTPUT_NAME}) AS output_name,
  page.started_at, page.position, page.reported, ({_EXIT_CODE}) AS exit_code
FROM ({{page}}) page
JOIN process_run p ON p.org_id = ?1 AND p.run_id = page.run_id
JOIN ol_job j ON j.org_id = p.org_id AND j.job_id = p.process_id
JOIN ol_namespace n ON n.org_id = j.org_id AND n.namespace_id = j.namespace_id
ORDER BY page.started_at DESC, page.position DESC
"""
_JOB = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND job_id = ?2"
_NAMESPACES = "SELECT namespace_uri FROM ol_namespace WHERE org_id = ?1"
_JOBS = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND job_id {ids}"


class RunHistoryEntry(NamedTuple):
    """A run, and the name of one dataset that it wrote.

    Times are ISO strings, except `started_at` and `duration_us`, which are in microseconds.
    """

    run_id: bytes
    run_uuid: str
    namespace: str
    job: str
    status: str
    status_derived: bool
    start_ts: str
    end_ts: str | None
    duration_us: int | None
    last_activity_ts: str
    rows_written: int | None
    error_message: str | None
    output_name: str | None
    started_at: int
    #: The id by which runs with the same start are sorted.
    position: bytes
    #: Whether events describe the run itself. Otherwise, its status and its times are those of its actions.
    reported: bool
    exit_code: int | None


#: The last run of the previous page: its start in microseconds and its position.
RunCursor = tuple[int, bytes]
FIRST_PAGE: RunCursor = ((1 << 63) - 1, b"")
_EARLIEST = -(1 << 63)


def find_job(db: Database, org: str, namespace: str, name: str) -> bytes | None:
    """Return the id of a job, or None if the store does not contain the job."""
    rows = db.fetch_all(_JOB, org, canonical_job_name(org, namespace, name).id)
    return next((job for (job,) in rows), None)


def find_jobs(db: Database, org: str, name: str) -> list[bytes]:
    """Return the ids of the jobs with this name, in any namespace."""
    candidates = [canonical_job_name(org, namespace, name).id for (namespace,) in db.fetch_all(_NAMESPACES, org)]
    return [job for (job,) in db.fetch_for_ids(_JOBS, candidates, org)]


def recent_runs(
    db: Database,
    org: str,
    limit: int,
    *,
    jobs: Sequence[bytes] | None = None,
    failed: bool = False,
    since: int | None = None,
    until: int | None = None,
    cursor: RunCursor = FIRST_PAGE,
) -> list[RunHistoryEntry]:
    """Read the newest runs of some jobs, or of all logical jobs, newest first.

    With times in microseconds, only runs that started at `since` or later, and before `until`.
    """
    condition = f" AND {_FAILED}" if failed else ""
    first = cursor if until is None else min(cursor, (until, b""))
    values = (org, limit, *first, _EARLIEST if since is None else since, NO_ID)
    if jobs is None:
        return _read_runs(db, [_RUNS_OF_LOGICAL_JOBS + condition], *values)
    sources = [source.format(key="job_id") + condition for source in (_REPORTED_RUNS, _MENTIONED_RUNS)]
    runs_by_job = [_read_runs(db, sources, *values, job) for job in jobs]
    newest_first = merge(*runs_by_job, key=lambda run: (run.started_at, run.position), reverse=True)
    return list(islice(newest_first, limit))


def recent_steps(db: Database, org: str, limit: int, run: bytes) -> list[RunHistoryEntry]:
    """Read the newest actions of one run of an application, newest first."""
    return _read_runs(db, [_RUNS_OF_STEPS], org, limit, *FIRST_PAGE, _EARLIEST, NO_ID, run)


def find_run(db: Database, org: str, run: bytes) -> RunHistoryEntry | None:
    """Find a run. Return None if no event reports the run or an action of it."""
    sources = [source.format(key="run_id") for source in (_REPORTED_RUNS, _MENTIONED_RUNS)]
    return next(iter(_read_runs(db, sources, org, 1, *FIRST_PAGE, _EARLIEST, NO_ID, run)), None)


def _read_runs(db: Database, sources: Sequence[str], *values: str | int | bytes) -> list[RunHistoryEntry]:
    """Read a page of runs from each FROM clause. `values` are the placeholders of `_PAGE` and of the clauses."""
    pages = " UNION ALL ".join(f"SELECT * FROM ({_PAGE.format(source=source)}) x" for source in sources)
    return [_to_entry(row) for row in db.fetch_all(_RUNS.format(page=pages), *values)]


def _to_entry(row: tuple[Any, ...]) -> RunHistoryEntry:
    """Convert a row: SQLite has no booleans, PostgreSQL returns sums as decimals, and the exit code is a facet."""
    entry = RunHistoryEntry(*row)
    return entry._replace(
        status_derived=bool(entry.status_derived),
        reported=bool(entry.reported),
        rows_written=None if entry.rows_written is None else int(entry.rows_written),
        exit_code=_exit_code(row[-1]),
    )


def _exit_code(facet: str | None) -> int | None:
    """Return the exit code of a facet, or None if the facet is missing, deleted or has another structure."""
    body = None if facet is None else msgspec.json.decode(facet)
    exit_code = body.get("value") if isinstance(body, dict) else None
    return exit_code if isinstance(exit_code, int) and not isinstance(exit_code, bool) else None
