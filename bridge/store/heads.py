"""Which column lineage is active: what the newest run says that speaks of a target."""

import sqlite3
from typing import NamedTuple

from mappers.canonical.facts import ColumnLineage, Job, Run, RunLineage
from mappers.canonical.identity import NOBODY, digest
from mappers.canonical.merge import Reducer

#: The source and the id of one row of column lineage.
_Line = tuple[bytes, bytes]

_NEVER = -(1 << 63)
_ID_BYTES = 16

_MOVED = """
SELECT h.job_id, h.target_id FROM column_head h
JOIN ol_run r ON r.org_id = h.org_id AND r.run_id = h.run_id
WHERE h.org_id = ?1 AND h.run_id = ?2 AND h.run_start <> r.started_at
"""
_NEWEST = f"""
SELECT l.run_id, coalesce(r.started_at, {_NEVER}) FROM run_lineage l
LEFT JOIN ol_run r ON r.org_id = l.org_id AND r.run_id = l.run_id
WHERE l.org_id = ?1 AND l.job_id = ?2 AND l.target_id = ?3
ORDER BY 2 DESC, 1 DESC LIMIT 1
"""
#: What nobody's run says of a target is a declaration: it counts while no newer one has replaced it.
_DECLARED = """
SELECT target_id FROM column_head WHERE org_id = ?1 AND job_id = ?2 AND run_id = zeroblob(16)
"""
_REPLACED = """
SELECT 1 FROM run_lineage l
JOIN ol_job j ON j.org_id = l.org_id AND j.job_id = l.job_id
WHERE l.org_id = ?1 AND l.run_id = zeroblob(16) AND l.job_id = ?2 AND l.target_id = ?3
  AND substr(l.columns_order, 2) <> coalesce(j.declared_io, x'')
  AND l.columns_order <> coalesce(j.declared_lineage, x'')
"""
_START = "SELECT started_at FROM ol_run WHERE org_id = ?1 AND run_id = ?2"
_HEAD = "SELECT run_id, run_start, shown FROM column_head WHERE org_id = ?1 AND job_id = ?2 AND target_id = ?3"
_SAID = """
SELECT explicit, columns_set FROM run_lineage
WHERE org_id = ?1 AND run_id = ?2 AND job_id = ?3 AND target_id = ?4
"""
_EXPLICIT = """
SELECT s.members FROM run_explicit e JOIN lineage_set s ON s.org_id = e.org_id AND s.set_id = e.set_id
WHERE e.org_id = ?1 AND e.run_id = ?2 AND e.job_id = ?3 AND e.target_id = ?4
"""
_MEMBERS = "SELECT members FROM lineage_set WHERE org_id = ?1 AND set_id = ?2"
_WRITE_HEAD = """
INSERT INTO column_head (org_id, job_id, target_id, run_id, run_start, shown) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (org_id, job_id, target_id) DO UPDATE
SET run_id = excluded.run_id, run_start = excluded.run_start, shown = excluded.shown
"""
_LINES = """
SELECT source_id, lineage_id, is_active FROM column_lineage WHERE org_id = ?1 AND target_id = ?2 AND job_id = ?3
"""
_ACTIVATE = """
UPDATE column_lineage SET is_active = ?5 WHERE org_id = ?1 AND target_id = ?2 AND source_id = ?3 AND lineage_id = ?4
"""


class _Head(NamedTuple):
    """The newest run that speaks of a target, and the hash of what it shows."""

    run: bytes
    start: int
    shown: bytes


class Heads:
    """Keeps `column_head`, and with it `column_lineage.is_active`, what the runs say."""

    def __init__(self, connection: sqlite3.Connection, org: str) -> None:
        self._db = connection
        self._org = org

    def settle(self, changes: Reducer) -> None:
        """Find the newest run again for every job and target that the changes touch."""
        touched: dict[tuple[bytes, bytes], set[bytes]] = {}
        for row in changes.rows(RunLineage):
            touched.setdefault((row.job_id, row.target_id), set()).add(row.run_id)
        recount = set()
        for run in changes.rows(Run):
            recount.update(self._db.execute(_MOVED, (self._org, run.run_id)).fetchall())
        for job in changes.rows(Job):
            if job.declared_io or job.declared_lineage:
                for (target,) in self._db.execute(_DECLARED, (self._org, job.job_id)).fetchall():
                    touched.setdefault((job.job_id, target), set()).add(NOBODY)
        asserted: dict[tuple[bytes, bytes], set[_Line]] = {}
        if touched:
            for line in changes.rows(ColumnLineage):
                asserted.setdefault((line.job_id, line.target_id), set()).add((line.source_id, line.lineage_id))
        for pair in sorted(touched.keys() | recount):
            self._settle_pair(pair, touched.get(pair, set()), pair in recount, asserted.get(pair, set()))

    def _settle_pair(self, pair: tuple[bytes, bytes], runs: set[bytes], recount: bool, asserted: set[_Line]) -> None:
        row = self._db.execute(_HEAD, (self._org, *pair)).fetchone()
        old = _Head(*row) if row else None
        if recount:
            run, start = self._db.execute(_NEWEST, (self._org, *pair)).fetchone()
        else:
            known = {old.run: old.start} if old else {}
            known.update((run, self._start(run)) for run in runs)
            run, start = max(known.items(), key=lambda item: (item[1], item[0]))
        members = self._members(run, pair)
        new = _Head(run, start, digest(members))
        if new != old:
            self._db.execute(_WRITE_HEAD, (self._org, *pair, *new))
        self._flip(pair, old is not None and old.shown != new.shown, set(_split(members)), asserted)

    def _start(self, run: bytes) -> int:
        if run == NOBODY:
            return _NEVER
        (start,) = self._db.execute(_START, (self._org, run)).fetchone()
        return int(start)

    def _members(self, run: bytes, pair: tuple[bytes, bytes]) -> bytes:
        if run == NOBODY and self._db.execute(_REPLACED, (self._org, *pair)).fetchone():
            return b""
        explicit, columns = self._db.execute(_SAID, (self._org, run, *pair)).fetchone()
        if explicit:
            sets = self._db.execute(_EXPLICIT, (self._org, run, *pair)).fetchall()
            return b"".join(sorted({part for (members,) in sets for part in _split(members)}))
        (members,) = self._db.execute(_MEMBERS, (self._org, columns)).fetchone()
        return bytes(members)

    def _flip(self, pair: tuple[bytes, bytes], moved: bool, shown: set[bytes], asserted: set[_Line]) -> None:
        """Make the lines that the newest run shows the active ones; every line is born active."""
        job, target = pair
        lines = dict.fromkeys(asserted, True)
        if moved:
            rows = self._db.execute(_LINES, (self._org, target, job)).fetchall()
            lines.update(((source, line), bool(active)) for source, line, active in rows)
        wrong = [line for line, active in sorted(lines.items()) if active != (line[1] in shown)]
        self._db.executemany(_ACTIVATE, [(self._org, target, *line, line[1] in shown) for line in wrong])


def _split(members: bytes) -> list[bytes]:
    return [members[i : i + _ID_BYTES] for i in range(0, len(members), _ID_BYTES)]
