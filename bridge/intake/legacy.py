"""Legacy bodies through the one door: translated into OpenLineage events, and read as such."""

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
    """What a body is meant to be, which its bytes alone do not tell."""

    contract: LegacyFormat
    historical: bool = False

    def source_name(self) -> str:
        """Name the delivery as the source of what is refused, so that it can be tried again as what it was."""
        return f"{_PREFIX}{self.contract}{_HISTORICAL if self.historical else ''}"

    @classmethod
    def from_source_name(cls, source: str) -> "LegacyInputKind | None":
        """Read the delivery from the source of what was refused; None when it was no legacy body."""
        name = source.removeprefix(_PREFIX).removesuffix(_HISTORICAL)
        if not source.startswith(_PREFIX) or name not in set(LegacyFormat):
            return None
        return cls(LegacyFormat(name), source.endswith(_HISTORICAL))


class LegacyReader:
    """Reads legacy bodies by one set of names."""

    def __init__(self, reader: EventReader, names: LegacyNamespaces) -> None:
        self._reader = reader
        self._names = names

    def read(
        self, body: bytes, delivery: LegacyInputKind, received_at: int, noted: Sequence[str] = ()
    ) -> list[IncomingEvent] | RejectedInput:
        """Read the events a body stands for; what cannot be translated comes back as it was sent, with the reason."""
        received = (_EPOCH + timedelta(microseconds=received_at)).isoformat()
        try:
            events, notes = translate_body(delivery.contract, body, self._names, received)
        except InvalidInput as error:
            return self.reject(body, delivery, error)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not lose the body: kept with its reason
            _log.exception("legacy body could not be translated", contract=str(delivery.contract))
            return self.reject(body, delivery, InvalidInput(f"{type(error).__name__}: {error}"))
        source = f"{_PREFIX}{delivery.contract}"
        items = [self._reader.read(event, source, historical=delivery.historical) for event in events]
        refused = next((item for item in items if isinstance(item, RejectedInput)), None)
        if refused is not None:
            return self._reader.reject_as(refused, body, delivery.source_name())
        return _with_notes([item for item in items if isinstance(item, IncomingEvent)], (*noted, *notes))

    def reject(self, body: bytes, delivery: LegacyInputKind, error: InvalidInput | InputTooLarge) -> RejectedInput:
        """Keep a body that was refused, as it was sent."""
        return self._reader.reject(body, delivery.source_name(), error)


def _with_notes(items: Sequence[IncomingEvent], notes: Sequence[str]) -> list[IncomingEvent]:
    """Put what was guessed to the event that the body is about; a start told beside it comes before."""
    *started, last = items
    return [*started, last._replace(notes=list(dict.fromkeys((*notes, *last.notes))))]
