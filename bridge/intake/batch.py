"""Writes events and legacy bodies in batches."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from bridge.intake.event_reader import EventReader
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.writer import Writer

T = TypeVar("T")

_GROUP = 500


def write_events(events: Iterable[bytes], reader: EventReader, writer: Writer, source: str) -> dict[int, str]:
    """Take events, and say of each that is none why: by its place among them."""
    refused: dict[int, str] = {}
    for group in chunked(enumerate(events), _GROUP):
        items = [(place, reader.read(payload, source)) for place, payload in group]
        writer.write([item for _, item in items])
        refused |= {place: item.message for place, item in items if isinstance(item, RejectedInput)}
    return refused


def write_bodies(found: Iterable[list[IncomingEvent] | RejectedInput], writer: Writer) -> tuple[int, int]:
    """Take legacy bodies as they were read; gives how many were taken, and how many are kept as refused."""
    taken = refused = 0
    for group in chunked(found, _GROUP):
        items: list[IncomingEvent | RejectedInput] = []
        for one in group:
            if isinstance(one, RejectedInput):
                refused += 1
                items.append(one)
            else:
                taken += 1
                items += one
        writer.write(items)
    return taken, refused


def chunked(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Give items in groups of a size, of which the last may be smaller."""
    left = iter(items)
    while group := list(islice(left, size)):
        yield group
