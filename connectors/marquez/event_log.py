"""Reads the Marquez event log completely, in time windows."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import msgspec

from connectors.marquez.client import MarquezClient
from mappers.canonical_json import JsonObject
from mappers.errors import InvalidInput
from mappers.openlineage.event import NO_LIMITS, parse_event
from mappers.timestamps import format_timestamp


def find_logged_events(client: MarquezClient, events: Mapping[str, JsonObject]) -> set[str]:
    """Find those of some events that the log holds, given by what they are called."""
    there: dict[int, set[bytes]] = {}
    found = set()
    for name, event in events.items():
        read = parse_event(msgspec.json.encode(event), NO_LIMITS)
        if read.micros not in there:
            there[read.micros] = _hashes(events_at(client, read.micros))
        if read.event_hash in there[read.micros]:
            found.add(name)
    return found


def _hashes(listed: Iterable[JsonObject]) -> set[bytes]:
    found = set()
    for event in listed:
        with suppress(InvalidInput):  # what others sent, and we would not take
            found.add(parse_event(msgspec.json.encode(event), NO_LIMITS).event_hash)
    return found


_PAGE = 100
_LARGEST = 1 << 20
_HOUR = 3_600 * 1_000_000


class LogWindow(NamedTuple):
    """All events of a time, the end of which is not part of it."""

    begin: int
    end: int
    events: list[JsonObject]


def events_at(client: MarquezClient, micros: int) -> list[JsonObject]:
    """List all events of one moment."""
    limit = _PAGE
    while True:
        found = client.list_events(format_timestamp(micros), format_timestamp(micros + 1), limit)
        if len(found) < limit or limit >= _LARGEST:
            return found
        limit *= 4


def read_windows(
    client: MarquezClient, begin: int, end: int, span: int = _HOUR, page: int = _PAGE
) -> Iterator[LogWindow]:
    """Give the log from one time to another, window by window; they grow where little happened."""
    at = begin
    while at < end:
        until = min(at + span, end)
        found = client.list_events(format_timestamp(at), format_timestamp(until), page)
        if len(found) < page:
            yield LogWindow(at, until, found)
            span = span * 2 if len(found) * 2 <= page else span
            at = until
        elif until - at > 1:
            span = max(1, (until - at) // 2)
        else:
            yield LogWindow(at, until, events_at(client, at))
            at = until
