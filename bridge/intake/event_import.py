"""Imports the event log of another store; an import can be repeated."""

import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from bridge.intake.event_export import ExportedEvent, ExportedRejection, parse_line
from bridge.intake.event_reader import EventReader
from bridge.store.database import Database
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.writer import Writer
from connectors.openlineage.bounded_lines import read_lines
from mappers.canonical.identity import digest
from mappers.errors import InputTooLarge, InvalidInput
from mappers.openlineage.event import NO_LIMITS, Event, parse_event, parse_unredacted_event
from mappers.openlineage.redaction import redact_input
from mappers.timestamps import from_datetime

_STORED_EVENTS = """
SELECT e.event_time, e.event_hash, e.receipts, e.historical, e.failure FROM {keys} g
JOIN run_event e ON e.event_time = g.a AND e.event_hash = g.b AND e.org_id = ?1
"""
_STORED_REJECTIONS = (
    "SELECT payload_hash, receipts, last_at FROM rejected_event WHERE org_id = ?1 AND payload_hash {ids}"
)
#: Maximum number of lines, and approximate number of bytes, per commit.
_BATCH_LINES, _BATCH_BYTES = 500, 16 << 20
#: A payload of 50 MB may have four times this size as an escaped string.
_MAX_LINE_BYTES = 200 << 20
#: Errors of a file that is read: disk errors, truncated gzip, damaged gzip.
_READ_ERRORS = (OSError, EOFError, zlib.error)

ProgressCallback = Callable[[int], None]


class EventImportReport(NamedTuple):
    """Counts of lines by result: `known` lines contain nothing new, `unmerged` events could not be merged here."""

    events: int = 0
    rejected: int = 0
    known: int = 0
    unmerged: int = 0
    damaged: int = 0

    def add(self, other: "EventImportReport") -> "EventImportReport":
        return EventImportReport(*(count + other_count for count, other_count in zip(self, other, strict=True)))


class _StoredEvent(NamedTuple):
    receipts: int
    historical: bool
    failure: str | None


class _ImportedEvent(NamedTuple):
    """An event, and the line of the export that contains it."""

    line: ExportedEvent
    payload: bytes
    event: Event

    @property
    def key(self) -> tuple[int, bytes]:
        return self.event.micros, self.event.event_hash


class EventImporter:
    """Imports the events of another store. Inputs that this store already contains are skipped."""

    def __init__(self, reader: EventReader, writer: Writer, db: Database, org: str) -> None:
        self._reader = reader
        self._writer = writer
        self._db = db
        self._org = org

    def run(
        self, file: BinaryIO, on_problem: Callable[[str], None], progress: ProgressCallback = lambda _: None
    ) -> EventImportReport:
        """Import all lines of an export. Damaged lines are reported to `on_problem` and skipped."""
        report = EventImportReport()
        bytes_read = 0
        try:
            for batch in _read_batches(file):
                parsed_items, damaged_count = _parse_lines(batch, on_problem)
                missing_items = self._drop_stored_content(parsed_items)
                self._writer.write(missing_items)
                report = report.add(_count_results(parsed_items, missing_items, damaged_count))
                bytes_read += sum(len(line) for _, line in batch)
                progress(bytes_read)
        except _READ_ERRORS as error:
            on_problem(f"cannot continue reading: {error}")
            return report.add(EventImportReport(damaged=1))
        return report

    def close(self) -> None:
        self._writer.close()

    def _drop_stored_content(
        self, parsed_items: list[_ImportedEvent | RejectedInput]
    ) -> list[IncomingEvent | RejectedInput]:
        """Reduce parsed items to what the store does not contain yet; omit items that add nothing.

        An item may add an input, more receipts, or an event that was merged elsewhere but failed to merge here.
        """
        events = [item for item in parsed_items if isinstance(item, _ImportedEvent)]
        rows = self._db.fetch_for_keys(_STORED_EVENTS, sorted({event.key for event in events}), self._org)
        stored_events = {
            (time, hash_): _StoredEvent(stored_receipts, bool(historical), failure)
            for time, hash_, stored_receipts, historical, failure in rows
        }
        hashes = sorted({item.payload_hash for item in parsed_items if isinstance(item, RejectedInput)})
        stored_rejections = {
            hash_: (stored_receipts, last_at)
            for hash_, stored_receipts, last_at in self._db.fetch_for_ids(_STORED_REJECTIONS, hashes, self._org)
        }
        missing_items: list[IncomingEvent | RejectedInput] = []
        for item in parsed_items:
            if isinstance(item, RejectedInput):
                stored_receipts, stored_last_at = stored_rejections.get(item.payload_hash, (0, item.received_at))
                if item.receipts > stored_receipts:
                    last_at = max(stored_last_at, item.received_at)
                    missing_items.append(item._replace(receipts=item.receipts - stored_receipts, received_at=last_at))
                    stored_rejections[item.payload_hash] = item.receipts, last_at
            elif missing_item := self._build_missing_item(item, stored_events.get(item.key)):
                stored_events[item.key] = _add_receipts(stored_events.get(item.key), missing_item)
                missing_items.append(missing_item)
        return missing_items

    def _build_missing_item(
        self, imported_event: _ImportedEvent, stored_event: _StoredEvent | None
    ) -> IncomingEvent | None:
        """Build an item with what an imported event adds to the store, or return None if it adds nothing."""
        line = imported_event.line
        extra_receipts = max(0, line.receipts - stored_event.receipts) if stored_event else line.receipts
        is_merged = stored_event is not None and stored_event.failure is None
        keeps_historical_flag = stored_event is not None and (line.historical or not stored_event.historical)
        if stored_event and not extra_receipts and keeps_historical_flag and (is_merged or line.failure is not None):
            return None
        received_at = from_datetime(line.received_at)
        if is_merged or line.failure is not None:
            failure = None if is_merged else line.failure
            item = IncomingEvent(
                imported_event.payload,
                imported_event.event,
                (),
                (),
                received_at,
                line.source,
                line.historical,
                failure,
            )
        else:
            item = self._reader.map(
                imported_event.event, imported_event.payload, line.source, received_at, historical=line.historical
            )
        return item._replace(notes=line.notes, receipts=extra_receipts)


def _add_receipts(stored_event: _StoredEvent | None, item: IncomingEvent) -> _StoredEvent:
    if stored_event is None:
        return _StoredEvent(item.receipts, item.historical, item.failure)
    return _StoredEvent(
        stored_event.receipts + item.receipts, stored_event.historical and item.historical, item.failure
    )


def _parse_lines(
    batch: list[tuple[int, bytes]], on_problem: Callable[[str], None]
) -> tuple[list[_ImportedEvent | RejectedInput], int]:
    """Parse lines. Return the parsed items and the number of damaged lines."""
    parsed_items: list[_ImportedEvent | RejectedInput] = []
    damaged_count = 0
    for line_number, line in batch:
        if not line.strip():
            continue
        try:
            parsed_items.append(_parse_item(line))
        except (InvalidInput, InputTooLarge, RecursionError) as error:
            damaged_count += 1
            on_problem(f"line {line_number}: {error}")
    return parsed_items, damaged_count


def _count_results(
    parsed_items: list[_ImportedEvent | RejectedInput],
    missing_items: list[IncomingEvent | RejectedInput],
    damaged_count: int,
) -> EventImportReport:
    """Count the lines of a batch by result."""
    events = [item for item in missing_items if isinstance(item, IncomingEvent)]
    merged_in_source = {
        item.key for item in parsed_items if isinstance(item, _ImportedEvent) and item.line.failure is None
    }
    unmerged_count = sum(
        item.failure is not None and (item.event.micros, item.event.event_hash) in merged_in_source for item in events
    )
    return EventImportReport(
        len(events),
        len(missing_items) - len(events),
        len(parsed_items) - len(missing_items),
        unmerged_count,
        damaged_count,
    )


def _parse_item(line: bytes) -> _ImportedEvent | RejectedInput:
    """Parse an exported line. Raises InvalidInput or InputTooLarge."""
    exported_line = parse_line(line)
    payload = exported_line.original_bytes()
    hash_ = bytes.fromhex(exported_line.hash)
    if isinstance(exported_line, ExportedRejection):
        return _build_rejection(exported_line, payload, hash_)
    if payload is None:
        raise InvalidInput("an event without its payload")
    event = parse_event(payload, NO_LIMITS)
    # The exporting store may have stored the secrets of the event.
    exported_event = parse_unredacted_event(payload, NO_LIMITS) if event.redacted_body else event
    if hash_ not in {event.event_hash, exported_event.event_hash}:
        raise InvalidInput("the event was modified after the export: its hash differs")
    return _ImportedEvent(exported_line, event.redacted_body or payload, event)


def _build_rejection(line: ExportedRejection, payload: bytes | None, hash_: bytes) -> RejectedInput:
    if payload and digest(line.source.encode() + b"\0" + payload) != hash_:
        raise InvalidInput("the input was modified after the export: its hash differs")
    if payload and (redacted_payload := redact_input(payload)) != payload:
        payload, hash_ = redacted_payload, digest(line.source.encode() + b"\0" + redacted_payload)
    return RejectedInput(
        payload, hash_, line.reason, line.path, from_datetime(line.last_at), line.source,
        receipts=line.receipts, first_at=from_datetime(line.first_at), size=line.size,
    )  # fmt: skip


def _read_batches(file: BinaryIO) -> Iterator[list[tuple[int, bytes]]]:
    """Yield numbered lines in batches. Lines that precede a read error are yielded before the error is raised."""
    batch: list[tuple[int, bytes]] = []
    size = 0
    try:
        for line in read_lines(file, _MAX_LINE_BYTES):
            batch.append((line.number, line.payload))
            size += len(line.payload)
            if len(batch) >= _BATCH_LINES or size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
    except _READ_ERRORS:
        yield batch
        raise
    yield batch
