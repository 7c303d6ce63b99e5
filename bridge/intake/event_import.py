"""Imports the event log of another store; repeatable."""

import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from bridge.intake.event_export import ExportedEvent, ExportedRejection, parse_line
from bridge.intake.event_reader import EventReader
from bridge.store.database import Database
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.writer import Writer
from mappers.canonical.identity import digest
from mappers.errors import InputTooLarge, InvalidInput
from mappers.openlineage.event import NO_LIMITS, Event, parse_event
from mappers.timestamps import from_datetime

_KEPT = """
SELECT e.event_time, e.event_hash, e.receipts, e.historical, e.failure FROM {keys} g
JOIN run_event e ON e.event_time = g.a AND e.event_hash = g.b AND e.org_id = ?1
"""
_REFUSED = "SELECT payload_hash, receipts, last_at FROM rejected_event WHERE org_id = ?1 AND payload_hash {ids}"
#: How many lines, and about how many bytes of them, share a commit.
_GROUP, _GROUP_BYTES = 500, 16 << 20
#: What a file can fail with while it is read: the disk, torn gzip, damaged gzip.
_READ_ERRORS = (OSError, EOFError, zlib.error)

Progress = Callable[[int], None]


class EventImportReport(NamedTuple):
    """How many lines brought something new and how many did not, could not be merged here, or are damaged."""

    events: int = 0
    rejected: int = 0
    known: int = 0
    unmerged: int = 0
    damaged: int = 0

    def add(self, other: "EventImportReport") -> "EventImportReport":
        """Add two reports up."""
        return EventImportReport(*map(sum, zip(self, other, strict=True)))


class _StoredEvent(NamedTuple):
    receipts: int
    historical: bool
    failure: str | None


class _ImportedEvent(NamedTuple):
    """An event with the line that it is from, and the key by which the log knows it."""

    line: ExportedEvent
    payload: bytes
    event: Event

    @property
    def key(self) -> tuple[int, bytes]:
        return self.event.micros, self.event.event_hash


class EventImporter:
    """Takes what another store held; it may be repeated, for what this one has already is left out."""

    def __init__(self, reader: EventReader, writer: Writer, db: Database, org: str) -> None:
        self._reader = reader
        self._writer = writer
        self._db = db
        self._org = org

    def run(
        self, file: BinaryIO, tell: Callable[[str], None], progress: Progress = lambda _: None
    ) -> EventImportReport:
        """Take all lines of an export; each that is damaged is told, and the others are taken."""
        report, done = EventImportReport(), 0
        try:
            for group in _groups(file):
                read, damaged = _all_read(group, tell)
                items = self._missing_items(read)
                self._writer.write(items)
                report = report.add(_counted(read, items, damaged))
                done += sum(len(line) for _, line in group)
                progress(done)
        except _READ_ERRORS as error:
            tell(f"cannot read on: {error}")
            return report.add(EventImportReport(damaged=1))
        return report

    def close(self) -> None:
        """Close the store."""
        self._writer.close()

    def _missing_items(self, read: list[_ImportedEvent | RejectedInput]) -> list[IncomingEvent | RejectedInput]:
        """Leave out what the store has: it holds each input at least as often as the export says."""
        events = [one for one in read if isinstance(one, _ImportedEvent)]
        found = self._db.fetch_for_keys(_KEPT, sorted({one.key for one in events}), self._org)
        kept = {
            (time, hash_): _StoredEvent(count, bool(past), failure) for time, hash_, count, past, failure in found
        }
        hashes = sorted({one.payload_hash for one in read if isinstance(one, RejectedInput)})
        refused = {
            hash_: (count, last_at) for hash_, count, last_at in self._db.fetch_for_ids(_REFUSED, hashes, self._org)
        }
        news: list[IncomingEvent | RejectedInput] = []
        for one in read:
            if isinstance(one, RejectedInput):
                count, last_at = refused.get(one.payload_hash, (0, one.received_at))
                if one.receipts > count:
                    last_at = max(last_at, one.received_at)
                    news.append(one._replace(receipts=one.receipts - count, received_at=last_at))
                    refused[one.payload_hash] = one.receipts, last_at
            elif item := self._item(one, kept.get(one.key)):
                kept[one.key] = _merged(kept.get(one.key), item)
                news.append(item)
        return news

    def _item(self, one: _ImportedEvent, kept: _StoredEvent | None) -> IncomingEvent | None:
        """Give what the store lacks of an event: all of it, receipts, or that it could be merged."""
        line = one.line
        more = max(0, line.receipts - kept.receipts) if kept else line.receipts
        merged = kept is not None and kept.failure is None
        same_past = kept is not None and (line.historical or not kept.historical)
        if kept and not more and same_past and (merged or line.failure is not None):
            return None
        at = from_datetime(line.received_at)
        if merged or line.failure is not None:
            failure = None if merged else line.failure
            item = IncomingEvent(one.payload, one.event, (), (), at, line.source, line.historical, failure)
        else:
            item = self._reader.map(one.event, one.payload, line.source, at, historical=line.historical)
        return item._replace(notes=line.notes, receipts=more)


def _merged(kept: _StoredEvent | None, item: IncomingEvent) -> _StoredEvent:
    if kept is None:
        return _StoredEvent(item.receipts, item.historical, item.failure)
    return _StoredEvent(kept.receipts + item.receipts, kept.historical and item.historical, item.failure)


def _all_read(
    group: list[tuple[int, bytes]], tell: Callable[[str], None]
) -> tuple[list[_ImportedEvent | RejectedInput], int]:
    """Read lines; gives what they hold, and how many are damaged."""
    read: list[_ImportedEvent | RejectedInput] = []
    damaged = 0
    for number, line in group:
        if not line.strip():
            continue
        try:
            read.append(_read(line))
        except (InvalidInput, InputTooLarge, RecursionError) as error:
            damaged += 1
            tell(f"line {number}: {error}")
    return read, damaged


def _counted(
    read: list[_ImportedEvent | RejectedInput], items: list[IncomingEvent | RejectedInput], damaged: int
) -> EventImportReport:
    events = [item for item in items if isinstance(item, IncomingEvent)]
    was_merged = {one.key for one in read if isinstance(one, _ImportedEvent) and one.line.failure is None}
    unmerged = sum(
        item.failure is not None and (item.event.micros, item.event.event_hash) in was_merged for item in events
    )
    return EventImportReport(len(events), len(items) - len(events), len(read) - len(items), unmerged, damaged)


def _read(line: bytes) -> _ImportedEvent | RejectedInput:
    """Read a line; raises RefusedEvent or TooLarge when it is not what was written."""
    found = parse_line(line)
    sent, hash_ = found.sent(), bytes.fromhex(found.hash)
    if isinstance(found, ExportedRejection):
        return _rejected(found, sent, hash_)
    if sent is None:
        raise InvalidInput("an event without its payload")
    event = parse_event(sent, NO_LIMITS)
    if event.event_hash != hash_:
        raise InvalidInput("the event is not the one that was exported: its hash is another")
    return _ImportedEvent(found, sent, event)


def _rejected(line: ExportedRejection, sent: bytes | None, hash_: bytes) -> RejectedInput:
    if sent and digest(line.source.encode() + b"\0" + sent) != hash_:
        raise InvalidInput("the input is not the one that was exported: its hash is another")
    return RejectedInput(
        sent, hash_, line.reason, line.path, from_datetime(line.last_at), line.source,
        receipts=line.receipts, first_at=from_datetime(line.first_at), size=line.size,
    )  # fmt: skip


def _groups(file: BinaryIO) -> Iterator[list[tuple[int, bytes]]]:
    """Give the lines with their numbers; what was read before an error is as good as any."""
    group: list[tuple[int, bytes]] = []
    size = 0
    try:
        for number, line in enumerate(file, start=1):
            group.append((number, line))
            size += len(line)
            if len(group) >= _GROUP or size >= _GROUP_BYTES:
                yield group
                group, size = [], 0
    except _READ_ERRORS:
        yield group
        raise
    yield group
