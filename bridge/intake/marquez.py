"""The event log of a Marquez server into the store: each time what is new, and what came late."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

import msgspec

from bridge.intake.reading import Reader
from bridge.intake.source import Report
from bridge.store.writer import Incoming, Position, Rejected, Writer
from connectors.marquez.client import Entity, Marquez
from connectors.marquez.log import Window, windows
from mappers.canonical.identity import NOBODY
from mappers.openlineage.parts import without_nulls
from mappers.when import LAST_MICROS

_SECOND = 1_000_000
#: How many events of the time that is read again and again are remembered, so that they are not written again.
_REMEMBERED = 100_000


class MarquezLog:
    """Takes the log of a server; how far it was read is kept in the store.

    The log is ordered by the times of events, not of arrival: what comes late lies before what was read. So the last
    hour, or more, is read again each time.
    """

    def __init__(
        self,
        client: Marquez,
        reader: Reader,
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
        self.name = client.source

    def once(self) -> Report:
        """Take what is new."""
        known, now = self._writer.position(self.name), self._clock()
        begin = known.end - self._lookback if known else 0
        is_whole = True
        if self._since is not None:
            # What lies before it was perhaps never read: where the log was left stays as it was.
            is_whole = known is not None and self._since <= known.end
            begin, self._since = self._since, None
        report, left = Report(), known.end if known else 0
        for window in self._windows(max(begin, 0), now):
            read = Position(self.name, NOBODY, max(min(window.end, now), left))
            report = report.plus(self._take(window, [read] if is_whole else [], now))
        return report

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _windows(self, begin: int, now: int) -> Iterator[Window]:
        """Read all until now, and then what says that it happens later: there are clocks that are wrong."""
        yield from windows(self._client, begin, now)
        yield from windows(self._client, max(begin, now), LAST_MICROS, span=LAST_MICROS)

    def _take(self, window: Window, read: Sequence[Position], now: int) -> Report:
        items = self._new(window.events)
        self._writer.write(items, read)
        for item in items:
            if isinstance(item, Incoming) and item.event.micros >= now - self._lookback:
                self._remember(item.event.event_hash)
        return Report.of(items)

    def _new(self, events: Sequence[Entity]) -> list[Incoming | Rejected]:
        items = [self._reader.read(msgspec.json.encode(without_nulls(one)), self.name) for one in events]
        return [item for item in items if isinstance(item, Rejected) or item.event.event_hash not in self._seen]

    def _remember(self, hash_: bytes) -> None:
        self._seen[hash_] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
