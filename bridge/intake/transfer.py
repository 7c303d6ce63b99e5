"""What another store held, through the one door: as often as need be, the state is that of doing it once."""

import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from bridge.intake.reading import Reader
from bridge.intake.transfer_lines import EventLine, RejectedLine, micros, read_line
from bridge.store.database import Database
from bridge.store.writer import Incoming, Rejected, Writer
from mappers.canonical.identity import digest
from mappers.errors import RefusedEvent, TooLarge
from mappers.openlineage.event import UNLIMITED, Event, read_event

_KEPT = """
SELECT e.event_time, e.event_hash, e.receipts, e.historical, e.failure FROM {given} g
JOIN run_event e ON e.event_time = g.a AND e.event_hash = g.b AND e.org_id = ?1
"""
_REFUSED = "SELECT payload_hash, receipts, last_at FROM rejected_event WHERE org_id = ?1 AND payload_hash {among}"
#: How many lines, and about how many bytes of them, share a commit.
_GROUP, _GROUP_BYTES = 500, 16 << 20
#: What a file can fail with while it is read: the disk, torn gzip, damaged gzip.
_READ_ERRORS = (OSError, EOFError, zlib.error)

Progress = Callable[[int], None]


class Report(NamedTuple):
    """How many lines brought something new and how many did not, could not be merged here, or are damaged."""

    events: int = 0
    rejected: int = 0
    known: int = 0
    unmerged: int = 0
    damaged: int = 0

    def plus(self, other: "Report") -> "Report":
        """Add two reports up."""
        return Report(*map(sum, zip(self, other, strict=True)))


class _Kept(NamedTuple):
    receipts: int
    historical: bool
    failure: str | None


class _Read(NamedTuple):
    """An event with the line that it is from, and the key by which the log knows it."""

    line: EventLine
    payload: bytes
    event: Event

    @property
    def key(self) -> tuple[int, bytes]:
        return self.event.micros, self.event.event_hash


class Import:
    """Takes what another store held; it may be repeated, for what this one has already is left out."""

    def __init__(self, reader: Reader, writer: Writer, db: Database, org: str) -> None:
        self._reader = reader
        self._writer = writer
        self._db = db
        self._org = org

    def take(self, file: BinaryIO, tell: Callable[[str], None], progress: Progress = lambda _: None) -> Report:
        """Take all lines of an export; each that is damaged is told, and the others are taken."""
        report, done = Report(), 0
        try:
            for group in _groups(file):
                read, damaged = _all_read(group, tell)
                items = self._news(read)
                self._writer.write(items)
                report = report.plus(_counted(read, items, damaged))
                done += sum(len(line) for _, line in group)
                progress(done)
        except _READ_ERRORS as error:
            tell(f"cannot read on: {error}")
            return report.plus(Report(damaged=1))
        return report

    def close(self) -> None:
        """Close the store."""
        self._writer.close()

    def _news(self, read: list[_Read | Rejected]) -> list[Incoming | Rejected]:
        """Leave out what the store has: it holds each input at least as often as the export says."""
        events = [one for one in read if isinstance(one, _Read)]
        found = self._db.given(_KEPT, sorted({one.key for one in events}), self._org)
        kept = {(time, hash_): _Kept(count, bool(past), failure) for time, hash_, count, past, failure in found}
        hashes = sorted({one.payload_hash for one in read if isinstance(one, Rejected)})
        refused = {hash_: (count, last_at) for hash_, count, last_at in self._db.among(_REFUSED, hashes, self._org)}
        news: list[Incoming | Rejected] = []
        for one in read:
            if isinstance(one, Rejected):
                count, last_at = refused.get(one.payload_hash, (0, one.received_at))
                if one.receipts > count:
                    last_at = max(last_at, one.received_at)
                    news.append(one._replace(receipts=one.receipts - count, received_at=last_at))
                    refused[one.payload_hash] = one.receipts, last_at
            elif item := self._item(one, kept.get(one.key)):
                kept[one.key] = _merged(kept.get(one.key), item)
                news.append(item)
        return news

    def _item(self, one: _Read, kept: _Kept | None) -> Incoming | None:
        """Give what the store lacks of an event: all of it, receipts, or that it could be merged."""
        line = one.line
        more = max(0, line.receipts - kept.receipts) if kept else line.receipts
        merged = kept is not None and kept.failure is None
        same_past = kept is not None and (line.historical or not kept.historical)
        if kept and not more and same_past and (merged or line.failure is not None):
            return None
        at = micros(line.received_at)
        if merged or line.failure is not None:
            failure = None if merged else line.failure
            item = Incoming(one.payload, one.event, (), (), at, line.source, line.historical, failure)
        else:
            item = self._reader.map(one.event, one.payload, line.source, at, historical=line.historical)
        return item._replace(notes=line.notes, receipts=more)


def _merged(kept: _Kept | None, item: Incoming) -> _Kept:
    if kept is None:
        return _Kept(item.receipts, item.historical, item.failure)
    return _Kept(kept.receipts + item.receipts, kept.historical and item.historical, item.failure)


def _all_read(group: list[tuple[int, bytes]], tell: Callable[[str], None]) -> tuple[list[_Read | Rejected], int]:
    """Read lines; gives what they hold, and how many are damaged."""
    read: list[_Read | Rejected] = []
    damaged = 0
    for number, line in group:
        if not line.strip():
            continue
        try:
            read.append(_read(line))
        except (RefusedEvent, TooLarge, RecursionError) as error:
            damaged += 1
            tell(f"line {number}: {error}")
    return read, damaged


def _counted(read: list[_Read | Rejected], items: list[Incoming | Rejected], damaged: int) -> Report:
    events = [item for item in items if isinstance(item, Incoming)]
    was_merged = {one.key for one in read if isinstance(one, _Read) and one.line.failure is None}
    unmerged = sum(
        item.failure is not None and (item.event.micros, item.event.event_hash) in was_merged for item in events
    )
    return Report(len(events), len(items) - len(events), len(read) - len(items), unmerged, damaged)


def _read(line: bytes) -> _Read | Rejected:
    """Read a line; raises RefusedEvent or TooLarge when it is not what was written."""
    found = read_line(line)
    sent, hash_ = found.sent(), bytes.fromhex(found.hash)
    if isinstance(found, RejectedLine):
        return _rejected(found, sent, hash_)
    if sent is None:
        raise RefusedEvent("an event without its payload")
    event = read_event(sent, UNLIMITED)
    if event.event_hash != hash_:
        raise RefusedEvent("the event is not the one that was exported: its hash is another")
    return _Read(found, sent, event)


def _rejected(line: RejectedLine, sent: bytes | None, hash_: bytes) -> Rejected:
    if sent and digest(line.source.encode() + b"\0" + sent) != hash_:
        raise RefusedEvent("the input is not the one that was exported: its hash is another")
    return Rejected(
        sent, hash_, line.reason, line.path, micros(line.last_at), line.source,
        receipts=line.receipts, first_at=micros(line.first_at), size=line.size,
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
