"""Writes a group of events in one transaction: log, canonical rows and dirty marks."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec
import structlog
import zstandard

from bridge.errors import StoreBusy, UnstorableRow
from bridge.store.active_columns import ActiveColumnLineage
from bridge.store.database import Database, Insert
from bridge.store.dirty_marks import mark_changes
from bridge.store.event_log import PENDING, EventKey, FilePosition, IncomingEvent, RejectedInput
from bridge.store.identity_groups import IdentityGroups, update_is_active
from bridge.store.job_families import find_retyped_jobs
from bridge.store.row_slices import SLICE_BYTES, SLICE_ROWS, row_bytes, slice_rows
from bridge.store.symlink_graph import LinkRules
from mappers.cache import BoundedCache
from mappers.canonical.identity import run_id
from mappers.canonical.merge import Reducer, Row, merge_plan, merger
from mappers.canonical.rows import TABLES, ColumnLineageRow, LineageSetRow, NamespaceRow
from mappers.errors import TransientError

T = TypeVar("T")

_log = structlog.get_logger()

_INSERT_EVENTS = Insert(
    "run_event",
    {
        "org_id": str,
        "event_hash": bytes,
        "event_type": str,
        "event_time": int,
        "run_id": bytes,
        "process_key": str,
        "received_at": int,
        "source": str,
        "historical": bool,
        "receipts": int,
        "notes_json": str,
        "failure": str,
        "payload": bytes,
    },
    "ON CONFLICT (org_id, event_time, event_hash) DO UPDATE SET receipts = run_event.receipts + excluded.receipts,"
    " historical = run_event.historical AND excluded.historical,"
    f" failure = CASE WHEN excluded.failure = '{PENDING}' AND run_event.failure IS NULL THEN NULL"
    " ELSE excluded.failure END",
)
_SET_FAILURE = """
UPDATE run_event SET failure = ?4 WHERE org_id = ?1 AND event_time = ?2 AND event_hash = ?3 AND failure = ?5
"""
_INSERT_REJECTED = """
INSERT INTO rejected_event (org_id, payload_hash, reason, path, source, first_at, last_at, receipts,
  payload_size, payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (org_id, payload_hash) DO UPDATE
SET receipts = rejected_event.receipts + excluded.receipts, last_at = excluded.last_at, reason = excluded.reason,
    path = excluded.path, payload = coalesce(excluded.payload, rejected_event.payload)
"""
_EVICT_REJECTED = """
UPDATE rejected_event SET payload = NULL
WHERE org_id = ?1 AND payload IS NOT NULL AND payload_hash NOT IN (
  SELECT payload_hash FROM rejected_event WHERE org_id = ?1 AND payload IS NOT NULL
  ORDER BY last_at DESC, payload_hash LIMIT ?2)
"""
_SET_POSITION = """
INSERT INTO ingest_position (org_id, path, fingerprint, position) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (org_id, path) DO UPDATE SET fingerprint = excluded.fingerprint, position = excluded.position
"""
_GET_POSITION = "SELECT fingerprint, position FROM ingest_position WHERE org_id = ?1 AND path = ?2"
_GET_RULES = "SELECT value FROM store_meta WHERE name = ?1"
_SET_RULES = """
INSERT INTO store_meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
#: Version of the rules for active column lineage.
_COLUMN_RULES = "2"
_REJECTED_RECEIPTS = "SELECT source, receipts FROM rejected_event WHERE org_id = ?1 AND payload_hash = ?2"
_DELETE_REJECTED = "DELETE FROM rejected_event WHERE org_id = ?1 AND payload_hash = ?2"
_ADD_TO_LEDGER = """
INSERT INTO intake_ledger (org_id, source, writer_id, events, rejected, retried) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (org_id, source, writer_id) DO UPDATE SET events = intake_ledger.events + excluded.events,
  rejected = intake_ledger.rejected + excluded.rejected, retried = intake_ledger.retried + excluded.retried
"""
#: Classes whose rows most events repeat unchanged; rows that are known to be stored are cached.
_CACHED_CLASSES = frozenset({NamespaceRow, LineageSetRow, ColumnLineageRow})
#: Approximate size of the cache of each class, and the size assumed for a row of short columns.
_CACHE_BYTES, _ROW_BYTES = 8 << 20, 400
#: Attempts at a transaction that conflicts with other writers on the same server.
_MAX_ATTEMPTS = 10
#: An event with more rows or bytes is first stored without its rows, and then merged in slices.
MAX_UNSLICED_ROWS, MAX_UNSLICED_BYTES = 2 * SLICE_ROWS, 2 * SLICE_BYTES
#: Rows per transaction that writes a group of events; a single event may have a few more.
MAX_GROUP_ROWS = 5 * SLICE_ROWS
#: After each slice, other writers have the store for this share of the time that the slice took.
_YIELD_SHARE = 0.5
#: A row sent to the store: its class, key and value.
_StoredRow = tuple[type[Row], Row, Row]


class StagedGroup(NamedTuple):
    """A group in an open transaction, the rows that are stored once it is committed, and events to be merged then."""

    changes: Reducer
    stored_rows: list[_StoredRow]
    large_events: list[IncomingEvent]
    open_transaction: ExitStack


class Writer:
    """Writes groups of events, each in one durable transaction. Not thread-safe."""

    def __init__(
        self,
        db: Database,
        org: str = "default",
        *,
        link_rules: LinkRules = LinkRules(),  # noqa: B008 - an immutable tuple
        keep_rejected: int = 10_000,
    ) -> None:
        self._db = db
        self._org = org
        self._writer_id = os.urandom(8)
        self._keep_rejected = keep_rejected
        self._identity_groups = IdentityGroups(db, org, link_rules)
        self._active_columns = ActiveColumnLineage(db, org)
        self._compressor = zstandard.ZstdCompressor(level=1)
        self._row_cache: dict[type[Row], BoundedCache[Row, Row]] = {
            row_class: BoundedCache(_CACHE_BYTES) for row_class in _CACHED_CLASSES
        }
        self._recompute_after_rule_changes(link_rules)

    @property
    def database(self) -> Database:
        """The connection, for use while no method of the writer runs."""
        return self._db

    @property
    def embedded(self) -> bool:
        """True if this process commits by itself, false if a database server does."""
        return self._db.embedded

    @property
    def version(self) -> str:
        """Product name and version of the database."""
        return self._db.version

    def write(self, group: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition] = ()) -> None:
        """Commit a group together with the new positions in its files. On return, both are on disk.

        Raises TransientError if nothing was written (or, after a lost connection, if that is unknown), and
        StorageFailure if the store cannot be trusted.

        An event that the store rejects is stored with the reason instead, and the rest of the group is stored.
        """
        self._merge_large_events(self._retry_conflicts(lambda: self._commit(self.stage(group, positions))))

    def _retry_conflicts(self, write: Callable[[], T]) -> T:
        """Run a transaction, again if it conflicts with other writers on the same server."""
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            try:
                return write()
            except StoreBusy:
                if self._db.embedded or not attempts_left:
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    def stage(
        self, group: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition] = ()
    ) -> StagedGroup:
        """Write a group in a transaction that remains open until `commit`. Nothing is durable before then."""
        try:
            return self._stage(group, positions)
        except UnstorableRow:
            return self._stage([self._without_rejected_rows(item) for item in group], positions)

    def commit(self, staged: StagedGroup) -> None:
        """Commit a staged group. On return, the group is on disk. Any thread may call this."""
        self._merge_large_events(self._commit(staged))

    def _commit(self, staged: StagedGroup) -> list[IncomingEvent]:
        """Commit a staged group, and return its large events, which are not merged yet."""
        staged.open_transaction.close()
        for row_class, key, row in staged.stored_rows:
            size = len(row.members) if isinstance(row, LineageSetRow) else _ROW_BYTES
            self._row_cache[row_class].put(key, row, size)
        self._identity_groups.remember(staged.changes)
        return staged.large_events

    def _merge_large_events(self, events: Sequence[IncomingEvent]) -> None:
        """Merge events that are already in the log. If the store is busy, they stay pending."""
        for event in events:
            try:
                self.merge_slices(event.key, list(slice_rows(event.rows)))
            except TransientError as error:
                _log.warning("large event not merged yet", event_hash=event.event.event_hash.hex(), reason=str(error))

    def merge_slices(self, key: EventKey, slices: Iterable[Sequence[Row]]) -> None:
        """Merge a pending event in slices, each in a transaction of its own.

        If this is interrupted, the event stays pending, and merging it again is harmless. Targets are notified once
        everything is merged.
        """
        changes_of_slices: list[Reducer] = []
        try:
            for rows in slices:
                changes = Reducer()
                changes.add(rows)
                self._write_slice(partial(self._merge_rows, changes))
                changes_of_slices.append(changes)
            for changes in changes_of_slices:
                self._write_slice(partial(mark_changes, self._db, self._org, changes, ()))
            failure = None
        except UnstorableRow as error:
            failure = f"rejected by the store: {error}"
        self.finish_pending(key, failure)

    def finish_pending(self, key: EventKey, failure: str | None) -> None:
        """Record that a pending event is merged, or why it cannot be merged."""
        text = None if failure is None else _printable(failure)
        self._write_slice(partial(self._db.execute, _SET_FAILURE, self._org, *key, text, PENDING))

    def _write_slice(self, write: Callable[[], object]) -> None:
        """Run a short transaction, then let other writers have the store."""
        started_at = time.monotonic()

        def write_in_transaction() -> None:
            with self._db.transaction():
                write()

        self._retry_conflicts(write_in_transaction)
        time.sleep((time.monotonic() - started_at) * _YIELD_SHARE)

    def _without_rejected_rows(self, item: IncomingEvent | RejectedInput) -> IncomingEvent | RejectedInput:
        """Return the item, or, if the store rejects its rows, a copy with the reason instead of the rows."""
        if isinstance(item, RejectedInput):
            return item
        try:
            with self._db.transaction(commit=False):
                self._write_in_transaction(_reduce_events([item]), [item], ())
        except UnstorableRow as error:
            return item._replace(rows=(), failure=f"rejected by the store: {error}")
        return item

    def _stage(
        self, group: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition]
    ) -> StagedGroup:
        """Write a group in a new transaction, and leave the transaction open."""
        large_events = [item for item in group if isinstance(item, IncomingEvent) and _is_large(item)]
        group = [without_rows(item) for item in group] if large_events else group
        changes = _reduce_events(group)
        with ExitStack() as stack:
            stack.enter_context(self._db.transaction())
            stored_rows = self._write_in_transaction(changes, group, positions)
            return StagedGroup(changes, stored_rows, large_events, stack.pop_all())

    def merge_again(self, changes: Reducer, replacements: Sequence[IncomingEvent | RejectedInput]) -> None:
        """Merge logged events in the open transaction, and log replacements of inputs without counting them again."""
        self._write_in_transaction(changes, replacements, (), is_counted=True)

    def _write_in_transaction(
        self,
        changes: Reducer,
        group: Sequence[IncomingEvent | RejectedInput],
        positions: Sequence[FilePosition],
        *,
        is_counted: bool = False,
    ) -> list[_StoredRow]:
        """Write a group in the open transaction. Return the rows to cache once they are committed."""
        self._append_events([item for item in group if isinstance(item, IncomingEvent)])
        self._append_rejected([item for item in group if isinstance(item, RejectedInput)])
        if not is_counted:
            self._count_inputs(group)
        stored_rows = self._merge_rows(changes)
        mark_changes(self._db, self._org, changes, ())
        self._db.execute_many(_SET_POSITION, [(self._org, *position) for position in positions])
        return stored_rows

    def _merge_rows(self, changes: Reducer) -> list[_StoredRow]:
        """Merge rows in the open transaction, and update derived data. Return the rows to cache."""
        stored_rows: list[_StoredRow] = []
        retyped_jobs = find_retyped_jobs(self._db, self._org, changes)
        new_facts = self._identity_groups.find_new_facts(changes, retyped_jobs)
        for row_class in TABLES.values():
            rows = changes.rows(row_class)
            if row_class in _CACHED_CLASSES:
                rows_by_key = self._rows_not_yet_stored(row_class, rows)
                stored_rows += [(row_class, key, row) for key, row in rows_by_key.items()]
                rows = list(rows_by_key.values())
            if rows:
                self._db.merge_rows(row_class, rows)
        regrouped_datasets = self._identity_groups.update(changes, new_facts)
        update_is_active(self._db, self._org, changes, regrouped_datasets)
        column_lineage = [row for _, _, row in stored_rows if isinstance(row, ColumnLineageRow)]
        self._active_columns.update(changes, retyped_jobs, column_lineage)
        if regrouped_datasets:
            mark_changes(self._db, self._org, Reducer(), regrouped_datasets)
        return stored_rows

    def _append_events(self, events: list[IncomingEvent]) -> None:
        copies_by_key: dict[tuple[int, bytes], list[IncomingEvent]] = {}
        for item in events:
            copies_by_key.setdefault((item.event.micros, item.event.event_hash), []).append(item)
        self._db.insert(_INSERT_EVENTS, [self._event_row(copies) for _, copies in sorted(copies_by_key.items())])

    def _event_row(self, copies: list[IncomingEvent]) -> tuple[Any, ...]:
        """Build the row of one event from all its copies in a group."""
        *_, last_copy = copies
        event = last_copy.event
        return (
            self._org,
            event.event_hash,
            event.event_type,
            event.micros,
            run_id(self._org, event.run_uuid) if event.run_uuid else None,
            "/".join(event.job) if event.job else None,
            last_copy.received_at,
            last_copy.source,
            all(copy.historical for copy in copies),
            sum(copy.receipts for copy in copies),
            msgspec.json.encode(last_copy.notes).decode() if last_copy.notes else None,
            None if last_copy.failure is None else _printable(last_copy.failure),
            last_copy.compressed_payload or self._compressor.compress(last_copy.payload),
        )

    def _append_rejected(self, inputs: list[RejectedInput]) -> None:
        """Store rejected inputs, and delete the oldest payloads if there are too many."""
        rows = [self._rejected_row(item) for item in sorted(inputs, key=attrgetter("payload_hash"))]
        self._db.execute_many(_INSERT_REJECTED, rows)
        if rows:
            self._db.execute(_EVICT_REJECTED, self._org, self._keep_rejected)

    def _rejected_row(self, item: RejectedInput) -> tuple[Any, ...]:
        return (
            self._org,
            item.payload_hash,
            _printable(item.reason),
            _printable(item.path),
            item.source,
            item.received_at if item.first_at is None else item.first_at,
            item.received_at,
            item.receipts,
            len(item.payload or b"") if item.size is None else item.size,
            item.compressed_payload or (None if item.payload is None else self._compressor.compress(item.payload)),
        )

    def _count_inputs(self, group: Sequence[IncomingEvent | RejectedInput]) -> None:
        """Count the inputs of a group by source in the intake ledger, regardless of their outcome."""
        event_counts: Counter[str] = Counter()
        rejected_counts: Counter[str] = Counter()
        for item in group:
            counter = event_counts if isinstance(item, IncomingEvent) else rejected_counts
            counter[item.source] += item.receipts
        self._db.execute_many(
            _ADD_TO_LEDGER,
            [
                (self._org, source, self._writer_id, event_counts[source], rejected_counts[source], 0)
                for source in sorted(event_counts | rejected_counts)
            ],
        )

    def _rows_not_yet_stored(self, row_class: type[Row], rows: list[Row]) -> dict[Row, Row]:
        """Return the rows that change something, by key; the cache tells which rows are stored already.

        Merges only increase stored rows, so a committed row remains a lower bound, whatever other writers merge.
        """
        cached_rows = self._row_cache[row_class]
        key_count = merge_plan(row_class).key_count
        merge = merger(row_class)
        new_rows = {}
        for row in rows:
            key = row[:key_count]
            stored_row = cached_rows.get(key)
            if stored_row is None or merge(stored_row, row) != stored_row:
                new_rows[key] = row
        return new_rows

    def _recompute_after_rule_changes(self, link_rules: LinkRules) -> None:
        """Recompute the data that was derived with the rules of an earlier configuration or version."""
        sorted_rules = link_rules._replace(never_link=tuple(sorted(link_rules.never_link)))
        with self._db.transaction():
            self._recompute_if_changed("link_rules", msgspec.json.encode(sorted_rules).decode(), self._regroup_all)
            self._recompute_if_changed("column_rules", _COLUMN_RULES, self._active_columns.recompute_all)

    def _recompute_if_changed(self, kind: str, rules: str, recompute: Callable[[], set[bytes]]) -> None:
        """Recompute, and mark the datasets that it returns, unless the rules are those of the last computation."""
        name = f"{kind}/{self._org}"
        if (rules,) not in self._db.fetch_all(_GET_RULES, name):
            mark_changes(self._db, self._org, Reducer(), recompute())
            self._db.execute(_SET_RULES, name, rules)

    def _regroup_all(self) -> set[bytes]:
        regrouped_datasets = self._identity_groups.recompute_all()
        update_is_active(self._db, self._org, Reducer(), regrouped_datasets)
        return regrouped_datasets

    def file_position(self, path: str) -> FilePosition | None:
        """Return the position up to which a file was loaded, or None if the file was never loaded."""
        rows = self._db.fetch_all(_GET_POSITION, self._org, path)
        return next((FilePosition(path, file_hash, offset) for file_hash, offset in rows), None)

    def delete_rejected(self, payload_hash: bytes) -> None:
        """Delete a rejected input that has since been ingested or is dropped, and count it as retried."""
        with self._db.transaction():
            for source, receipts in self._db.fetch_all(_REJECTED_RECEIPTS, self._org, payload_hash):
                self._db.execute(_ADD_TO_LEDGER, self._org, source, self._writer_id, 0, 0, receipts)
                self._db.execute(_DELETE_REJECTED, self._org, payload_hash)

    def check_files(self) -> None:
        """Raise StoreLost if the files of an embedded store are not those that were opened."""
        self._db.check_files()

    def set_lock_timeout(self, seconds: float) -> None:
        """Set how long a write waits for another process before it raises StoreBusy."""
        self._db.set_lock_timeout(seconds)

    def close(self) -> None:
        self._db.close()


def without_rows(item: IncomingEvent | RejectedInput) -> IncomingEvent | RejectedInput:
    """Return a large event without its rows and marked as pending, and any other item unchanged."""
    if isinstance(item, RejectedInput) or not _is_large(item):
        return item
    return item._replace(rows=(), failure=PENDING)


def _is_large(event: IncomingEvent) -> bool:
    if len(event.rows) > MAX_UNSLICED_ROWS:
        return True
    return len(event.payload) > MAX_UNSLICED_BYTES and sum(map(row_bytes, event.rows)) > MAX_UNSLICED_BYTES


def _reduce_events(group: Sequence[IncomingEvent | RejectedInput]) -> Reducer:
    """Merge the rows of all events of a group."""
    changes = Reducer()
    for item in group:
        if isinstance(item, IncomingEvent):
            changes.add(item.rows)
    return changes


def _printable(text: str) -> str:
    """Replace the characters that no store can contain."""
    return text.replace("\0", "\ufffd").encode(errors="backslashreplace").decode()
