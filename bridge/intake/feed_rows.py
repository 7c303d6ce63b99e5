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
    """Properties of a table that its rows do not contain."""

    technology: str
    timezone: str = "UTC"
    historical: bool = False

    def source_name(self) -> str:
        """Return the source name of rejected rows, which contains everything that a retry needs."""
        suffix = _HISTORICAL if self.historical else ""
        return f"{_PREFIX}{self.technology}@{self.timezone}{suffix}"

    @classmethod
    def from_source_name(cls, source: str) -> "FeedInputKind | None":
        """Parse a source name. Return None if it does not belong to a row."""
        technology, separator, timezone = source.removeprefix(_PREFIX).removesuffix(_HISTORICAL).partition("@")
        if not source.startswith(_PREFIX) or not separator:
            return None
        return cls(technology, timezone, source.endswith(_HISTORICAL))


class FeedRowReader:
    """Parses rows, each a JSON object, into events."""

    def __init__(self, reader: EventReader, legacy: LegacyReader) -> None:
        self._reader = reader
        self._legacy = legacy

    def read(self, row: bytes, kind: FeedInputKind, received_at: int) -> list[IncomingEvent] | RejectedInput:
        """Parse a row into events. A row that describes no run is returned as a RejectedInput."""
        notes: list[str] = []
        try:
            body = _parse_body(row, kind, notes)
        except InvalidInput as error:
            return self.reject(row, kind, error)
        run_event = LegacyInputKind(LegacyFormat.RUN_EVENT, kind.historical)
        parsed = self._legacy.read(msgspec.json.encode(body), run_event, received_at, notes)
        if isinstance(parsed, RejectedInput):
            return self._reader.reject_as(parsed, row, kind.source_name())
        return parsed

    def reject(self, row: bytes, kind: FeedInputKind, error: InvalidInput) -> RejectedInput:
        return self._reader.reject(row, kind.source_name(), error)


def _parse_body(row: bytes, kind: FeedInputKind, notes: list[str]) -> JsonObject:
    try:
        return row_to_run_event(_decoder.decode(row), kind.technology, ZoneInfo(kind.timezone), notes)
    except msgspec.DecodeError as error:
        raise InvalidInput(str(error)) from error
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InvalidInput(f"unknown time zone on this host: {kind.timezone}") from error
