"""How far a target is: what waits, what is settled and how, what a person must look at."""

from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.graph import Graph
from bridge.store.sync_tables import TROUBLED_SQL
from bridge.sync.item import REMOVAL, TROUBLED, Outcome
from bridge.sync.target import TargetSettings

_TARGET = "SELECT enabled_at, trouble, trouble_at, compared_at FROM sync_target WHERE org_id = ?1 AND target = ?2"
_TROUBLE = "UPDATE sync_target SET trouble = ?3, trouble_at = ?4 WHERE org_id = ?1 AND target = ?2"
_TROUBLED = f"""
SELECT count(*) FROM sync_item WHERE org_id = ?1 AND target = ?2 AND {TROUBLED_SQL}
"""
_TOOK = """
SELECT settled_at - since FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND outcome = 'pushed' AND settled >= marked
ORDER BY settled_at DESC LIMIT ?3
"""
_NEWEST = 1_000
_SETTINGS = "SELECT url, rules FROM sync_target WHERE org_id = ?1 AND target = ?2 AND url IS NOT NULL"
_SET = "UPDATE sync_target SET url = ?3, rules = ?4 WHERE org_id = ?1 AND target = ?2"
_MARKS = "SELECT count(*), min(marked_at) FROM dirty_mark WHERE org_id = ?1 AND target = ?2"
_COUNTS = """
SELECT kind, outcome, count(*) FROM sync_item WHERE org_id = ?1 AND target = ?2 AND settled >= marked
GROUP BY kind, outcome ORDER BY kind, outcome
"""
_REASONS = f"""
SELECT kind, key, remote_name, reason FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND reason IS NOT NULL
  AND ({TROUBLED_SQL} OR outcome IN ('{Outcome.DROPPED}', '{Outcome.WAITING}') OR settled < marked AND attempts > 0)
ORDER BY kind, key LIMIT ?3
"""
_RUNS = "SELECT run_id, job_id FROM ol_run WHERE org_id = ?1 AND run_id {among}"
_WAITING = """
SELECT count(*), min(since), min(due_at), coalesce(sum(CASE WHEN attempts > 0 THEN 1 ELSE 0 END), 0) FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND settled < marked
"""


class Progress(msgspec.Struct, frozen=True):
    """How much is left to do, as far as it is quickly told. Times are microseconds."""

    waiting: int
    oldest_at: int | None
    #: What a person must look at.
    troubled: int


class SyncStatus(msgspec.Struct, frozen=True):
    """How far a target is. Times are microseconds."""

    target: str
    enabled_at: int | None
    #: Why the target is left alone, if it is.
    trouble: str | None
    trouble_at: int | None
    #: When the last comparison of everything began; None when there was none, or it is to begin anew.
    compared_at: int | None
    #: Changes that nobody has looked at yet.
    marks: int
    pending: int
    #: Those of the pending that failed before.
    failing: int
    oldest_pending_at: int | None
    next_due_at: int | None
    #: What became of items when they were last looked at, by kind.
    outcomes: dict[str, dict[str, int]]

    @property
    def troubled(self) -> int:
        """Count what a person must look at."""
        return sum(of.get(outcome, 0) for of in self.outcomes.values() for outcome in TROUBLED)

    @property
    def left(self) -> int:
        """Count what is to be pushed, or cannot be."""
        return self.marks + self.pending + self.troubled

    @property
    def converged(self) -> bool:
        """Tell whether the target is what the store says."""
        return self.enabled_at is not None and not self.left


def read_status(db: Database, org: str, target: str) -> SyncStatus:
    """Read how far a target is."""
    known = db.rows(_TARGET, org, target)
    enabled_at, trouble, trouble_at, compared_at = known[0] if known else (None, None, None, None)
    ((marks, oldest_mark),) = db.rows(_MARKS, org, target)
    ((pending, since, due_at, failing),) = db.rows(_WAITING, org, target)
    outcomes: dict[str, dict[str, int]] = {}
    for kind, outcome, count in db.rows(_COUNTS, org, target):
        if kind != REMOVAL or outcome in TROUBLED:
            outcomes.setdefault(kind, {})[outcome] = count
    oldest = min(filter(None, (oldest_mark, since)), default=None)
    return SyncStatus(
        target, enabled_at, trouble, trouble_at, compared_at, marks, pending, int(failing), oldest, due_at, outcomes
    )  # fmt: skip


class NotThere(NamedTuple):
    """Something that a target has not as it shall be, and why."""

    kind: str
    name: str
    why: str


def read_reasons(db: Database, org: str, target: str, most: int) -> list[NotThere]:
    """Say what was refused, has no place, was given up, or waits for something else, and why."""
    rows = db.rows(_REASONS, org, target, most)
    graph, keys = Graph(db, org), {bytes(row[1]) for row in rows}
    jobs = {bytes(run): bytes(job) for run, job in db.among(_RUNS, sorted(keys), org)} if keys else {}
    names = {**graph.datasets(keys), **graph.jobs({*keys, *jobs.values()})}
    found = []
    for kind, key, name, why in rows:
        named = names.get(bytes(key)) or names.get(jobs.get(bytes(key), b""))
        found.append(NotThere(kind, " ".join(named) if named else name or bytes(key).hex(), why))
    return found


def read_progress(db: Database, org: str, target: str) -> Progress:
    """Read how much is left to do."""
    ((marks, oldest_mark),) = db.rows(_MARKS, org, target)
    ((pending, since, *_),) = db.rows(_WAITING, org, target)
    ((troubled,),) = db.rows(_TROUBLED, org, target)
    return Progress(marks + pending, min(filter(None, (oldest_mark, since)), default=None), troubled)


def read_latency(db: Database, org: str, target: str) -> tuple[float | None, float | None]:
    """Read how many seconds the newest changes took to reach a target: half of them, and all but one in a hundred."""
    took = sorted(int(one) for (one,) in db.rows(_TOOK, org, target, _NEWEST))
    half, most = (took[len(took) * percent // 100] / 1_000_000 if took else None for percent in (50, 99))
    return half, most


def read_settings(db: Database, org: str, target: str) -> TargetSettings | None:
    """Read by which settings a target was kept last, if it ever was."""
    rows = db.rows(_SETTINGS, org, target)
    return TargetSettings(*rows[0]) if rows else None


def write_settings(db: Database, org: str, target: str, settings: TargetSettings) -> None:
    """Write down by which settings a target is kept."""
    with db.transaction():
        db.run(_SET, org, target, *settings)


def write_trouble(db: Database, org: str, target: str, trouble: str | None, now: int) -> None:
    """Write down why a target is left alone, or that it is no more."""
    bound: tuple[Any, ...] = (trouble, now) if trouble else (None, None)
    with db.transaction():
        db.run(_TROUBLE, org, target, *bound)
