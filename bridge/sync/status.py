"""Sync status of a target: pending, failing and failed items, latency and pauses."""

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.identity_groups import group_ids
from bridge.store.lineage.graph import LineageGraph, QualifiedName
from bridge.store.tables.sync import NEEDS_ATTENTION_SQL
from bridge.sync.sync_item import DELETION, NEEDS_ATTENTION, Outcome
from bridge.sync.target import TargetIdentity
from mappers.redaction import redact_path

#: `compared_at` of the target is when the last comparison started; only a completed one has a report.
_TARGET = """
SELECT t.enabled_at, t.trouble, t.trouble_at,
  (SELECT max(c.ended_at) FROM sync_comparison c WHERE c.org_id = t.org_id AND c.target = t.target)
FROM sync_target t WHERE t.org_id = ?1 AND t.target = ?2
"""
_SET_PAUSE = "UPDATE sync_target SET trouble = ?3, trouble_at = ?4 WHERE org_id = ?1 AND target = ?2"
_COUNT_NEEDS_ATTENTION = f"""
SELECT count(*) FROM sync_item WHERE org_id = ?1 AND target = ?2 AND {NEEDS_ATTENTION_SQL}
"""
_LATENCIES = """
SELECT settled_at - since FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND outcome = 'pushed' AND settled >= marked
ORDER BY settled_at DESC LIMIT ?3
"""
_MAX_LATENCIES = 1_000
#: The key of a profile is a dataset id followed by a run id.
_ID_BYTES = 16
_IDENTITY = "SELECT url, rules FROM sync_target WHERE org_id = ?1 AND target = ?2 AND url IS NOT NULL"
_SET_IDENTITY = "UPDATE sync_target SET url = ?3, rules = ?4 WHERE org_id = ?1 AND target = ?2"
_MARKS = "SELECT count(*), min(marked_at) FROM dirty_mark WHERE org_id = ?1 AND target = ?2"
_COUNTS = """
SELECT kind, outcome, count(*) FROM sync_item WHERE org_id = ?1 AND target = ?2 AND settled >= marked
GROUP BY kind, outcome ORDER BY kind, outcome
"""
_UNSYNCED = f"""
SELECT kind, key, remote_name, reason FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND reason IS NOT NULL
  AND ({NEEDS_ATTENTION_SQL} OR outcome IN ('{Outcome.DROPPED}', '{Outcome.WAITING}')
    OR settled < marked AND attempts > 0)
ORDER BY kind, key LIMIT ?3
"""
#: Dataset or job of an item whose key is not itself that of a dataset or job.
_SUBJECTS = {
    "run": "SELECT run_id, job_id FROM ol_run WHERE org_id = ?1 AND run_id {ids}",
    "check": """
SELECT q.qdef_id, coalesce(d.class_id, q.job_id) FROM quality_check_def q
LEFT JOIN ol_dataset d ON d.org_id = q.org_id AND d.dataset_id = q.dataset_id
WHERE q.org_id = ?1 AND q.qdef_id {ids}
""",
    "result": """
SELECT r.qres_id, coalesce(d.class_id, q.job_id) FROM quality_check_result r
JOIN quality_check_def q ON q.org_id = r.org_id AND q.qdef_id = r.qdef_id
LEFT JOIN ol_dataset d ON d.org_id = q.org_id AND d.dataset_id = q.dataset_id
WHERE r.org_id = ?1 AND r.qres_id {ids}
""",
}
_PENDING = """
SELECT count(*), min(since), min(due_at), coalesce(sum(CASE WHEN attempts > 0 THEN 1 ELSE 0 END), 0) FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND settled < marked
"""


class SyncProgress(msgspec.Struct, frozen=True):
    """Amount of pending work, cheap to read. Times are microseconds."""

    waiting: int
    oldest_at: int | None
    #: Dead letters and unresolved items.
    troubled: int


class SyncStatus(msgspec.Struct, frozen=True):
    """Sync status of a target. Times are microseconds."""

    target: str
    enabled_at: int | None
    #: Why the circuit is open, if it is.
    trouble: str | None
    trouble_at: int | None
    #: Start of the last comparison; None if there was none or it has to restart.
    compared_at: int | None
    #: Dirty marks that are not consumed yet.
    marks: int
    pending: int
    #: Pending items that failed before.
    failing: int
    oldest_pending_at: int | None
    next_due_at: int | None
    #: Number of completed items by kind and outcome.
    outcomes: dict[str, dict[str, int]]

    @property
    def troubled(self) -> int:
        """Number of dead letters and unresolved items."""
        return sum(counts.get(outcome, 0) for counts in self.outcomes.values() for outcome in NEEDS_ATTENTION)

    @property
    def remaining(self) -> int:
        """Number of items that are pending, and of items that cannot be pushed."""
        return self.marks + self.pending + self.troubled

    @property
    def converged(self) -> bool:
        """Whether the target is in sync with the store."""
        return self.enabled_at is not None and not self.remaining


def read_status(db: Database, org: str, target: str) -> SyncStatus:
    rows = db.fetch_all(_TARGET, org, target)
    enabled_at, trouble, trouble_at, compared_at = rows[0] if rows else (None, None, None, None)
    ((marks, oldest_mark),) = db.fetch_all(_MARKS, org, target)
    ((pending, oldest_pending, due_at, failing),) = db.fetch_all(_PENDING, org, target)
    outcomes: dict[str, dict[str, int]] = {}
    for kind, outcome, count in db.fetch_all(_COUNTS, org, target):
        if kind != DELETION or outcome in NEEDS_ATTENTION:
            outcomes.setdefault(kind, {})[outcome] = count
    oldest = min(filter(None, (oldest_mark, oldest_pending)), default=None)
    return SyncStatus(
        target, enabled_at, trouble, trouble_at, compared_at, marks, pending, int(failing), oldest, due_at, outcomes
    )  # fmt: skip


class ItemSubject(NamedTuple):
    """The dataset or job that an item belongs to."""

    key: bytes
    name: QualifiedName


def read_subjects(
    db: Database, org: str, items: Collection[tuple[str, bytes]]
) -> dict[tuple[str, bytes], ItemSubject]:
    """Return the dataset or job of each item; items without one are left out."""
    # unless replaced below, the key of an item is the key of its dataset or job
    subject_keys = {(kind, key): key for kind, key in items if kind != DELETION}
    for kind, sql in _SUBJECTS.items():
        keys = sorted(key for item_kind, key in items if item_kind == kind)
        rows = db.fetch_for_ids(sql, keys, org) if keys else []
        subject_keys |= {(kind, bytes(key)): bytes(subject) for key, subject in rows if subject}
    profiled = {key: key[:_ID_BYTES] for kind, key in items if kind == "profile"}
    groups = group_ids(db, org, set(profiled.values())) if profiled else {}
    subject_keys |= {("profile", key): groups[dataset] for key, dataset in profiled.items() if dataset in groups}
    graph, subjects = LineageGraph(db, org), set(subject_keys.values())
    names = {**graph.dataset_names(subjects), **graph.job_names(subjects)}
    return {item: ItemSubject(key, names[key]) for item, key in subject_keys.items() if key in names}


class UnsyncedItem(NamedTuple):
    """An item that is not in sync, and the reason."""

    kind: str
    name: str
    why: str


def read_unsynced_items(db: Database, org: str, target: str, limit: int) -> list[UnsyncedItem]:
    """Return items that are dead, unresolved, dropped, failing or waiting, with their reasons."""
    rows = [
        (kind, bytes(key), remote_name, reason)
        for kind, key, remote_name, reason in db.fetch_all(_UNSYNCED, org, target, limit)
    ]
    subjects = read_subjects(db, org, [(kind, key) for kind, key, *_ in rows])
    unsynced = []
    for kind, key, remote_name, reason in rows:
        subject = subjects.get((kind, key))
        name = " ".join(subject.name) if subject else remote_name or key.hex()
        unsynced.append(UnsyncedItem(kind, name, reason))
    return unsynced


def read_progress(db: Database, org: str, target: str) -> SyncProgress:
    ((marks, oldest_mark),) = db.fetch_all(_MARKS, org, target)
    ((pending, oldest_pending, *_),) = db.fetch_all(_PENDING, org, target)
    ((troubled,),) = db.fetch_all(_COUNT_NEEDS_ATTENTION, org, target)
    oldest = min(filter(None, (oldest_mark, oldest_pending)), default=None)
    return SyncProgress(marks + pending, oldest, troubled)


def read_latency(db: Database, org: str, target: str) -> tuple[float | None, float | None]:
    """Return the median and 99th-percentile latency of recent changes, in seconds."""
    latencies = sorted(int(latency) for (latency,) in db.fetch_all(_LATENCIES, org, target, _MAX_LATENCIES))
    if not latencies:
        return None, None
    median, p99 = latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]
    return median / 1_000_000, p99 / 1_000_000


def read_target_identity(db: Database, org: str, target: str) -> TargetIdentity | None:
    """Return the identity of the target at the last sync, if any."""
    for url, options_hash in db.fetch_all(_IDENTITY, org, target):
        # Older versions stored the path of a webhook.
        return TargetIdentity(redact_path(url) if target == "webhook" else url, options_hash)
    return None


def write_target_identity(db: Database, org: str, target: str, identity: TargetIdentity) -> None:
    with db.transaction():
        db.execute(_SET_IDENTITY, org, target, *identity)


def record_pause(db: Database, org: str, target: str, reason: str | None, now: int) -> None:
    """Record why the circuit is open; None if it is closed."""
    pause: tuple[Any, ...] = (reason, now) if reason else (None, None)
    with db.transaction():
        db.execute(_SET_PAUSE, org, target, *pause)
