"""Reads large events in a child process, and merges events with many rows after they were acknowledged."""

import pickle
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import zstandard

from bridge.intake.child_process import CallFailed, ChildProcess
from bridge.intake.event_reader import EventReader
from bridge.intake.legacy import LegacyInputKind, LegacyReader
from bridge.store.database import Database
from bridge.store.event_log import EventKey, IncomingEvent, RejectedInput, list_pending_events, read_pending_event
from bridge.store.row_slices import slice_rows
from bridge.store.writer import Writer, without_rows
from mappers.canonical.merge import Row
from mappers.errors import InvalidInput
from mappers.openlineage.facet_parser import ParsedDataset

#: Larger bodies and events are parsed in the child process. Parsing a body of this size takes about 20 ms.
LARGE_BYTES = 256 << 10
_LISTED_EVENTS = 1_000


class LargeEventReader:
    """Reads events and legacy bodies in the child process."""

    def __init__(self, process: ChildProcess, reader: EventReader, legacy: LegacyReader) -> None:
        self._process = process
        self._reader = reader
        self._legacy = legacy

    def read(self, payload: bytes, source: str) -> IncomingEvent | RejectedInput:
        """Parse and map an event. An event with many rows is returned without them, as pending."""
        try:
            return self._process.call(_read_event, self._reader, payload, source)._replace(payload=payload)
        except CallFailed as error:
            return self._reader.reject(payload, source, InvalidInput(f"cannot be parsed: {error}"))

    def read_legacy(
        self, body: bytes, kind: LegacyInputKind, received_at: int
    ) -> list[IncomingEvent] | RejectedInput:
        try:
            return self._process.call(self._legacy.read, body, kind, received_at)
        except CallFailed as error:
            return self._legacy.reject(body, kind, InvalidInput(f"cannot be parsed: {error}"))


class MappedSlices(NamedTuple):
    """The rows of an event in pickled slices, and the reason if the event cannot be mapped."""

    slices: list[bytes]
    failure: str | None = None

    def unpickle(self) -> Iterator[list[Row]]:
        return (pickle.loads(rows) for rows in self.slices)  # noqa: S301 - pickled by our own child process


def _read_event(reader: EventReader, payload: bytes, source: str) -> IncomingEvent | RejectedInput:
    """Read an event. Leave out of the result what the service can do without."""
    item = reader.read(payload, source)
    compressed_payload = zstandard.ZstdCompressor(level=1).compress(payload)
    item = without_rows(item)._replace(payload=b"", compressed_payload=compressed_payload)
    if isinstance(item, RejectedInput):
        return item
    event = item.event._replace(
        run_facets={}, job_facets={},
        inputs=[_without_facets(dataset) for dataset in item.event.inputs],
        outputs=[_without_facets(dataset) for dataset in item.event.outputs],
        dataset=None,
    )  # fmt: skip
    return item._replace(event=event)


def _without_facets(dataset: ParsedDataset) -> ParsedDataset:
    return ParsedDataset(dataset.namespace, dataset.name, {}, {}, {}, ())


def _map_event(reader: EventReader, payload: bytes, source: str) -> MappedSlices:
    item = reader.read(payload, source)
    if isinstance(item, RejectedInput):
        return MappedSlices([], item.message)
    slices = [pickle.dumps(rows, pickle.HIGHEST_PROTOCOL) for rows in slice_rows(item.rows)]
    return MappedSlices(slices, item.failure)


class PendingEvents:
    """The pending events of this process, by the key that sent them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: OrderedDict[str, deque[EventKey]] = OrderedDict()

    def add(self, key: str, events: Sequence[EventKey]) -> None:
        with self._lock:
            self._events.setdefault(key, deque()).extend(events)

    def count(self, key: str) -> int:
        with self._lock:
            return len(self._events.get(key, ()))

    def take(self) -> EventKey | None:
        """Remove and return the next event; the keys take turns."""
        with self._lock:
            if not self._events:
                return None
            key, events = self._events.popitem(last=False)
            event = events.popleft()
            if events:
                self._events[key] = events
            return event


class PendingEventMerger:
    """Merges pending events in slices, one event at a time."""

    def __init__(
        self,
        db: Database,
        org: str,
        writer: Writer,
        process: ChildProcess,
        reader: EventReader,
        events: PendingEvents,
    ) -> None:
        self._db = db
        self._org = org
        self._writer = writer
        self._process = process
        self._reader = reader
        self._events = events

    def load(self) -> None:
        """Queue the events that are pending in the store: an earlier process may have left them behind."""
        self._events.add("", list_pending_events(self._db, self._org, _LISTED_EVENTS))

    def merge_next(self) -> bool:
        """Merge the next event. Return False if none is pending."""
        key = self._events.take()
        if key is None:
            return False
        pending_event = read_pending_event(self._db, self._org, key)
        if pending_event is not None:
            try:
                mapped = self._process.call(_map_event, self._reader, pending_event.payload, pending_event.source)
            except CallFailed as error:
                mapped = MappedSlices([], f"cannot be mapped: {error}")
            if mapped.failure is None:
                self._writer.merge_slices(key, mapped.unpickle())
            else:
                self._writer.finish_pending(key, mapped.failure)
        return True

    def close(self) -> None:
        self._writer.close()
