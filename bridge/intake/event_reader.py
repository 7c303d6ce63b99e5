"""Parses and maps one event; rejects invalid input."""

from collections.abc import Callable

import structlog

from bridge.clock import now_micros
from bridge.store.event_log import IncomingEvent, RejectedInput
from mappers.canonical.identity import digest
from mappers.errors import InputTooLarge, InvalidInput
from mappers.openlineage.event import Event, EventLimits, parse_event
from mappers.openlineage.event_mapper import map_event
from mappers.openlineage.row_builder import MappingOptions

_log = structlog.get_logger()


class EventReader:
    """Reads events by one set of rules and limits."""

    def __init__(self, rules: MappingOptions, limits: EventLimits, clock: Callable[[], int] = now_micros) -> None:
        self._rules = rules
        self._limits = limits
        self._clock = clock

    def read(self, payload: bytes, source: str, *, historical: bool = False) -> IncomingEvent | RejectedInput:
        """Read and map one event; what is no event comes back as rejected, never as an exception."""
        received_at = self._clock()
        try:
            event = parse_event(payload, self._limits)
        except (InvalidInput, InputTooLarge) as error:
            return self.reject(payload, source, error)
        except RecursionError:
            return self.reject(payload, source, InvalidInput("nested too deeply"))
        return self.map(event, payload, source, received_at, historical=historical)

    def map(self, event: Event, payload: bytes, source: str, received_at: int, *, historical: bool) -> IncomingEvent:
        """Map an event that was read; what cannot be mapped is kept with the reason."""
        try:
            rows, notes = map_event(event, self._rules)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not lose the event: kept with its reason
            _log.exception("event could not be mapped", event_hash=event.event_hash.hex())
            reason = f"{type(error).__name__}: {error}"
            return IncomingEvent(payload, event, (), event.notes, received_at, source, historical, reason)
        return IncomingEvent(payload, event, rows, notes, received_at, source, historical)

    def reject_as(self, found: RejectedInput, payload: bytes, source: str) -> RejectedInput:
        """Keep what became a refused event, as it was sent."""
        reason = InputTooLarge(found.reason) if found.too_large else InvalidInput(found.reason, found.path)
        return self.reject(payload, source, reason)

    def reject(self, payload: bytes, source: str, error: InvalidInput | InputTooLarge) -> RejectedInput:
        """Keep bytes that are no event, with the reason.

        They are known by their hash and source, because the same bytes may mean different things elsewhere; what was
        too large to be received, by the reason.
        """
        reason, path = (error.reason, error.path) if isinstance(error, InvalidInput) else (str(error), "")
        known_by = digest(source.encode() + b"\0" + (payload or reason.encode(errors="replace")))
        return RejectedInput(payload, known_by, reason, path, self._clock(), source, isinstance(error, InputTooLarge))
