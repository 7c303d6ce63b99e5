"""The one write path: log, merge and dirty marks of a group of events in one transaction."""

import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import zstandard

from bridge.store.checkpointer import Checkpointer
from bridge.store.classes import Classes, NeverLink
from bridge.store.heads import Heads
from bridge.store.liveness import settle_liveness
from bridge.store.sqlite import storage_failure, transient
from bridge.store.upsert import upsert_sql
from mappers.canonical.facts import (
    TABLES,
    ColumnLineage,
    Dataset,
    Job,
    LineageSet,
    Namespace,
    Run,
)
from mappers.canonical.identity import run_id
from mappers.canonical.merge import Reducer, Row, merger, plan_of
from mappers.memory import Memory
from mappers.openlineage.event import Event

_INSERT_EVENT = """
INSERT INTO run_event (org_id, event_hash, event_type, event_time, run_id, process_key, received_at, source,
  historical, receipts, notes_json, failure, payload)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)
ON CONFLICT (org_id, event_time, event_hash) DO UPDATE
SET receipts = receipts + 1, historical = historical AND excluded.historical, failure = excluded.failure
"""
_INSERT_REJECTED = """
INSERT INTO rejected_event (org_id, payload_hash, reason, path, source, first_at, last_at, receipts,
  payload_size, payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 1, ?7, ?8)
ON CONFLICT (org_id, payload_hash) DO UPDATE
SET receipts = receipts + 1, last_at = excluded.last_at, reason = excluded.reason, path = excluded.path,
    source = excluded.source, payload = excluded.payload
"""
_EVICT_REJECTED = """
UPDATE rejected_event SET payload = NULL
WHERE org_id = ?1 AND payload IS NOT NULL AND payload_hash NOT IN (
  SELECT payload_hash FROM rejected_event WHERE org_id = ?1 AND payload IS NOT NULL
  ORDER BY last_at DESC, payload_hash LIMIT ?2)
"""
_MARK = """
INSERT INTO dirty_mark (org_id, target, kind, key, marked_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (org_id, target, kind, key) DO UPDATE SET marked_at = excluded.marked_at
"""
_SET_POSITION = """
INSERT INTO ingest_position (org_id, path, fingerprint, position) VALUES (?, ?, ?, ?)
ON CONFLICT (org_id, path) DO UPDATE SET fingerprint = excluded.fingerprint, position = excluded.position
"""
_GET_POSITION = "SELECT fingerprint, position FROM ingest_position WHERE org_id = ? AND path = ?"
_FORGET_REJECTED = "DELETE FROM rejected_event WHERE org_id = ? AND payload_hash = ?"
#: Classes whose rows repeat unchanged in most events: what is stored is remembered.
_REMEMBERED = frozenset({Namespace, LineageSet, ColumnLineage})
_MARKED_KINDS: dict[type[Row], str] = {Dataset: "dataset", Job: "job", Run: "run"}
_MEMORY_ROWS = 50_000
#: What a driver raises about values it cannot store.
_REFUSALS = (
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    sqlite3.IntegrityError,
    sqlite3.DataError,
    OverflowError,
    UnicodeEncodeError,
)
#: A row that was sent to the store, by class and key.
_Learnt = tuple[type[Row], Row, Row]


class Incoming(NamedTuple):
    """An event on its way into the store: its bytes, what they say, and where they came from."""

    payload: bytes
    event: Event
    rows: Sequence[Row]
    notes: Sequence[str]
    received_at: int
    source: str
    historical: bool = False
    failure: str | None = None


class Rejected(NamedTuple):
    """Bytes that are no event, and why."""

    payload: bytes
    payload_hash: bytes
    reason: str
    path: str
    received_at: int
    source: str
    too_large: bool = False


class Position(NamedTuple):
    """How far a file was taken, and the hash of its beginning by which it is known again."""

    path: str
    fingerprint: bytes
    end: int


class Writer:
    """Writes groups of events, each group in one durable transaction. Not for several threads at once."""

    #: Commits are work of this process, not of a server it would wait for.
    embedded = True

    def __init__(
        self,
        connection: sqlite3.Connection,
        org: str = "default",
        *,
        targets: Iterable[str] = (),
        never_link: Iterable[NeverLink] = (),
        keep_rejected: int = 10_000,
        checkpointer: Checkpointer | None = None,
    ) -> None:
        self._db = connection
        self._checkpointer = checkpointer
        self._org = org
        self._targets = tuple(targets)
        self._keep_rejected = keep_rejected
        self._classes = Classes(connection, org, never_link)
        self._heads = Heads(connection, org)
        self._compressor = zstandard.ZstdCompressor(level=1)
        self._memory: dict[type[Row], Memory[Row, Row]] = {}
        try:
            self._apply_never_link(tuple(never_link))
        except sqlite3.OperationalError as error:
            raise (transient(error) or error) from error

    def write(self, group: Sequence[Incoming | Rejected], positions: Sequence[Position] = ()) -> None:
        """Commit a group, and the positions in the files it is from; on return it is on disk.

        Raises TransientError when nothing was written, StorageFailure when nobody knows.

        An event whose rows the store refuses is kept with the reason instead, and never fails its group.
        """
        try:
            try:
                self._write(group, positions)
            except _REFUSALS:
                self._write([self._storable(item) for item in group], positions)
        except sqlite3.OperationalError as error:
            raise (transient(error) or storage_failure(error)) from error
        except sqlite3.Error as error:
            raise storage_failure(error) from error

    def _storable(self, item: Incoming | Rejected) -> Incoming | Rejected:
        """Give an event as it can be stored: with its rows, or with the reason why they are refused."""
        if isinstance(item, Rejected):
            return item
        try:
            with _transaction(self._db, keep=False):
                self._apply([item], ())
        except _REFUSALS as error:
            return item._replace(rows=(), failure=f"the store refused it: {error}")
        return item

    def _write(self, group: Sequence[Incoming | Rejected], positions: Sequence[Position]) -> None:
        with _transaction(self._db):
            learnt = self._apply(group, positions)
        self._remember(learnt)
        if self._checkpointer is not None:
            self._checkpointer.committed()

    def _apply(self, group: Sequence[Incoming | Rejected], positions: Sequence[Position]) -> list[_Learnt]:
        changes = Reducer()
        for item in group:
            if isinstance(item, Incoming):
                changes.add(item.rows)
        learnt: list[_Learnt] = []
        self._log([item for item in group if isinstance(item, Incoming)])
        self._reject([item for item in group if isinstance(item, Rejected)])
        for row_class in TABLES.values():
            self._merge(row_class, changes.rows(row_class), learnt)
        reclassed = self._classes.settle(changes)
        settle_liveness(self._db, self._org, changes, reclassed)
        self._heads.settle(changes)
        self._mark(changes)
        self._db.executemany(_SET_POSITION, [(self._org, *position) for position in positions])
        return learnt

    def _log(self, events: list[Incoming]) -> None:
        compress = self._compressor.compress
        self._db.executemany(
            _INSERT_EVENT,
            [
                (
                    self._org,
                    item.event.event_hash,
                    item.event.event_type,
                    item.event.micros,
                    run_id(self._org, item.event.run_uuid) if item.event.run_uuid else None,
                    "/".join(item.event.job) if item.event.job else None,
                    item.received_at,
                    item.source,
                    item.historical,
                    msgspec.json.encode(item.notes).decode() if item.notes else None,
                    item.failure,
                    compress(item.payload),
                )
                for item in events
            ],
        )

    def _reject(self, refused: list[Rejected]) -> None:
        for item in refused:
            self._db.execute(
                _INSERT_REJECTED,
                (
                    self._org,
                    item.payload_hash,
                    _printable(item.reason),
                    _printable(item.path),
                    item.source,
                    item.received_at,
                    len(item.payload),
                    self._compressor.compress(item.payload),
                ),
            )
        if refused:
            self._db.execute(_EVICT_REJECTED, (self._org, self._keep_rejected))

    def _merge(self, row_class: type[Row], rows: list[Row], learnt: list[_Learnt]) -> None:
        if row_class in _REMEMBERED:
            rows = self._news(row_class, rows, learnt)
        if rows:
            self._db.executemany(upsert_sql(row_class), rows)

    def _news(self, row_class: type[Row], rows: list[Row], learnt: list[_Learnt]) -> list[Row]:
        """Keep the rows that could change what the store is known to hold.

        The store's rows only ever grow, so what was once committed is a lower bound for ever, whoever
        else writes.
        """
        known: dict[Row, Row] = self._memory.get(row_class, {})
        keys, merge = plan_of(row_class).keys, merger(row_class)
        news = []
        for row in rows:
            key = row[:keys]
            stored = known.get(key)
            if stored is not None and merge(stored, row) == stored:
                continue
            learnt.append((row_class, key, row))
            news.append(row)
        return news

    def _remember(self, learnt: list[_Learnt]) -> None:
        for row_class, key, row in learnt:
            self._memory.setdefault(row_class, Memory(_MEMORY_ROWS)).keep(key, row)

    def _mark(self, changes: Reducer) -> None:
        if not self._targets:
            return
        now = time.time_ns() // 1000
        self._db.executemany(
            _MARK,
            [
                (self._org, target, kind, row[1], now)
                for target in self._targets
                for row_class, kind in _MARKED_KINDS.items()
                for row in changes.rows(row_class)
            ],
        )

    def _apply_never_link(self, never_link: tuple[NeverLink, ...]) -> None:
        """Recompute every class when the rules are not those the store was last settled with."""
        name, rules = f"never_link/{self._org}", msgspec.json.encode(sorted(never_link)).decode()
        with _transaction(self._db):
            row = self._db.execute("SELECT value FROM store_meta WHERE name = ?", (name,)).fetchone()
            if (row[0] if row else "[]") == rules:
                return
            linked = self._db.execute("SELECT dataset_id FROM dataset_symlink WHERE org_id = ?", (self._org,))
            reclassed = self._classes.recompute({dataset for (dataset,) in linked.fetchall()})
            settle_liveness(self._db, self._org, Reducer(), reclassed)
            self._db.execute("INSERT OR REPLACE INTO store_meta VALUES (?, ?)", (name, rules))

    def position(self, path: str) -> Position | None:
        """Tell how far a file was taken."""
        row = self._db.execute(_GET_POSITION, (self._org, path)).fetchone()
        return Position(path, *row) if row else None

    def wait_for_lock(self, seconds: float) -> None:
        """Set how long a write waits for another process before it is StoreBusy."""
        self._db.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    def close(self) -> None:
        """Close the connection."""
        if self._checkpointer is not None:
            self._checkpointer.close()
        self._db.close()

    def checkpoint(self) -> None:
        """Move what the write-ahead log holds into the store's file."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def forget_rejected(self, payload_hash: bytes) -> None:
        """Delete the row of an input that could be taken at last."""
        self._db.execute(_FORGET_REJECTED, (self._org, payload_hash))


def _printable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


class _transaction:  # noqa: N801 - reads as a statement
    """BEGIN IMMEDIATE … COMMIT, or ROLLBACK."""

    def __init__(self, connection: sqlite3.Connection, *, keep: bool = True) -> None:
        self._db = connection
        self._keep = keep

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._keep:
            try:
                self._db.execute("COMMIT")
            except sqlite3.Error:
                self._rollback()
                raise
        else:
            self._rollback()

    def _rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
