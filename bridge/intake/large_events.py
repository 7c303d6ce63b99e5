"""Reads large events in a child process, and merges events with many rows after they were acknowledged."""

import asyncio
import pickle
from collections.abc import Iterator
from typing import NamedTuple

import zstandard

from bridge.clock import now_micros
from bridge.intake.child_process import CallFailed, ChildProcess
from bridge.intake.event_reader import EventReader
from bridge.intake.fair_turns import FairTurns
from bridge.intake.legacy import LegacyInputKind, LegacyReader
from bridge.intake.pending_events import PendingEvents
from bridge.store.database import Database
from bridge.store.event_log import EventKey, IncomingEvent, RejectedInput, list_pending_events, read_pending_event
from bridge.store.row_slices import slice_rows
from bridge.store.writer import Writer, without_rows
from mappers.canonical.merge import Row
from mappers.errors import InputTooLarge, InvalidInput, TransientError
from mappers.openlineage.facet_parser import ParsedDataset

#: Larger bodies and events are parsed in the child process. Parsing a body of this size takes about 20 ms.
LARGE_BYTES = 256 << 10
#: Maximum number of large inputs of one key that wait to be read.
MAX_WAITING_PER_KEY = 20
#: Pending events in the store that this process did not receive are merged if they have waited for this long.
_ABANDONED_SECONDS = 60
_LISTED_EVENTS = 1_000


class AsyncEventReader:
    """Reads events and legacy bodies for an event loop, large ones in a child process.

    Large inputs are read one at a time, and the keys that send them take turns.
    """

    def __init__(self, process: ChildProcess, reader: EventReader, legacy: LegacyReader) -> None:
        self._process = process
        self._reader = reader
        self._legacy = legacy
        self._turns = FairTurns(MAX_WAITING_PER_KEY)

    async def read(self, payload: bytes, source: str, key: str = "") -> IncomingEvent | RejectedInput:
        """Parse and map an event. A large event with many rows is returned without them, as pending."""
        if len(payload) <= LARGE_BYTES:
            return self._reader.read(payload, source)
        async with self._turns.turn(key):
            try:
                return await asyncio.to_thread(self._process.call, _read_event, self._reader, payload, source)
            except CallFailed as error:
                return self._reader.reject(payload, source, InvalidInput(f"cannot be parsed: {error}"))

    async def read_legacy(
        self, body: bytes, kind: LegacyInputKind, received_at: int, key: str = ""
    ) -> list[IncomingEvent] | RejectedInput:
        if len(body) <= LARGE_BYTES:
            return self._legacy.read(body, kind, received_at)
        async with self._turns.turn(key):
            try:
                return await asyncio.to_thread(self._process.call, self._legacy.read, body, kind, received_at)
            except CallFailed as error:
                return self._legacy.reject(body, kind, InvalidInput(f"cannot be parsed: {error}"))

    def reject(self, payload: bytes, source: str, error: InvalidInput | InputTooLarge) -> RejectedInput:
        return self._reader.reject(payload, source, error)

    def reject_legacy(self, body: bytes, kind: LegacyInputKind, error: InvalidInput | InputTooLarge) -> RejectedInput:
        return self._legacy.reject(body, kind, error)


class MappedSlices(NamedTuple):
    """The rows of an event in pickled slices, and the reason if the event cannot be mapped."""

    slices: list[bytes]
    failure: str | None = None

    def unpickle(self) -> Iterator[list[Row]]:
        return (pickle.loads(rows) for rows in self.slices)  # noqa: S301 - pickled by our own child process


def _read_event(reader: EventReader, payload: bytes, source: str) -> IncomingEvent | RejectedInput:
    """Read an event. Leave out of the result what the service can do without."""
    item = without_rows(reader.read(payload, source))
    compressed_payload = zstandard.ZstdCompressor(level=1).compress(item.payload or b"")
    if isinstance(item, RejectedInput):
        return item._replace(payload=b"", size=len(item.payload or b""), compressed_payload=compressed_payload)
    event = item.event._replace(
        run_facets={}, job_facets={}, dataset=None, redacted_body=None,
        inputs=[_without_facets(dataset) for dataset in item.event.inputs],
        outputs=[_without_facets(dataset) for dataset in item.event.outputs],
    )  # fmt: skip
    return item._replace(payload=b"", compressed_payload=compressed_payload, event=event)


def _without_facets(dataset: ParsedDataset) -> ParsedDataset:
    return ParsedDataset(dataset.namespace, dataset.name, {}, {}, {}, ())


def _map_event(reader: EventReader, payload: bytes, source: str) -> MappedSlices:
    item = reader.read(payload, source)
    if isinstance(item, RejectedInput):
        return MappedSlices([], item.message)
    slices = [pickle.dumps(rows, pickle.HIGHEST_PROTOCOL) for rows in slice_rows(item.rows)]
    return MappedSlices(slices, item.failure)


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

    def load_abandoned(self, seconds: float = _ABANDONED_SECONDS) -> None:
        """Queue events that have been pending in the store for this long: another process may have left them."""
        received_before = now_micros() - int(seconds * 1e6)
        self._events.add("", list_pending_events(self._db, self._org, received_before, _LISTED_EVENTS))

    def merge_next(self) -> bool:
        """Merge the next event. Return False if none is pending."""
        with self._events.take() as key:
            if key is None:
                return False
            try:
                self._merge(key)
            except TransientError:
                self._events.add("", [key])
                raise
        return True

    def close(self) -> None:
        self._writer.close()

    def _merge(self, key: EventKey) -> None:
        pending_event = read_pending_event(self._db, self._org, key)
        if pending_event is None:
            return  # another process has merged it
        try:
            mapped = self._process.call(_map_event, self._reader, pending_event.payload, pending_event.source)
        except CallFailed as error:
            mapped = MappedSlices([], f"cannot be mapped: {error}")
        if mapped.failure is None:
            self._writer.merge_slices(key, mapped.unpickle())
        else:
            self._writer.finish_pending(key, mapped.failure)
