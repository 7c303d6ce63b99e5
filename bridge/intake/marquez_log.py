"""Imports the event log of a Marquez server."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

import msgspec

from bridge.intake.event_reader import EventReader
from bridge.intake.source import IntakeReport
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from bridge.store.writer import Writer
from connectors.marquez.client import MarquezClient
from connectors.marquez.event_log import LogWindow, read_windows
from mappers.canonical.identity import NO_ID
from mappers.canonical_json import JsonObject, drop_nulls
from mappers.timestamps import MAX_MICROS

_MICROS_PER_SECOND = 1_000_000
#: Maximum number of remembered events of the lookback period; they are not written again.
_MAX_SEEN_HASHES = 100_000


class MarquezLogSource:
    """Imports the event log of a server, and stores the position up to which it was read.

    The log is ordered by event time, not by arrival, so late events appear before the position. Each poll therefore
    reads the lookback period (by default one hour) again.
    """

    def __init__(
        self,
        client: MarquezClient,
        reader: EventReader,
        writer: Writer,
        clock: Callable[[], int],
        *,
        since: int | None = None,
        lookback_seconds: float = 3_600.0,
    ) -> None:
        self._client = client
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._since = since
        self._lookback = int(lookback_seconds * _MICROS_PER_SECOND)
        self._seen_hashes: OrderedDict[bytes, None] = OrderedDict()
        self.name = client.source_name

    def poll(self) -> IntakeReport:
        now = self._clock()
        position = self._writer.file_position(self.name)
        stored_offset = position.offset if position else 0
        begin = stored_offset - self._lookback
        stores_position = True
        if self._since is not None:
            # The position must not move past events before `since` that may never have been read.
            stores_position = position is not None and self._since <= stored_offset
            begin, self._since = self._since, None
        report = IntakeReport()
        for window in self._read_windows(max(begin, 0), now):
            new_position = FilePosition(self.name, NO_ID, max(min(window.end, now), stored_offset))
            report = report.add(self._write_window(window, [new_position] if stores_position else [], now))
        return report

    def close(self) -> None:
        self._client.close()

    def _read_windows(self, begin: int, now: int) -> Iterator[LogWindow]:
        """Read events up to the current time, then events from the future, because some clocks are wrong."""
        yield from read_windows(self._client, begin, now)
        yield from read_windows(self._client, max(begin, now), MAX_MICROS, span=MAX_MICROS)

    def _write_window(self, window: LogWindow, positions: Sequence[FilePosition], now: int) -> IntakeReport:
        items = self._parse_unseen_events(window.events)
        self._writer.write(items, positions)
        for item in items:
            if isinstance(item, IncomingEvent) and item.event.micros >= now - self._lookback:
                self._remember_hash(item.event.event_hash)
        return IntakeReport.of(items)

    def _parse_unseen_events(self, events: Sequence[JsonObject]) -> list[IncomingEvent | RejectedInput]:
        items = [self._reader.read(msgspec.json.encode(drop_nulls(event)), self.name) for event in events]
        return [
            item
            for item in items
            if isinstance(item, RejectedInput) or item.event.event_hash not in self._seen_hashes
        ]

    def _remember_hash(self, hash_: bytes) -> None:
        self._seen_hashes[hash_] = None
        if len(self._seen_hashes) > _MAX_SEEN_HASHES:
            self._seen_hashes.popitem(last=False)
