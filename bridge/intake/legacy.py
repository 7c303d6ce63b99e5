"""Parses legacy bodies into events."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import structlog

from bridge.intake.event_reader import EventReader
from bridge.store.event_log import IncomingEvent, RejectedInput
from mappers.errors import InputTooLarge, InvalidInput
from mappers.legacy.formats import LegacyFormat, translate_body
from mappers.legacy.names import LegacyNamespaces

_log = structlog.get_logger()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PREFIX = "legacy:"
_HISTORICAL = "?historical=true"


class LegacyInputKind(NamedTuple):
    """Format of a legacy body, and whether the body is historical. The body itself contains neither."""

    legacy_format: LegacyFormat
    historical: bool = False

    def source_name(self) -> str:
        """Return the source name of rejected bodies, which contains everything that a retry needs."""
        suffix = _HISTORICAL if self.historical else ""
        return f"{_PREFIX}{self.legacy_format}{suffix}"

    @classmethod
    def from_source_name(cls, source: str) -> "LegacyInputKind | None":
        """Parse a source name. Return None if it does not belong to a legacy body."""
        name = source.removeprefix(_PREFIX).removesuffix(_HISTORICAL)
        if not source.startswith(_PREFIX) or name not in set(LegacyFormat):
            return None
        return cls(LegacyFormat(name), source.endswith(_HISTORICAL))


class LegacyReader:
    """Translates legacy bodies to OpenLineage events, and parses the events."""

    def __init__(self, reader: EventReader, namespaces: LegacyNamespaces) -> None:
        self._reader = reader
        self._namespaces = namespaces

    def read(
        self, body: bytes, kind: LegacyInputKind, received_at: int, extra_notes: Sequence[str] = ()
    ) -> list[IncomingEvent] | RejectedInput:
        """Parse a body into events. A body that cannot be translated is returned as a RejectedInput."""
        received_time = (_EPOCH + timedelta(microseconds=received_at)).isoformat()
        try:
            events, notes = translate_body(kind.legacy_format, body, self._namespaces, received_time)
        except InvalidInput as error:
            return self.reject(body, kind, error)
        except Exception as error:  # noqa: BLE001 - a bug here must not lose the body: it is stored with its reason
            _log.exception("legacy body could not be translated", contract=str(kind.legacy_format))
            return self.reject(body, kind, InvalidInput(f"{type(error).__name__}: {error}"))
        source = f"{_PREFIX}{kind.legacy_format}"
        items = [self._reader.read(event, source, historical=kind.historical) for event in events]
        rejected_input = next((item for item in items if isinstance(item, RejectedInput)), None)
        if rejected_input is not None:
            return self._reader.reject_as(rejected_input, body, kind.source_name())
        return _add_notes([item for item in items if isinstance(item, IncomingEvent)], (*extra_notes, *notes))

    def reject(self, body: bytes, kind: LegacyInputKind, error: InvalidInput | InputTooLarge) -> RejectedInput:
        return self._reader.reject(body, kind.source_name(), error)


def _add_notes(items: Sequence[IncomingEvent], notes: Sequence[str]) -> list[IncomingEvent]:
    """Add notes to the last event, which the body describes. A generated start event may precede it."""
    *start_events, described_event = items
    return [*start_events, described_event._replace(notes=list(dict.fromkeys((*notes, *described_event.notes))))]
