"""Rows of tables of runs through the door of legacy jobs; one that is refused stays the row that it was."""

from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from bridge.intake.legacy import Delivery, LegacyReader
from bridge.intake.reading import Reader
from bridge.store.writer import Incoming, Rejected
from mappers.errors import RefusedEvent
from mappers.legacy.contracts import Contract
from mappers.legacy.feed import Body, body_of_row

_PREFIX = "row:"
_HISTORICAL = "?historical=true"
_decoder = msgspec.json.Decoder(dict[str, Any])


class RowDelivery(NamedTuple):
    """What is said of a whole table, which its rows alone do not tell."""

    technology: str
    timezone: str = "UTC"
    historical: bool = False

    def source(self) -> str:
        """Name the table as the source of what is refused, so that it can be tried again as the row that it was."""
        return f"{_PREFIX}{self.technology}@{self.timezone}{_HISTORICAL if self.historical else ''}"

    @classmethod
    def of_source(cls, source: str) -> "RowDelivery | None":
        """Read what was said from the source of a refused row; None when it was no row."""
        technology, found, timezone = source.removeprefix(_PREFIX).removesuffix(_HISTORICAL).partition("@")
        if not source.startswith(_PREFIX) or not found:
            return None
        return cls(technology, timezone, source.endswith(_HISTORICAL))


class RowReader:
    """Reads rows, each as a JSON object."""

    def __init__(self, reader: Reader, legacy: LegacyReader) -> None:
        self._reader = reader
        self._legacy = legacy

    def read(self, row: bytes, delivery: RowDelivery, received_at: int) -> list[Incoming] | Rejected:
        """Read the events a row stands for; one that is no run comes back as it was, with the reason."""
        notes: list[str] = []
        try:
            body = _body(row, delivery, notes)
        except RefusedEvent as error:
            return self.refuse(row, delivery, error)
        run_event = Delivery(Contract.RUN_EVENT, delivery.historical)
        found = self._legacy.read(msgspec.json.encode(body), run_event, received_at, notes)
        return self._reader.refuse_as(found, row, delivery.source()) if isinstance(found, Rejected) else found

    def refuse(self, row: bytes, delivery: RowDelivery, error: RefusedEvent) -> Rejected:
        """Keep what is no row as it was, with the reason."""
        return self._reader.refuse(row, delivery.source(), error)


def _body(row: bytes, delivery: RowDelivery, notes: list[str]) -> Body:
    try:
        return body_of_row(_decoder.decode(row), delivery.technology, ZoneInfo(delivery.timezone), notes)
    except msgspec.DecodeError as error:
        raise RefusedEvent(str(error)) from error
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise RefusedEvent(f"this machine knows no time zone {delivery.timezone}") from error
