"""From bytes to what the writer commits: an event with its statements, or a refusal with its reason."""

import time
from collections.abc import Callable

import structlog

from bridge.store.writer import Incoming, Rejected
from mappers.canonical.identity import digest
from mappers.errors import RefusedEvent, TooLarge
from mappers.openlineage.event import Event, Limits, read_event
from mappers.openlineage.mapping import map_event
from mappers.openlineage.statements import Rules

_log = structlog.get_logger()


def now_micros() -> int:
    """Tell the time as the store keeps it."""
    return time.time_ns() // 1000


class Reader:
    """Reads events by one set of rules and limits."""

    def __init__(self, rules: Rules, limits: Limits, clock: Callable[[], int] = now_micros) -> None:
        self._rules = rules
        self._limits = limits
        self._clock = clock

    def read(self, payload: bytes, source: str, *, historical: bool = False) -> Incoming | Rejected:
        """Read and map one event; what is no event comes back as rejected, never as an exception."""
        received_at = self._clock()
        try:
            event = read_event(payload, self._limits)
        except (RefusedEvent, TooLarge) as error:
            return self.refuse(payload, source, error)
        except RecursionError:
            return self.refuse(payload, source, RefusedEvent("nested too deeply"))
        return self.map(event, payload, source, received_at, historical=historical)

    def map(self, event: Event, payload: bytes, source: str, received_at: int, *, historical: bool) -> Incoming:
        """Map an event that was read; what cannot be mapped is kept with the reason."""
        try:
            rows, notes = map_event(event, self._rules)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not lose the event: kept with its reason
            _log.exception("event could not be mapped", event_hash=event.event_hash.hex())
            reason = f"{type(error).__name__}: {error}"
            return Incoming(payload, event, (), event.notes, received_at, source, historical, reason)
        return Incoming(payload, event, rows, notes, received_at, source, historical)

    def refuse_as(self, found: Rejected, payload: bytes, source: str) -> Rejected:
        """Keep what became a refused event, as it was sent."""
        reason = TooLarge(found.reason) if found.too_large else RefusedEvent(found.reason, found.path)
        return self.refuse(payload, source, reason)

    def refuse(self, payload: bytes, source: str, error: RefusedEvent | TooLarge) -> Rejected:
        """Keep bytes that are no event, with the reason.

        They are known by their hash and source, because the same bytes may mean different things elsewhere; what was
        too large to be received, by the reason.
        """
        reason, path = (error.reason, error.path) if isinstance(error, RefusedEvent) else (str(error), "")
        known_by = digest(source.encode() + b"\0" + (payload or reason.encode(errors="replace")))
        return Rejected(payload, known_by, reason, path, self._clock(), source, isinstance(error, TooLarge))
