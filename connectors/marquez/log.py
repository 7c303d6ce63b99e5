"""The event log of a Marquez server, read so that nothing is passed over.

The log has no ids, orders events of one time by chance, and shifts when late events come. So it is read in windows of
time, each whole in one page: while a page is full, the window is halved, down to a single microsecond, whose page is
made larger until it is not full.
"""

from collections.abc import Iterator
from typing import NamedTuple

from connectors.marquez.client import Entity, Marquez
from mappers.when import iso

_PAGE = 100
_LARGEST = 1 << 20
_HOUR = 3_600 * 1_000_000


class Window(NamedTuple):
    """All events of a time, the end of which is not part of it."""

    begin: int
    end: int
    events: list[Entity]


def at_one_time(client: Marquez, micros: int) -> list[Entity]:
    """List all events of one moment."""
    limit = _PAGE
    while True:
        found = client.logged(iso(micros), iso(micros + 1), limit)
        if len(found) < limit or limit >= _LARGEST:
            return found
        limit *= 4


def windows(client: Marquez, begin: int, end: int, span: int = _HOUR, page: int = _PAGE) -> Iterator[Window]:
    """Give the log from one time to another, window by window; they grow where little happened."""
    at = begin
    while at < end:
        until = min(at + span, end)
        found = client.logged(iso(at), iso(until), page)
        if len(found) < page:
            yield Window(at, until, found)
            span = span * 2 if len(found) * 2 <= page else span
            at = until
        elif until - at > 1:
            span = max(1, (until - at) // 2)
        else:
            yield Window(at, until, at_one_time(client, at))
            at = until
