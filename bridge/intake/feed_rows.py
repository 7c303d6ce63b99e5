"""Parses rows of a feed into run events."""

from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from bridge.intake.event_reader import EventReader
from bridge.intake.legacy import LegacyInputKind, LegacyReader
from bridge.store.event_log import IncomingEvent, RejectedInput
from mappers.canonical_json import JsonObject
from mappers.errors import InvalidInput
from mappers.legacy.feed import row_to_run_event
from mappers.legacy.formats import LegacyFormat

_PREFIX = "row:"
_HISTORICAL = "?historical=true"
_decoder = msgspec.json.Decoder(dict[str, Any])


class FeedInputKind(NamedTuple):
    """What is said of a whole table, which its rows alone do not tell."""

    technology: str
    timezone: str = "UTC"
    historical: bool = False

    def source_name(self) -> str:
        """Name the table as the source of what is refused, so that it can be tried again as the row that it was."""
        return f"{_PREFIX}{self.technology}@{self.timezone}{_HISTORICAL if self.historical else ''}"

    @classmethod
    def from_source_name(cls, source: str) -> "FeedInputKind | None":
        """Read what was said from the source of a refused row; None when it was no row."""
        technology, found, timezone = source.removeprefix(_PREFIX).removesuffix(_HISTORICAL).partition("@")
        if not source.startswith(_PREFIX) or not found:
            return None
        return cls(technology, timezone, source.endswith(_HISTORICAL))


class FeedRowReader:
    """Reads rows, each as a JSON object."""

    def __init__(self, reader: EventReader, legacy: LegacyReader) -> None:
        self._reader = reader
        self._legacy = legacy

    def read(self, row: bytes, delivery: FeedInputKind, received_at: int) -> list[IncomingEvent] | RejectedInput:
        """Read the events a row stands for; one that is no run comes back as it was, with the reason."""
        notes: list[str] = []
        try:
            body = _body(row, delivery, notes)
        except InvalidInput as error:
            return self.reject(row, delivery, error)
        run_event = LegacyInputKind(LegacyFormat.RUN_EVENT, delivery.historical)
        found = self._legacy.read(msgspec.json.encode(body), run_event, received_at, notes)
        return (
            self._reader.reject_as(found, row, delivery.source_name()) if isinstance(found, RejectedInput) else found
        )

    def reject(self, row: bytes, delivery: FeedInputKind, error: InvalidInput) -> RejectedInput:
        """Keep what is no row as it was, with the reason."""
        return self._reader.reject(row, delivery.source_name(), error)


def _body(row: bytes, delivery: FeedInputKind, notes: list[str]) -> JsonObject:
    try:
        return row_to_run_event(_decoder.decode(row), delivery.technology, ZoneInfo(delivery.timezone), notes)
    except msgspec.DecodeError as error:
        raise InvalidInput(str(error)) from error
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InvalidInput(f"this machine knows no time zone {delivery.timezone}") from error
