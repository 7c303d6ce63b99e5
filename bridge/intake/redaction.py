"""Redacts the events and rejected inputs of an existing store, and merges all events again."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import zstandard

from bridge.intake.event_reader import EventReader
from bridge.store.database import Database
from bridge.store.dirty_marks import mark_before_removal
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.writer import Writer
from mappers.canonical.identity import digest
from mappers.canonical.merge import Reducer
from mappers.canonical.rows import TABLES
from mappers.openlineage.event import NO_LIMITS, parse_event
from mappers.openlineage.redaction import redact_input, redact_text

_LAST_SEQ = "SELECT coalesce(max(seq), 0) FROM run_event WHERE org_id = ?1"
_EVENTS = """
SELECT seq, source, receipts, received_at, historical, failure, payload FROM run_event
WHERE org_id = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT 500
"""
_DELETE_EVENT = "DELETE FROM run_event WHERE org_id = ?1 AND seq = ?2"
_REJECTED = """
SELECT payload_hash, source, receipts, reason, path, first_at, last_at, payload_size, payload FROM rejected_event
WHERE org_id = ?1 ORDER BY payload_hash
"""
_DELETE_REJECTED = "DELETE FROM rejected_event WHERE org_id = ?1 AND payload_hash = ?2"
#: Tables that are derived from the events. Search entries follow from changes in these tables.
_DERIVED_TABLES = (*TABLES, "column_report", "column_head", "oversized_group")


class RedactionReport(NamedTuple):
    """Number of events and rejected inputs that contained secrets."""

    events: int
    rejected: int


class _LoggedEvent(NamedTuple):
    """An event of the log, redacted if it contained secrets."""

    seq: int
    item: IncomingEvent
    is_changed: bool


class StoreRedaction:
    """Redacts the store of one organisation. No other process may write to the store meanwhile."""

    def __init__(self, db: Database, org: str, reader: EventReader, writer: Writer) -> None:
        self._db = db
        self._org = org
        self._reader = reader
        self._writer = writer

    def count(self) -> RedactionReport:
        """Count the inputs with secrets without changing anything."""
        events = sum(logged.is_changed for batch in self._read_log() for logged in batch)
        return RedactionReport(events, len(list(self._changed_rejections())))

    def run(self) -> RedactionReport:
        """Redact everything in one transaction. If there is nothing to redact, nothing is written."""
        report = self.count()
        if report == (0, 0):
            return report
        with self._db.transaction():
            if not self._db.embedded:
                self._db.execute("LOCK TABLE run_event IN EXCLUSIVE MODE")
            if report.events:
                self._merge_again()
            for old_hash, item in list(self._changed_rejections()):
                self._db.execute(_DELETE_REJECTED, self._org, old_hash)
                self._writer.merge_again(Reducer(), [item])
        return report

    def _merge_again(self) -> None:
        """Empty the derived tables, and fill them from the redacted events."""
        mark_before_removal(self._db, self._org)
        for table in _DERIVED_TABLES:
            self._db.execute(f"DELETE FROM {table} WHERE org_id = ?1", self._org)  # noqa: S608 - names of tables are constants
        for batch in self._read_log():
            changes = Reducer()
            for logged in batch:
                changes.add(logged.item.rows)
            replacements = [logged for logged in batch if logged.is_changed]
            self._db.execute_many(_DELETE_EVENT, [(self._org, logged.seq) for logged in replacements])
            self._writer.merge_again(changes, [logged.item for logged in replacements])

    def _read_log(self) -> Iterator[list[_LoggedEvent]]:
        """Yield the events in batches. Events that are logged anew meanwhile are not read again."""
        ((last_seq,),) = self._db.fetch_all(_LAST_SEQ, self._org)
        position = 0
        while rows := self._db.fetch_all(_EVENTS, self._org, position, last_seq):
            yield [self._read_event(*row) for row in rows]
            position = rows[-1][0]

    def _read_event(
        self,
        seq: int,
        source: str,
        receipts: int,
        received_at: int,
        historical: Any,
        failure: str | None,
        compressed_payload: bytes,
    ) -> _LoggedEvent:
        payload = zstandard.decompress(compressed_payload)
        event = parse_event(payload, NO_LIMITS)
        redacted_payload = event.redacted_body or payload
        item = self._reader.map(event, redacted_payload, source, received_at, historical=bool(historical))
        item = item._replace(receipts=receipts)
        if failure is not None:
            item = item._replace(rows=(), failure=redact_text(failure))
        return _LoggedEvent(seq, item, event.redacted_body is not None)

    def _changed_rejections(self) -> Iterator[tuple[bytes, RejectedInput]]:
        """Yield the old hash of each rejected input with secrets, and the redacted input."""
        for hash_, source, receipts, reason, path, first_at, last_at, size, compressed_payload in self._db.fetch_all(
            _REJECTED, self._org
        ):
            payload = None if compressed_payload is None else zstandard.decompress(compressed_payload)
            redacted_payload = payload and redact_input(payload)
            redacted_reason = redact_text(reason)
            if (redacted_payload, redacted_reason) == (payload, reason):
                continue
            new_hash = digest(source.encode() + b"\0" + redacted_payload) if redacted_payload else bytes(hash_)
            yield bytes(hash_), RejectedInput(
                redacted_payload, new_hash, redacted_reason, path, last_at, source, receipts=receipts,
                first_at=first_at, size=size,
            )  # fmt: skip
