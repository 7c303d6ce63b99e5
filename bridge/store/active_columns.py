"""Maintains active column lineage: what the newest run of each job reports per dataset."""

from typing import Any, NamedTuple

from bridge.store.database import Database, Insert
from mappers.canonical.identity import NO_ID, digest, split_ids
from mappers.canonical.merge import Reducer
from mappers.canonical.rows import ColumnLineageRow, JobRow, RunLineageRow, RunRow

#: A job, and a dataset whose columns it speaks of.
_Pair = tuple[bytes, bytes]
#: The source and the id of one row of column lineage.
_Line = tuple[bytes, bytes]

_NEVER = -(1 << 63)

_MOVED = """
SELECT h.job_id, h.target_id FROM column_head h
JOIN ol_run r ON r.org_id = h.org_id AND r.run_id = h.run_id
WHERE h.org_id = ?1 AND h.run_id {ids} AND h.run_start <> r.started_at
"""
_NEWEST = f"""
SELECT l.run_id, coalesce(r.started_at, {_NEVER}) AS started FROM run_lineage l
LEFT JOIN ol_run r ON r.org_id = l.org_id AND r.run_id = l.run_id
WHERE l.org_id = ?1 AND l.job_id = ?2 AND l.target_id = ?3
ORDER BY started DESC, l.run_id DESC LIMIT 1
"""
#: What nobody's run says of a target is a declaration: it counts while no newer one has replaced it.
_DECLARED = "SELECT target_id FROM column_head WHERE org_id = ?1 AND job_id = ?2 AND run_id = ?3"
_REPLACED = """
SELECT 1 FROM run_lineage l
JOIN ol_job j ON j.org_id = l.org_id AND j.job_id = l.job_id
WHERE l.org_id = ?1 AND l.run_id = ?4 AND l.job_id = ?2 AND l.target_id = ?3
  AND (j.declared_io IS NULL OR substr(l.columns_order, 2) <> j.declared_io)
  AND (j.declared_lineage IS NULL OR l.columns_order <> j.declared_lineage)
"""
_STARTS = "SELECT run_id, started_at FROM ol_run WHERE org_id = ?1 AND run_id {ids} AND started_at IS NOT NULL"
_HEADS = """
SELECT h.job_id, h.target_id, h.run_id, h.run_start, h.shown FROM {keys} g
JOIN column_head h ON h.job_id = g.a AND h.target_id = g.b AND h.org_id = ?1
"""
_JOB = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND job_id = ?2"
_SAID = """
SELECT l.job_id, l.target_id, l.explicit, s.members FROM {keys} g
JOIN run_lineage l ON l.job_id = g.a AND l.target_id = g.b AND l.run_id = g.c AND l.org_id = ?1
LEFT JOIN lineage_set s ON s.set_id = l.columns_set AND s.org_id = l.org_id
"""
_EXPLICIT = """
SELECT s.members FROM run_explicit e JOIN lineage_set s ON s.org_id = e.org_id AND s.set_id = e.set_id
WHERE e.org_id = ?1 AND e.job_id = ?2 AND e.target_id = ?3 AND e.run_id = ?4
"""
_WRITE_HEADS = Insert(
    "column_head",
    {"org_id": str, "job_id": bytes, "target_id": bytes, "run_id": bytes, "run_start": int, "shown": bytes},
    "ON CONFLICT (org_id, job_id, target_id) DO UPDATE"
    " SET run_id = excluded.run_id, run_start = excluded.run_start, shown = excluded.shown",
)
_LINES = """
SELECT source_id, lineage_id, is_active FROM column_lineage WHERE org_id = ?1 AND target_id = ?2 AND job_id = ?3
"""
_ACTIVATE = """
UPDATE column_lineage SET is_active = ?5 WHERE org_id = ?1 AND target_id = ?2 AND source_id = ?3 AND lineage_id = ?4
"""


class _ActiveRun(NamedTuple):
    """The newest run that speaks of a target, and the hash of what it shows."""

    run: bytes
    start: int
    shown: bytes


class ActiveColumnLineage:
    """Keeps `column_head`, and with it `column_lineage.is_active`, what the runs say."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def update(self, changes: Reducer) -> None:
        """Find the newest run again for every job and target that the changes touch."""
        spoken = self._reporting_runs(changes)
        recount = set(self._db.fetch_for_ids(_MOVED, [run.run_id for run in changes.rows(RunRow)], self._org))
        for job in sorted({job for job, _ in recount} - {row.job_id for row in changes.rows(JobRow)}):
            self._db.lock_rows(_JOB, self._org, job)
        pairs = sorted(spoken.keys() | recount)
        heads = self._newest(pairs, spoken, recount)
        wanted = [(*pair, run) for pair, (_, run, _) in zip(pairs, heads, strict=True)]
        said = {(job, target): what for job, target, *what in self._db.fetch_for_keys(_SAID, wanted, self._org)}
        asserted: dict[_Pair, set[_Line]] = {}
        for line in changes.rows(ColumnLineageRow) if pairs else ():
            asserted.setdefault((line.job_id, line.target_id), set()).add((line.source_id, line.lineage_id))
        written: list[tuple[Any, ...]] = []
        for pair, (old, run, start) in zip(pairs, heads, strict=True):
            members = self._reported_columns(pair, run, *said[pair])
            new = _ActiveRun(run, start, digest(members))
            if new != old:
                written.append((self._org, *pair, *new))
            moved = old is not None and old.shown != new.shown
            self._set_active(pair, moved, set(split_ids(members)), asserted.get(pair, set()))
        self._db.insert(_WRITE_HEADS, written)

    def _reporting_runs(self, changes: Reducer) -> dict[_Pair, set[bytes]]:
        """Give the runs of these changes that speak of each job's target."""
        spoken: dict[_Pair, set[bytes]] = {}
        for row in changes.rows(RunLineageRow):
            spoken.setdefault((row.job_id, row.target_id), set()).add(row.run_id)
        for job in changes.rows(JobRow):
            if job.declared_io or job.declared_lineage:
                for (target,) in self._db.fetch_all(_DECLARED, self._org, job.job_id, NO_ID):
                    spoken.setdefault((job.job_id, target), set()).add(NO_ID)
        return spoken

    def _newest(
        self, pairs: list[_Pair], spoken: dict[_Pair, set[bytes]], recount: set[_Pair]
    ) -> list[tuple[_ActiveRun | None, bytes, int]]:
        """Give for each pair the head it had, and the run that is newest now, with its start."""
        starts = dict(self._db.fetch_for_ids(_STARTS, sorted(set().union(*spoken.values())), self._org))
        heads = {
            (job, target): _ActiveRun(*head)
            for job, target, *head in self._db.fetch_for_keys(_HEADS, pairs, self._org)
        }
        newest: list[tuple[_ActiveRun | None, bytes, int]] = []
        for pair in pairs:
            old = heads.get(pair)
            if pair in recount:
                ((run, start),) = self._db.fetch_all(_NEWEST, self._org, *pair)
            else:
                known = {old.run: old.start} if old else {}
                known.update((run, starts.get(run, _NEVER)) for run in spoken[pair])
                run, start = max(known.items(), key=lambda item: (item[1], item[0]))
            newest.append((old, run, start))
        return newest

    def _reported_columns(self, pair: _Pair, run: bytes, explicit: bool, columns: bytes | None) -> bytes:
        if run == NO_ID and self._db.fetch_all(_REPLACED, self._org, *pair, run):
            return b""
        if not explicit:
            return columns or b""
        sets = self._db.fetch_all(_EXPLICIT, self._org, *pair, run)
        return b"".join(sorted({part for (members,) in sets for part in split_ids(members)}))

    def _set_active(self, pair: _Pair, moved: bool, shown: set[bytes], asserted: set[_Line]) -> None:
        """Make the lines that the newest run shows the active ones; every line is born active."""
        job, target = pair
        lines = dict.fromkeys(asserted, True)
        if moved:
            rows = self._db.fetch_all(_LINES, self._org, target, job)
            lines.update(((source, line), bool(active)) for source, line, active in rows)
        wrong = [line for line, active in sorted(lines.items()) if active != (line[1] in shown)]
        self._db.execute_many(_ACTIVATE, [(self._org, target, *line, line[1] in shown) for line in wrong])
