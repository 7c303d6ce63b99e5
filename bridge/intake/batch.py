"""Writes events and legacy bodies in batches."""

from collections.abc import Iterable

from bridge.chunks import chunked
from bridge.intake.event_reader import EventReader
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.writer import Writer

_BATCH_SIZE = 500


def write_events(events: Iterable[bytes], reader: EventReader, writer: Writer, source: str) -> dict[int, str]:
    """Write events in batches. Return the reason for each rejected event by the index of the event."""
    reasons_by_index: dict[int, str] = {}
    for batch in chunked(enumerate(events), _BATCH_SIZE):
        items = [(index, reader.read(payload, source)) for index, payload in batch]
        writer.write([item for _, item in items])
        reasons_by_index |= {index: item.message for index, item in items if isinstance(item, RejectedInput)}
    return reasons_by_index


def write_bodies(inputs: Iterable[list[IncomingEvent] | RejectedInput], writer: Writer) -> tuple[int, int]:
    """Write parsed legacy bodies, and return how many were accepted and how many rejected."""
    accepted_count = rejected_count = 0
    for batch in chunked(inputs, _BATCH_SIZE):
        items: list[IncomingEvent | RejectedInput] = []
        for parsed in batch:
            if isinstance(parsed, RejectedInput):
                rejected_count += 1
                items.append(parsed)
            else:
                accepted_count += 1
                items += parsed
        writer.write(items)
    return accepted_count, rejected_count
