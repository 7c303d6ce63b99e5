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

_SECOND = 1_000_000
#: How many events of the time that is read again and again are remembered, so that they are not written again.
_REMEMBERED = 100_000


class MarquezLogSource:
    """Takes the log of a server; how far it was read is kept in the store.

    The log is ordered by the times of events, not of arrival: what comes late lies before what was read. So the last
    hour, or more, is read again each time.
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
        self._lookback = int(lookback_seconds * _SECOND)
        self._seen: OrderedDict[bytes, None] = OrderedDict()
        self.name = client.source_name

    def poll(self) -> IntakeReport:
        """Take what is new."""
        known, now = self._writer.file_position(self.name), self._clock()
        begin = known.offset - self._lookback if known else 0
        is_whole = True
        if self._since is not None:
            # What lies before it was perhaps never read: where the log was left stays as it was.
            is_whole = known is not None and self._since <= known.offset
            begin, self._since = self._since, None
        report, left = IntakeReport(), known.offset if known else 0
        for window in self._windows(max(begin, 0), now):
            read = FilePosition(self.name, NO_ID, max(min(window.end, now), left))
            report = report.add(self._take(window, [read] if is_whole else [], now))
        return report

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _windows(self, begin: int, now: int) -> Iterator[LogWindow]:
        """Read all until now, and then what says that it happens later: there are clocks that are wrong."""
        yield from read_windows(self._client, begin, now)
        yield from read_windows(self._client, max(begin, now), MAX_MICROS, span=MAX_MICROS)

    def _take(self, window: LogWindow, read: Sequence[FilePosition], now: int) -> IntakeReport:
        items = self._new(window.events)
        self._writer.write(items, read)
        for item in items:
            if isinstance(item, IncomingEvent) and item.event.micros >= now - self._lookback:
                self._remember(item.event.event_hash)
        return IntakeReport.of(items)

    def _new(self, events: Sequence[JsonObject]) -> list[IncomingEvent | RejectedInput]:
        items = [self._reader.read(msgspec.json.encode(drop_nulls(one)), self.name) for one in events]
        return [item for item in items if isinstance(item, RejectedInput) or item.event.event_hash not in self._seen]

    def _remember(self, hash_: bytes) -> None:
        self._seen[hash_] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
