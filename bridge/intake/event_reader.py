"""Parses and maps one event; rejects invalid input."""

from collections.abc import Callable, Sequence

import structlog

from bridge.clock import now_micros
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.row_slices import row_bytes
from mappers.canonical.identity import digest
from mappers.canonical.merge import Row
from mappers.errors import InputTooLarge, InvalidInput, RowLimitExceeded
from mappers.openlineage.event import Event, EventLimits, parse_event
from mappers.openlineage.event_mapper import map_event
from mappers.openlineage.redaction import redact_input, redact_text
from mappers.openlineage.row_builder import MappingOptions

_log = structlog.get_logger()

#: Writing a larger row would delay other events.
_MAX_ROW_BYTES = 8 << 20


class EventReader:
    """Parses and maps events with one set of mapping options and limits."""

    def __init__(self, options: MappingOptions, limits: EventLimits, clock: Callable[[], int] = now_micros) -> None:
        self._options = options
        self._limits = limits
        self._clock = clock

    def read(self, payload: bytes, source: str, *, historical: bool = False) -> IncomingEvent | RejectedInput:
        """Parse and map one event. Invalid input is returned as a RejectedInput."""
        received_at = self._clock()
        try:
            event = parse_event(payload, self._limits)
        except (InvalidInput, InputTooLarge) as error:
            return self.reject(payload, source, error)
        except RecursionError:
            return self.reject(payload, source, InvalidInput("nested too deeply"))
        return self.map(event, event.redacted_body or payload, source, received_at, historical=historical)

    def map(self, event: Event, payload: bytes, source: str, received_at: int, *, historical: bool) -> IncomingEvent:
        """Map a parsed event. An event that cannot be mapped is returned with the failure."""
        try:
            rows, notes = map_event(event, self._options)
            if len(payload) > _MAX_ROW_BYTES:
                _check_row_sizes(rows)
        except RowLimitExceeded as error:
            return IncomingEvent(payload, event, (), event.notes, received_at, source, historical, str(error))
        except Exception as error:  # noqa: BLE001 - a bug here must not lose the event: it is stored with its reason
            _log.exception("event could not be mapped", event_hash=event.event_hash.hex())
            reason = f"{type(error).__name__}: {error}"
            return IncomingEvent(payload, event, (), event.notes, received_at, source, historical, reason)
        return IncomingEvent(payload, event, rows, notes, received_at, source, historical)

    def reject_as(self, rejected_input: RejectedInput, payload: bytes, source: str) -> RejectedInput:
        """Reject an input for the same reason as an event that was built from it."""
        if rejected_input.too_large:
            return self.reject(payload, source, InputTooLarge(rejected_input.reason))
        return self.reject(payload, source, InvalidInput(rejected_input.reason, rejected_input.path))

    def reject(self, payload: bytes, source: str, error: InvalidInput | InputTooLarge) -> RejectedInput:
        """Build a RejectedInput for invalid bytes, without the secrets in them.

        The hash covers bytes and source, because the same bytes may mean something else in another source. If the
        input was too large to be received, the reason is hashed instead of the bytes.
        """
        reason, path = (error.reason, error.path) if isinstance(error, InvalidInput) else (str(error), "")
        payload, reason = redact_input(payload), redact_text(reason)
        payload_hash = digest(source.encode() + b"\0" + (payload or reason.encode(errors="replace")))
        return RejectedInput(
            payload, payload_hash, reason, path, self._clock(), source, isinstance(error, InputTooLarge)
        )


def _check_row_sizes(rows: Sequence[Row]) -> None:
    size = max(map(row_bytes, rows), default=0)
    if size > _MAX_ROW_BYTES:
        raise RowLimitExceeded(f"the event contains a value of {size} bytes; the limit is {_MAX_ROW_BYTES}")
