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

_PAGE_SIZE = 1_000
_MAX_PAGE_SIZE = 1 << 20
_HOUR_MICROS = 3_600 * 1_000_000


def find_logged_events(client: MarquezClient, events: Mapping[str, JsonObject]) -> set[str]:
    """Return the names of the events that the log contains."""
    hashes_by_time: dict[int, set[bytes]] = {}
    logged_names = set()
    for name, event in events.items():
        parsed_event = parse_event(msgspec.json.encode(event), NO_LIMITS)
        if parsed_event.micros not in hashes_by_time:
            hashes_by_time[parsed_event.micros] = _event_hashes(events_at(client, parsed_event.micros))
        if parsed_event.event_hash in hashes_by_time[parsed_event.micros]:
            logged_names.add(name)
    return logged_names


def _event_hashes(events: Iterable[JsonObject]) -> set[bytes]:
    hashes = set()
    for event in events:
        with suppress(InvalidInput):  # events of other clients may be invalid
            hashes.add(parse_event(msgspec.json.encode(event), NO_LIMITS).event_hash)
    return hashes


class LogWindow(NamedTuple):
    """All logged events from `begin` to `end` (exclusive)."""

    begin: int
    end: int
    events: list[JsonObject]


def events_at(client: MarquezClient, micros: int) -> list[JsonObject]:
    """List all logged events whose event time is `micros`."""
    limit = _PAGE_SIZE
    while True:
        events = client.list_events(format_timestamp(micros), format_timestamp(micros + 1), limit)
        if len(events) < limit or limit >= _MAX_PAGE_SIZE:
            return events
        limit *= 4


def read_windows(
    client: MarquezClient, begin: int, end: int, span: int = _HOUR_MICROS, page_size: int = _PAGE_SIZE
) -> Iterator[LogWindow]:
    """Read the log between two times in windows, which grow where events are sparse.

    A window with more events than a page is split, down to single microseconds, so that no event is missed.
    """
    window_begin = begin
    while window_begin < end:
        window_end = min(window_begin + span, end)
        events = client.list_events(format_timestamp(window_begin), format_timestamp(window_end), page_size)
        if len(events) < page_size:
            yield LogWindow(window_begin, window_end, events)
            span = span * 2 if len(events) * 2 <= page_size else span
            window_begin = window_end
        elif window_end - window_begin > 1:
            span = max(1, (window_end - window_begin) // 2)
        else:
            yield LogWindow(window_begin, window_end, events_at(client, window_begin))
            window_begin = window_end
