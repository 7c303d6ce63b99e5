"""Whether events arrived that nobody heard an answer to: the log tells."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

import msgspec

from connectors.marquez.client import Entity, Marquez
from connectors.marquez.log import at_one_time
from mappers.errors import RefusedEvent
from mappers.openlineage.event import UNLIMITED, read_event


def arrived(client: Marquez, events: Mapping[str, Entity]) -> set[str]:
    """Find those of some events that the log holds, given by what they are called."""
    there: dict[int, set[bytes]] = {}
    found = set()
    for name, event in events.items():
        read = read_event(msgspec.json.encode(event), UNLIMITED)
        if read.micros not in there:
            there[read.micros] = _hashes(at_one_time(client, read.micros))
        if read.event_hash in there[read.micros]:
            found.add(name)
    return found


def _hashes(listed: Iterable[Entity]) -> set[bytes]:
    found = set()
    for event in listed:
        with suppress(RefusedEvent):  # what others sent, and we would not take
            found.add(read_event(msgspec.json.encode(event), UNLIMITED).event_hash)
    return found
