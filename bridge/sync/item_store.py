"""Persists sync items: mark, claim, complete, postpone and invalidate."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bridge.store.database import Database, Insert
from bridge.store.tables.sync import NEEDS_ATTENTION_SQL
from bridge.sync.lease import LEASE_SECONDS, WorkerLease
from bridge.sync.sync_item import (
    DELETION,
    EXCLUDED,
    UNRESOLVED_RETRY_US,
    ItemRecord,
    ItemResult,
    Outcome,
    Postponed,
    Released,
    RemoteReference,
    SyncItem,
    encode_record,
)
from bridge.sync.target import ExpectedCount
from mappers.canonical.identity import digest

#: The fingerprint of an invalidated item is hidden, because its last push is not trusted.
_COLUMNS = (
    "kind, key, marked, since, attempts, refusals, outcome, reason, settled_at,"
    " CASE WHEN doubted > settled THEN NULL ELSE fingerprint END AS fingerprint,"
    " remote_type, remote_id, remote_name, ours, detail_json, claim"
)


def _mark_statement(due_at: str) -> Insert:
    """Build the statement that marks items. `due_at` is the SQL of the due time; pending items keep theirs."""
    return Insert(
        "sync_item",
        {"org_id": str, "target": str, "kind": str, "key": bytes, "marked": int, "since": int, "due_at": int},
        "ON CONFLICT (org_id, target, kind, key) DO UPDATE SET marked = sync_item.marked + 1,"
        f" since = CASE WHEN sync_item.settled < sync_item.marked THEN sync_item.since ELSE {due_at} END,"
        f" due_at = CASE WHEN sync_item.settled < sync_item.marked THEN sync_item.due_at ELSE {due_at} END",
    )


_MARK = _mark_statement("excluded.due_at")


def _mark_statement_with_interval(seconds: int) -> Insert:
    """Build the statement that marks items, but leaves an interval between two pushes of an item."""
    next_push = f"sync_item.settled_at + {seconds * 1_000_000}"
    is_too_early = (  # the last push is in the future if the clock was set back
        f"sync_item.outcome IN ('{Outcome.PUSHED}', '{Outcome.UNCHANGED}') AND {next_push} > excluded.due_at"
        " AND sync_item.settled_at <= excluded.due_at"
    )
    return _mark_statement(f"CASE WHEN {is_too_early} THEN {next_push} ELSE excluded.due_at END")


_MARK_REMOTE = Insert(
    "sync_item",
    {
        "org_id": str, "target": str, "kind": str, "key": bytes, "marked": int, "since": int, "due_at": int,
        "remote_type": str, "remote_id": str, "remote_name": str, "ours": bool,
    },
    "ON CONFLICT (org_id, target, kind, key) DO UPDATE SET marked = sync_item.marked + 1,"
    " since = excluded.since, due_at = excluded.due_at, remote_type = excluded.remote_type,"
    " remote_id = excluded.remote_id, remote_name = excluded.remote_name",
)  # fmt: skip
#: A lease that ends later was granted before the clock was set back.
_MAX_LEASE = 2 * int(LEASE_SECONDS * 1_000_000)
#: Due, and not claimed by another live worker; a worker may claim its own items again.
_FREE = f"""settled < marked AND due_at <= ?4 AND (claim IS NULL OR NOT EXISTS (
  SELECT 1 FROM sync_worker w WHERE w.org_id = ?1 AND w.target = ?2 AND w.worker_id = sync_item.claim
    AND w.worker_id <> ?6 AND w.until >= ?4 AND w.until <= ?4 + {_MAX_LEASE}))"""
_DUE = """
SELECT 1 FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND settled < marked AND due_at <= ?4 LIMIT 1
"""
_CLAIM = f"""
UPDATE sync_item SET claim = ?6
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND {_FREE} AND key IN (
  SELECT key FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND {_FREE}
  ORDER BY due_at, key LIMIT ?5)
RETURNING {_COLUMNS}
"""
#: Claims and invalidates the given keys, whether they are due or not.
_CLAIM_KEYS = f"""
UPDATE sync_item SET claim = ?5, marked = marked + 1, doubted = marked + 1, attempts = 0, refusals = 0
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key {{ids}} AND (claim IS NULL OR NOT EXISTS (
  SELECT 1 FROM sync_worker w WHERE w.org_id = ?1 AND w.target = ?2 AND w.worker_id = sync_item.claim
    AND w.worker_id <> ?5 AND w.until >= ?4))
RETURNING {_COLUMNS}
"""
_BY_KEYS = f"SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key {{ids}}"
_BY_REMOTE_ID = f"SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND remote_id = ?3"
_HAS_STATUSES = """
SELECT 1 FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND kind = 'run' AND remote_id > ?3 AND remote_id < ?4 LIMIT 1
"""
_BY_OUTCOME = f"""
SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND outcome = ?3 ORDER BY settled_at, kind, key
"""
_BY_KEY_RANGE = "SELECT key FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key >= ?4 AND key < ?5"
_PUSHED = """
SELECT remote_type, remote_id, remote_name, key FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND settled >= marked AND remote_id IS NOT NULL
ORDER BY remote_type, remote_name
"""
#: `|| ''` rules out the other indexes, so that the index on (remote_id, key) supplies the order.
_PUSHED_BY_ENTITY = f"""
SELECT {_COLUMNS} FROM sync_item
WHERE org_id = ?1 AND target || '' = ?2 AND kind || '' = ?3
  AND remote_id >= ?4 AND (remote_id > ?4 OR key > ?5) AND settled >= marked
  AND outcome IN ('{Outcome.PUSHED}', '{Outcome.UNCHANGED}')
ORDER BY remote_id, key LIMIT ?6
"""
_WITH_RECORD = f"""
SELECT {_COLUMNS} FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key > ?4 AND settled >= marked AND detail_json IS NOT NULL
  AND outcome NOT IN ('{Outcome.DEAD}', '{Outcome.DROPPED}', '{Outcome.OFF}')
ORDER BY key LIMIT ?5
"""
_REMOTE_NAMES = """
SELECT remote_name, key FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND remote_id IS NOT NULL
"""
_IS_EXPECTED = f"coalesce(outcome, '') NOT IN {tuple(map(str, EXCLUDED))}"
#: Pending items and items without an entity count as outdated.
_EXPECTED = f"""
SELECT kind, count(*), coalesce(sum(CASE WHEN settled < marked OR remote_id IS NULL THEN 1 ELSE 0 END), 0)
FROM sync_item WHERE org_id = ?1 AND target = ?2 AND {_IS_EXPECTED} AND kind <> '{DELETION}'
GROUP BY kind ORDER BY kind
"""
_NEXT = f"""
SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key > ?4 ORDER BY key LIMIT ?5
"""
_COMPLETED_SINCE = f"""
SELECT {_COLUMNS} FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND settled >= marked AND settled_at >= ?4 ORDER BY settled_at, key
"""
_PENDING = f"""
SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND settled < marked
ORDER BY due_at, key
"""
#: Results are stored only while the worker holds the claim.
_IS_CLAIMED = "org_id = ?1 AND target = ?2 AND kind = ?3 AND key = ?4 AND claim = ?5"
_COMPLETE = f"""
UPDATE sync_item SET settled = ?6, outcome = ?7, reason = ?8, settled_at = ?9, fingerprint = ?10, remote_type = ?11,
  remote_id = ?12, remote_name = ?13, ours = ?14, detail_json = ?15, attempts = 0, refusals = 0, claim = NULL
WHERE {_IS_CLAIMED} RETURNING key
"""
_POSTPONE = f"""
UPDATE sync_item SET reason = ?6, due_at = ?7, attempts = attempts + 1, refusals = refusals + ?8, claim = NULL
WHERE {_IS_CLAIMED} RETURNING key
"""
#: Clears the fingerprint, because the content in the target is unknown until the push completes.
_RECORD_INTENT = f"UPDATE sync_item SET fingerprint = NULL, detail_json = ?6 WHERE {_IS_CLAIMED}"
_INVALIDATE = """
UPDATE sync_item SET marked = marked + 1, doubted = marked + 1, due_at = ?5,
  attempts = CASE WHEN ?6 = 1 THEN 0 ELSE attempts END, refusals = CASE WHEN ?6 = 1 THEN 0 ELSE refusals END,
  since = CASE WHEN settled < marked THEN since ELSE ?5 END
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key = ?4
"""
_INVALIDATE_ALL = """
UPDATE sync_item SET marked = marked + 1, doubted = marked + 1, due_at = ?3, since = ?3, attempts = 0, refusals = 0
WHERE org_id = ?1 AND target = ?2 AND remote_id IS NOT NULL
"""
_REQUEUE_UNRESOLVED = f"""
UPDATE sync_item SET marked = marked + 1, since = ?3, due_at = ?3
WHERE org_id = ?1 AND target = ?2 AND {NEEDS_ATTENTION_SQL} AND outcome = '{Outcome.UNRESOLVED}'
  AND settled >= marked AND (settled_at <= ?4 OR settled_at > ?3)
"""
#: Items that failed keep the time of their next attempt.
_MAKE_DUE = """
UPDATE sync_item SET due_at = ?4
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND settled < marked AND due_at > ?4 AND attempts = 0
"""
_MAKE_DISTANT_DUE = """
UPDATE sync_item SET due_at = ?4
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND settled < marked AND due_at > ?5
"""
_RELEASE = f"UPDATE sync_item SET claim = NULL WHERE {_IS_CLAIMED} RETURNING key"
_DROP = f"""
UPDATE sync_item SET outcome = '{Outcome.DROPPED}' WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key = ?4
  AND outcome = '{Outcome.DEAD}'
"""
_MAX_REASON_CHARACTERS = 2_000
#: Sorts after every id.
_AFTER_ALL_IDS = b"\xff" * 17
#: Items per transaction; short transactions keep event intake from waiting.
WRITE_BATCH = 200


class SyncItemStore:
    """The items of one target. Not thread-safe."""

    def __init__(self, db: Database, org: str, target: str, clock: Callable[[], int]) -> None:
        self._db = db
        self._org = org
        self._target = target
        self._clock = clock
        #: Seconds between two pushes of the same item, by kind.
        self.min_intervals: Mapping[str, int] = {}
        self.worker = WorkerLease(db, org, target, clock)

    def mark(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Mark items as changed, and create missing items. Must be called inside a transaction."""
        now = self._clock()
        rows_by_statement: dict[int, list[tuple[Any, ...]]] = {}
        for kind, key in sorted(set(items)):
            row = (self._org, self._target, kind, key, 1, now, now)
            rows_by_statement.setdefault(self.min_intervals.get(kind, 0), []).append(row)
        for seconds, rows in rows_by_statement.items():
            self._db.insert(_mark_statement_with_interval(seconds) if seconds else _MARK, rows)

    def mark_deletions(self, remotes: Iterable[RemoteReference]) -> None:
        """Add one deletion item per entity. Must be called inside a transaction."""
        now = self._clock()
        self._db.insert(
            _MARK_REMOTE,
            [
                (self._org, self._target, DELETION, _deletion_key(remote.id), 1, now, now, *remote, True)
                for remote in sorted(set(remotes))
            ],
        )

    def claim_due(self, kind: str, limit: int) -> list[SyncItem]:
        """Claim due items, longest pending first; other workers cannot claim these while this worker is alive."""
        if not self._db.fetch_all(_DUE, self._org, self._target, kind, self._clock()):
            return []
        with self._db.transaction():
            self.worker.renew()
        with self._db.transaction():  # a separate transaction: the lease must be visible before the claim
            rows = self._db.fetch_all(_CLAIM, self._org, self._target, kind, self._clock(), limit, self.worker.id)
        return sorted(map(_decode_item, rows), key=lambda item: (item.pending_since, item.key))

    def claim(self, kind: str, keys: Collection[bytes]) -> list[SyncItem]:
        """Claim and invalidate items by key, except those that another live worker holds."""
        with self._db.transaction():
            self.worker.renew()
        parameters = (self._org, self._target, kind, self._clock(), self.worker.id)
        with self._db.transaction():
            rows = self._db.fetch_for_ids(_CLAIM_KEYS, sorted(set(keys)), *parameters)
        return sorted(map(_decode_item, rows), key=lambda item: (item.pending_since, item.key))

    def get(self, kind: str, keys: Collection[bytes]) -> dict[bytes, SyncItem]:
        """Return existing items by key."""
        rows = self._db.fetch_for_ids(_BY_KEYS, sorted(set(keys)), self._org, self._target, kind)
        return {item.key: item for item in map(_decode_item, rows)}

    def find_by_remote_id(self, remote_id: str) -> list[SyncItem]:
        """Return items with this remote entity."""
        return [_decode_item(row) for row in self._db.fetch_all(_BY_REMOTE_ID, self._org, self._target, remote_id)]

    def find_deletion(self, remote_id: str) -> SyncItem | None:
        """Return the deletion item of an entity, pending or completed."""
        return next(iter(self.get(DELETION, [_deletion_key(remote_id)]).values()), None)

    def has_run_statuses(self, remote_id: str) -> bool:
        """True if a pipeline has run statuses, whose remote ids start with the pipeline id."""
        return bool(self._db.fetch_all(_HAS_STATUSES, self._org, self._target, f"{remote_id}/", f"{remote_id}0"))

    def list_by_outcome(self, outcome: Outcome) -> list[SyncItem]:
        """Return items with the given outcome, oldest first."""
        return [_decode_item(row) for row in self._db.fetch_all(_BY_OUTCOME, self._org, self._target, outcome)]

    def find_by_key_prefix(self, kind: str, ids: Collection[bytes]) -> set[bytes]:
        """Return keys of items whose composite key begins with one of these ids."""
        keys: set[bytes] = set()
        for id_ in ids:
            rows = self._db.fetch_all(_BY_KEY_RANGE, self._org, self._target, kind, id_, id_ + _AFTER_ALL_IDS)
            keys.update(bytes(key) for (key,) in rows)
        return keys

    def list_pushed(self, kind: str) -> list[tuple[RemoteReference, bytes]]:
        """Return pushed items that are not pending, ordered by remote type and name."""
        rows = self._db.fetch_all(_PUSHED, self._org, self._target, kind)
        return [(RemoteReference(*remote), bytes(key)) for *remote, key in rows]

    def remote_names(self, kind: str) -> Iterator[tuple[str, bytes]]:
        """Yield the last known remote name and the key of every item, pending or not."""
        rows = self._db.stream(_REMOTE_NAMES, self._org, self._target, kind)
        return ((name, bytes(key)) for name, key in rows)

    def count_expected(self) -> list[ExpectedCount]:
        """Count the expected items of each kind; items that are pending or have no entity count as outdated."""
        return [
            ExpectedCount(kind, int(expected), int(outdated))
            for kind, expected, outdated in self._db.fetch_all(_EXPECTED, self._org, self._target)
        ]

    def batches(self, kind: str, limit: int) -> Iterator[list[SyncItem]]:
        """Yield all items of a kind, in batches of `limit`."""
        after = b""
        while rows := self._db.fetch_all(_NEXT, self._org, self._target, kind, after, limit):
            items = [_decode_item(row) for row in rows]
            yield items
            after = items[-1].key

    def batches_by_entity(self, kind: str, limit: int) -> Iterator[list[SyncItem]]:
        """Yield pushed items in batches of `limit`, ordered by the id of their remote entity."""
        remote_id, key = "", b""
        while rows := self._db.fetch_all(_PUSHED_BY_ENTITY, self._org, self._target, kind, remote_id, key, limit):
            items = [_decode_item(row) for row in rows]
            yield items
            last = items[-1]
            remote_id, key = last.remote.id if last.remote else "", last.key

    def batches_with_record(self, kind: str, limit: int) -> Iterator[list[SyncItem]]:
        """Yield completed items that have a record, in batches of `limit`."""
        after = b""
        while rows := self._db.fetch_all(_WITH_RECORD, self._org, self._target, kind, after, limit):
            items = [_decode_item(row) for row in rows]
            yield items
            after = items[-1].key

    def completed_since(self, kind: str, at: int) -> list[SyncItem]:
        """Return items that completed at or after `at` and are not pending, oldest first."""
        return [_decode_item(row) for row in self._db.fetch_all(_COMPLETED_SINCE, self._org, self._target, kind, at)]

    def pending(self, kind: str) -> list[SyncItem]:
        return [_decode_item(row) for row in self._db.fetch_all(_PENDING, self._org, self._target, kind)]

    def record_results(self, results: Sequence[ItemResult]) -> set[bytes]:
        """Store results and return the keys of items that other workers have taken over.

        Items that were taken over are invalidated, because this worker may have changed the target meanwhile. Must be
        called inside a transaction.
        """
        taken_over = [result.item for result in results if not self._store_result(result)]
        self.invalidate((item.kind, item.key) for item in taken_over)
        return {item.key for item in taken_over}

    def drop(self, keys: Iterable[tuple[str, bytes]]) -> None:
        """Drop dead items. Must be called inside a transaction."""
        self._db.execute_many(_DROP, [(self._org, self._target, kind, key) for kind, key in sorted(set(keys))])

    def record_intent(self, items: Iterable[tuple[SyncItem, ItemRecord]]) -> None:
        """Record intended changes before the target is called, so that they are known after a crash."""
        rows = [(*self._claim_parameters(item), encode_record(record)) for item, record in items]
        for i in range(0, len(rows), WRITE_BATCH):
            with self._db.transaction():
                self._db.execute_many(_RECORD_INTENT, rows[i : i + WRITE_BATCH])

    def invalidate(self, keys: Iterable[tuple[str, bytes]], *, reset_failures: bool = False) -> None:
        """Make items due again in the given order, because the target may have changed.

        `reset_failures` also clears the failure counts of the items. Must be called inside a transaction.
        """
        distinct_keys = list(dict.fromkeys(keys))
        first_due_at = self._clock() - len(distinct_keys)  # items are claimed in the order of their due times
        rows = [
            (self._org, self._target, kind, key, first_due_at + position, int(reset_failures))
            for position, (kind, key) in enumerate(distinct_keys)
        ]
        self._db.execute_many(_INVALIDATE, sorted(rows))  # by key, so that workers lock rows in the same order

    def invalidate_all(self) -> None:
        """Invalidate all items that have a remote entity. Must be called inside a transaction."""
        self._db.execute(_INVALIDATE_ALL, self._org, self._target, self._clock())

    def requeue_unresolved(self) -> None:
        """Mark items that have been unresolved for a while, because their location may be known by now."""
        now = self._clock()
        with self._db.transaction():
            self._db.execute(_REQUEUE_UNRESOLVED, self._org, self._target, now, now - UNRESOLVED_RETRY_US)

    def ignore_intervals(self) -> None:
        """Push items at once, even if they were just pushed; also those that wait for the end of an interval."""
        kinds, self.min_intervals = list(self.min_intervals), {}
        now = self._clock()
        with self._db.transaction():
            self._db.execute_many(_MAKE_DUE, [(self._org, self._target, kind, now) for kind in kinds])

    def adjust_to_clock(self, kinds: Iterable[str], max_delay_seconds: float) -> None:
        """Make items due that are due later than any delay explains, because the clock was set back."""
        now = self._clock()
        with self._db.transaction():
            for kind in kinds:
                delay = max(max_delay_seconds, self.min_intervals.get(kind, 0) if max_delay_seconds else 0)
                latest = now + int(delay * 1_000_000)
                self._db.execute(_MAKE_DISTANT_DUE, self._org, self._target, kind, now, latest)

    def _claim_parameters(self, item: SyncItem) -> tuple[str, str, str, bytes, bytes | None]:
        return (self._org, self._target, item.kind, item.key, item.claimed_by)

    def _store_result(self, result: ItemResult) -> bool:
        """Store a result unless another worker has taken over the item; return True if the result was stored."""
        claim = self._claim_parameters(result.item)
        if isinstance(result, Released):
            return bool(self._db.fetch_all(_RELEASE, *claim))
        reason = result.reason[:_MAX_REASON_CHARACTERS] if result.reason else None
        if isinstance(result, Postponed):
            return bool(self._db.fetch_all(_POSTPONE, *claim, reason, result.due_at, int(result.counts_as_failure)))
        remote = result.remote or (None, None, None)
        completion = (result.item.generation, result.outcome, reason, self._clock(), result.fingerprint)
        entity = (*remote, result.created_by_us, encode_record(result.record))
        return bool(self._db.fetch_all(_COMPLETE, *claim, *completion, *entity))


def _deletion_key(remote_id: str) -> bytes:
    return digest(remote_id.encode())


def _decode_item(row: tuple[Any, ...]) -> SyncItem:
    *leading, remote_type, remote_id, remote_name, created_by_us, record, claim = row
    remote = RemoteReference(remote_type, remote_id, remote_name) if remote_id is not None else None
    return SyncItem._make((*leading, remote, bool(created_by_us), record, claim))
