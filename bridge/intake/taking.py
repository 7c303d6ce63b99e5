"""Events and bodies that are there already, into the store: group by group, and what is none with its reason."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from bridge.intake.reading import Reader
from bridge.store.writer import Incoming, Rejected, Writer

T = TypeVar("T")

_GROUP = 500


def take_events(events: Iterable[bytes], reader: Reader, writer: Writer, source: str) -> dict[int, str]:
    """Take events, and say of each that is none why: by its place among them."""
    refused: dict[int, str] = {}
    for group in grouped(enumerate(events), _GROUP):
        items = [(place, reader.read(payload, source)) for place, payload in group]
        writer.write([item for _, item in items])
        refused |= {place: item.said for place, item in items if isinstance(item, Rejected)}
    return refused


def take_bodies(found: Iterable[list[Incoming] | Rejected], writer: Writer) -> tuple[int, int]:
    """Take legacy bodies as they were read; gives how many were taken, and how many are kept as refused."""
    taken = refused = 0
    for group in grouped(found, _GROUP):
        items: list[Incoming | Rejected] = []
        for one in group:
            if isinstance(one, Rejected):
                refused += 1
                items.append(one)
            else:
                taken += 1
                items += one
        writer.write(items)
    return taken, refused


def grouped(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Give items in groups of a size, of which the last may be smaller."""
    left = iter(items)
    while group := list(islice(left, size)):
        yield group
