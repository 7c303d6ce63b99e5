"""Legacy bodies through the one door: translated into OpenLineage events, and read as such."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import structlog

from bridge.intake.reading import Reader
from bridge.store.writer import Incoming, Rejected
from mappers.errors import RefusedEvent, TooLarge
from mappers.legacy.contracts import Contract, translate
from mappers.legacy.names import LegacyNames

_log = structlog.get_logger()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PREFIX = "legacy:"
_HISTORICAL = "?historical=true"


class Delivery(NamedTuple):
    """What a body is meant to be, which its bytes alone do not tell."""

    contract: Contract
    historical: bool = False

    def source(self) -> str:
        """Name the delivery as the source of what is refused, so that it can be tried again as what it was."""
        return f"{_PREFIX}{self.contract}{_HISTORICAL if self.historical else ''}"

    @classmethod
    def of_source(cls, source: str) -> "Delivery | None":
        """Read the delivery from the source of what was refused; None when it was no legacy body."""
        name = source.removeprefix(_PREFIX).removesuffix(_HISTORICAL)
        if not source.startswith(_PREFIX) or name not in set(Contract):
            return None
        return cls(Contract(name), source.endswith(_HISTORICAL))


class LegacyReader:
    """Reads legacy bodies by one set of names."""

    def __init__(self, reader: Reader, names: LegacyNames) -> None:
        self._reader = reader
        self._names = names

    def read(
        self, body: bytes, delivery: Delivery, received_at: int, noted: Sequence[str] = ()
    ) -> list[Incoming] | Rejected:
        """Read the events a body stands for; what cannot be translated comes back as it was sent, with the reason."""
        received = (_EPOCH + timedelta(microseconds=received_at)).isoformat()
        try:
            events, notes = translate(delivery.contract, body, self._names, received)
        except RefusedEvent as error:
            return self.refuse(body, delivery, error)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not lose the body: kept with its reason
            _log.exception("legacy body could not be translated", contract=str(delivery.contract))
            return self.refuse(body, delivery, RefusedEvent(f"{type(error).__name__}: {error}"))
        source = f"{_PREFIX}{delivery.contract}"
        items = [self._reader.read(event, source, historical=delivery.historical) for event in events]
        refused = next((item for item in items if isinstance(item, Rejected)), None)
        if refused is not None:
            return self._reader.refuse_as(refused, body, delivery.source())
        return _with_notes([item for item in items if isinstance(item, Incoming)], (*noted, *notes))

    def refuse(self, body: bytes, delivery: Delivery, error: RefusedEvent | TooLarge) -> Rejected:
        """Keep a body that was refused, as it was sent."""
        return self._reader.refuse(body, delivery.source(), error)


def _with_notes(items: Sequence[Incoming], notes: Sequence[str]) -> list[Incoming]:
    """Put what was guessed to the event that the body is about; a start told beside it comes before."""
    *started, last = items
    return [*started, last._replace(notes=list(dict.fromkeys((*notes, *last.notes))))]
