"""Maintains active column lineage, which is what the newest run of each job reports for each dataset."""

from typing import Any, NamedTuple

from bridge.store.database import Database, Insert
from mappers.canonical.identity import NO_ID, digest, split_ids
from mappers.canonical.merge import Reducer
from mappers.canonical.rows import ColumnLineageRow, JobRow, RunLineageRow, RunRow

#: A job, and a dataset whose column lineage it reports.
_Pair = tuple[bytes, bytes]
#: A row of column lineage: its source and its lineage id.
_LineageRow = tuple[bytes, bytes]

_NEVER = -(1 << 63)

_START_CHANGED = """
SELECT h.job_id, h.target_id FROM column_head h
JOIN ol_run r ON r.org_id = h.org_id AND r.run_id = h.run_id
WHERE h.org_id = ?1 AND h.run_id {ids} AND h.run_start <> r.started_at
"""
_NEWEST_RUN = f"""
SELECT l.run_id, coalesce(r.started_at, {_NEVER}) AS started FROM run_lineage l
LEFT JOIN ol_run r ON r.org_id = l.org_id AND r.run_id = l.run_id
WHERE l.org_id = ?1 AND l.job_id = ?2 AND l.target_id = ?3
ORDER BY started DESC, l.run_id DESC LIMIT 1
"""
#: Column lineage without a run is a declaration, which counts until a newer one replaces it.
_DECLARED = "SELECT target_id FROM column_head WHERE org_id = ?1 AND job_id = ?2 AND run_id = ?3"
_IS_REPLACED = """
SELECT 1 FROM run_lineage l
JOIN ol_job j ON j.org_id = l.org_id AND j.job_id = l.job_id
WHERE l.org_id = ?1 AND l.run_id = ?4 AND l.job_id = ?2 AND l.target_id = ?3
  AND (j.declared_io IS NULL OR substr(l.columns_order, 2) <> j.declared_io)
  AND (j.declared_lineage IS NULL OR l.columns_order <> j.declared_lineage)
"""
_STARTS = "SELECT run_id, started_at FROM ol_run WHERE org_id = ?1 AND run_id {ids} AND started_at IS NOT NULL"
_ACTIVE_RUNS = """
SELECT h.job_id, h.target_id, h.run_id, h.run_start, h.shown FROM {keys} g
JOIN column_head h ON h.job_id = g.a AND h.target_id = g.b AND h.org_id = ?1
"""
_JOB_TO_LOCK = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND job_id = ?2"
_REPORTED = """
SELECT l.job_id, l.target_id, l.explicit, s.members FROM {keys} g
JOIN run_lineage l ON l.job_id = g.a AND l.target_id = g.b AND l.run_id = g.c AND l.org_id = ?1
LEFT JOIN lineage_set s ON s.set_id = l.columns_set AND s.org_id = l.org_id
"""
_EXPLICIT = """
SELECT s.members FROM run_explicit e JOIN lineage_set s ON s.org_id = e.org_id AND s.set_id = e.set_id
WHERE e.org_id = ?1 AND e.job_id = ?2 AND e.target_id = ?3 AND e.run_id = ?4
"""
_SAVE_ACTIVE_RUNS = Insert(
    "column_head",
    {"org_id": str, "job_id": bytes, "target_id": bytes, "run_id": bytes, "run_start": int, "shown": bytes},
    "ON CONFLICT (org_id, job_id, target_id) DO UPDATE"
    " SET run_id = excluded.run_id, run_start = excluded.run_start, shown = excluded.shown",
)
_LINEAGE_ROWS = """
SELECT source_id, lineage_id, is_active FROM column_lineage WHERE org_id = ?1 AND target_id = ?2 AND job_id = ?3
"""
_ACTIVATE = """
UPDATE column_lineage SET is_active = ?5 WHERE org_id = ?1 AND target_id = ?2 AND source_id = ?3 AND lineage_id = ?4
"""


class _NewestRun(NamedTuple):
    """The newest run that reports column lineage of a target, and the previously active run."""

    previous: "_ActiveRun | None"
    run: bytes
    start: int


class _ActiveRun(NamedTuple):
    """The newest run that reports column lineage of a target, and a hash of its report."""

    run: bytes
    start: int
    columns_hash: bytes


class ActiveColumnLineage:
    """Maintains `column_head` and the column `column_lineage.is_active`, which is derived from it."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def update(self, changes: Reducer) -> None:
        """Update the newest run of every job and target that the changes affect, and activate what it reports."""
        reporting_runs = self._reporting_runs(changes)
        pairs_with_changed_start = set(
            self._db.fetch_for_ids(_START_CHANGED, [run.run_id for run in changes.rows(RunRow)], self._org)
        )
        locked_jobs = {row.job_id for row in changes.rows(JobRow)}  # locked by the merge
        for job in sorted({job for job, _ in pairs_with_changed_start} - locked_jobs):
            self._db.lock_rows(_JOB_TO_LOCK, self._org, job)
        pairs = sorted(reporting_runs.keys() | pairs_with_changed_start)
        if not pairs:
            return
        newest_runs = self._newest_runs(pairs, reporting_runs, pairs_with_changed_start)
        keys = [(*pair, newest.run) for pair, newest in zip(pairs, newest_runs, strict=True)]
        reports = {
            (job, target): report for job, target, *report in self._db.fetch_for_keys(_REPORTED, keys, self._org)
        }
        merged_rows: dict[_Pair, set[_LineageRow]] = {}
        for row in changes.rows(ColumnLineageRow):
            merged_rows.setdefault((row.job_id, row.target_id), set()).add((row.source_id, row.lineage_id))
        updates: list[tuple[Any, ...]] = []
        for pair, (previous, run, start) in zip(pairs, newest_runs, strict=True):
            lineage_ids = self._reported_lineage_ids(pair, run, *reports[pair])
            current = _ActiveRun(run, start, digest(lineage_ids))
            if current != previous:
                updates.append((self._org, *pair, *current))
            columns_changed = previous is not None and previous.columns_hash != current.columns_hash
            reported_ids = set(split_ids(lineage_ids))
            self._update_is_active(pair, reported_ids, merged_rows.get(pair, set()), columns_changed=columns_changed)
        self._db.insert(_SAVE_ACTIVE_RUNS, updates)

    def _reporting_runs(self, changes: Reducer) -> dict[_Pair, set[bytes]]:
        """Map each pair of job and target to those changed runs that report column lineage for the pair."""
        reporting_runs: dict[_Pair, set[bytes]] = {}
        for row in changes.rows(RunLineageRow):
            reporting_runs.setdefault((row.job_id, row.target_id), set()).add(row.run_id)
        for job in changes.rows(JobRow):
            if job.declared_io or job.declared_lineage:
                for (target,) in self._db.fetch_all(_DECLARED, self._org, job.job_id, NO_ID):
                    reporting_runs.setdefault((job.job_id, target), set()).add(NO_ID)
        return reporting_runs

    def _newest_runs(
        self, pairs: list[_Pair], reporting_runs: dict[_Pair, set[bytes]], pairs_with_changed_start: set[_Pair]
    ) -> list[_NewestRun]:
        """Find the newest run for each pair of job and target."""
        starts = dict(self._db.fetch_for_ids(_STARTS, sorted(set().union(*reporting_runs.values())), self._org))
        active_runs = {
            (job, target): _ActiveRun(*active_run)
            for job, target, *active_run in self._db.fetch_for_keys(_ACTIVE_RUNS, pairs, self._org)
        }
        newest: list[_NewestRun] = []
        for pair in pairs:
            previous = active_runs.get(pair)
            if pair in pairs_with_changed_start:
                ((run, start),) = self._db.fetch_all(_NEWEST_RUN, self._org, *pair)
            else:
                start_by_run = {previous.run: previous.start} if previous else {}
                start_by_run.update((run, starts.get(run, _NEVER)) for run in reporting_runs[pair])
                start, run = max((start, run) for run, start in start_by_run.items())
            newest.append(_NewestRun(previous, run, start))
        return newest

    def _reported_lineage_ids(self, pair: _Pair, run: bytes, explicit: bool, column_ids: bytes | None) -> bytes:
        """Return the concatenated lineage ids that a run reports, or none for a replaced declaration.

        `column_ids` are those of the facet columnLineage, and do not count if the run reports explicit lineage.
        """
        if run == NO_ID and self._db.fetch_all(_IS_REPLACED, self._org, *pair, run):
            return b""
        if not explicit:
            return column_ids or b""
        id_sets = self._db.fetch_all(_EXPLICIT, self._org, *pair, run)
        return b"".join(sorted({lineage_id for (members,) in id_sets for lineage_id in split_ids(members)}))

    def _update_is_active(
        self, pair: _Pair, reported_ids: set[bytes], merged_rows: set[_LineageRow], *, columns_changed: bool
    ) -> None:
        """Activate the rows that the newest run reports, and deactivate all other rows of the pair."""
        job, target = pair
        active_by_row = dict.fromkeys(merged_rows, True)
        if columns_changed:
            stored_rows = self._db.fetch_all(_LINEAGE_ROWS, self._org, target, job)
            active_by_row.update(((source, lineage_id), bool(active)) for source, lineage_id, active in stored_rows)
        updates = []
        for (source, lineage_id), was_active in sorted(active_by_row.items()):
            is_active = lineage_id in reported_ids
            if is_active != was_active:
                updates.append((self._org, target, source, lineage_id, is_active))
        self._db.execute_many(_ACTIVATE, updates)
