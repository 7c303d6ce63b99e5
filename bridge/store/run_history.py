"""Reads run history: of all logical jobs, of one job, or the steps of a run."""

from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.store.visible_versions import written_versions_sql
from mappers.logical_job import ACTION_TYPES
from mappers.openlineage.names import canonical_job_name

_ACTION = f"""(upper(coalesce(j.integration, '')) = 'SPARK'
  AND upper(coalesce(j.job_type, '')) IN ({", ".join(f"'{kind}'" for kind in sorted(ACTION_TYPES))}))"""
#: Of a job `j`: whether it is an action of an application, rather than a job that people know.
IS_STEP_SQL = f"""({_ACTION} AND EXISTS (
  SELECT 1 FROM lineage_edge e WHERE e.org_id = j.org_id AND e.target_id = j.job_id AND e.edge_role = 'PARENT'))"""
#: Of a job `j`: whether it is the application in which a process runs, which people know by the process.
_WITHIN = """(upper(coalesce(j.job_type, '')) = 'APPLICATION' AND EXISTS (
  SELECT 1 FROM lineage_edge e JOIN ol_job above ON above.org_id = e.org_id AND above.job_id = e.source_id
  WHERE e.org_id = j.org_id AND e.target_id = j.job_id AND e.edge_role = 'PARENT'
    AND above.integration = 'LINEAGE_BRIDGE'))"""
#: A cross join is taken in the order in which it is written: few jobs first, then the index of their runs.
_OF_KNOWN_JOBS = f"""
ol_job j CROSS JOIN ol_run r WHERE r.org_id = j.org_id AND r.job_id = j.job_id AND NOT {IS_STEP_SQL} AND NOT {_WITHIN}
"""
_OF_JOB = "ol_run r WHERE r.job_id = ?5"
_STEPS_OF = f"""
ol_run r JOIN ol_job j ON j.org_id = r.org_id AND j.job_id = r.job_id
WHERE (r.parent_run_id = ?5 OR r.parent_run_id IN (SELECT a.run_id FROM ol_run a WHERE a.parent_run_id = ?5))
  AND {_ACTION}
"""
_FAILED = "'FAILED' = (SELECT o.status FROM run_outcome o WHERE o.org_id = r.org_id AND o.run_id = r.run_id)"
_CHOSEN = """
SELECT r.run_id, r.started_at FROM {which} AND r.org_id = ?1 AND r.started_at IS NOT NULL
  AND (r.started_at < ?3 OR (r.started_at = ?3 AND r.run_id < ?4))
ORDER BY r.started_at DESC, r.run_id DESC LIMIT ?2
"""
#: Counts are added up as fractions: what somebody sends as a count may be too large to be added as integers.
_OUTPUTS = f"""
(v.dataset_id, v.writer_id) IN (
  SELECT t.dataset_id, t.run_id FROM ol_run_output t
  JOIN (
    SELECT p.run_id
    UNION SELECT c.run_id FROM ol_run c
    JOIN ol_job j ON j.org_id = c.org_id AND j.job_id = c.job_id
    WHERE c.org_id = p.org_id AND c.parent_run_id = p.run_id AND {_ACTION}
  ) w ON w.run_id = t.run_id
  WHERE t.org_id = p.org_id)
"""
_WRITTEN = f"SELECT sum(w.row_count * 1.0) FROM ({written_versions_sql(_OUTPUTS)}) w WHERE w.org_id = p.org_id"
_WROTE = """
SELECT min(known.name) FROM ol_run_output t
JOIN ol_dataset d ON d.org_id = t.org_id AND d.dataset_id = t.dataset_id
JOIN ol_dataset known ON known.org_id = d.org_id AND known.dataset_id = d.class_id
WHERE t.org_id = p.org_id AND t.run_id = p.run_id
"""
_RUNS = f"""
SELECT p.run_id, p.run_uuid, n.namespace_uri, j.name, p.status, p.status_derived, p.start_ts, p.end_ts,
  o.ended_at - chosen.started_at AS lasted, p.last_activity_ts, ({_WRITTEN}) AS rows_written, p.error_message,
  ({_WROTE}) AS wrote, chosen.started_at
FROM ({{chosen}}) chosen
JOIN process_run p ON p.org_id = ?1 AND p.run_id = chosen.run_id
JOIN run_outcome o ON o.org_id = p.org_id AND o.run_id = p.run_id
JOIN ol_job j ON j.org_id = p.org_id AND j.job_id = p.process_id
JOIN ol_namespace n ON n.org_id = j.org_id AND n.namespace_id = j.namespace_id
ORDER BY chosen.started_at DESC, p.run_id DESC
"""
_JOB = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND job_id = ?2"


class RunHistoryEntry(NamedTuple):
    """One run as people read it, and a dataset it wrote; times are ISO texts, the duration is in microseconds."""

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


#: Where a page of runs begins: behind a run that began at a time, newest first.
RunCursor = tuple[int, bytes]
FIRST_PAGE: RunCursor = ((1 << 63) - 1, b"")


def find_job(db: Database, org: str, namespace: str, name: str) -> bytes | None:
    """Find a job by its name."""
    rows = db.fetch_all(_JOB, org, canonical_job_name(org, namespace, name).id)
    return rows[0][0] if rows else None


def recent_runs(
    db: Database,
    org: str,
    limit: int,
    *,
    job: bytes | None = None,
    failed: bool = False,
    behind: RunCursor = FIRST_PAGE,
) -> list[RunHistoryEntry]:
    """Give the newest runs, of one job or of all jobs that people know; newest first."""
    which = _OF_KNOWN_JOBS if job is None else _OF_JOB
    bound = () if job is None else (job,)
    return _read(db, f"{which} AND {_FAILED}" if failed else which, org, limit, *behind, *bound)


def recent_steps(db: Database, org: str, limit: int, run: bytes) -> list[RunHistoryEntry]:
    """Give the newest actions of one run of an application; newest first."""
    return _read(db, _STEPS_OF, org, limit, *FIRST_PAGE, run)


def find_run(db: Database, org: str, run: bytes) -> RunHistoryEntry | None:
    """Give one run that somebody reported of."""
    found = _read(db, "ol_run r WHERE r.run_id = ?5", org, 1, *FIRST_PAGE, run)
    return found[0] if found else None


def _read(db: Database, which: str, *bound: str | int | bytes) -> list[RunHistoryEntry]:
    return [_run(row) for row in db.fetch_all(_RUNS.format(chosen=_CHOSEN.format(which=which)), *bound)]


def _run(row: tuple[Any, ...]) -> RunHistoryEntry:
    """Make a run of a row; one kind of store has no booleans, the other gives sums as decimals."""
    run = RunHistoryEntry(*row)
    rows = run.rows_written
    return run._replace(status_derived=bool(run.status_derived), rows_written=None if rows is None else int(rows))
