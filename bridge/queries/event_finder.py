"""Finds the events that set a register, by time, reference and content hash."""

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Any, NamedTuple

import msgspec
import zstandard

from bridge.queries.query import QueryContext
from mappers.canonical.rank import Rank
from mappers.openlineage.event import NO_LIMITS, Event, parse_event
from mappers.openlineage.facet_parser import ParsedDataset, ParsedFacet
from mappers.openlineage.names import canonical_dataset_name, canonical_job_name
from mappers.timestamps import format_timestamp

_AT = """
SELECT seq, event_hash, event_type, event_time, source, payload FROM run_event
WHERE org_id = ?1 AND event_time = ?2 ORDER BY event_time, event_hash LIMIT ?3
"""
_ORDER = Struct(">BQ16s")
_SHIFT = 1 << 63
#: Of how many events of one microsecond it is looked which are meant.
_MAX_CANDIDATES = 1_000


class RegisterOrder(NamedTuple):
    """Who last won a register: how much the statement weighs, when it was made, and the hash of its content."""

    rank: int
    micros: int
    content: bytes


class EventReference(msgspec.Struct, frozen=True):
    """An event, to be read with `events`."""

    seq: int
    hash: str
    event_type: str | None
    event_time: str
    job: str | None
    run_id: str | None
    source: str


def decode_order(order: bytes) -> RegisterOrder:
    """Take a register's order apart."""
    rank, micros, content = _ORDER.unpack(order)
    return RegisterOrder(rank, micros - _SHIFT, content)


def rank_name(rank: int) -> str:
    """Name a rank: who speaks."""
    return Rank(rank).name.lower().replace("_", " ") if rank in set(Rank) else str(rank)


class _EventIndexEntry(NamedTuple):
    """An event, the ids of all that it mentions, and the hashes of its facets."""

    reference: EventReference
    mentioned: frozenset[bytes]
    contents: frozenset[bytes]


class EventFinder:
    """Finds events in the log; those of one moment are read once, however many facts they made."""

    def __init__(self, view: QueryContext) -> None:
        self._view = view
        self._read: dict[int, list[_EventIndexEntry]] = {}

    def find(self, micros: int, mentioning: Iterable[bytes], content: bytes | None = None) -> list[EventReference]:
        """Find the events of a time that mention a dataset or job; those with a facet of this content, if any."""
        wanted = frozenset(mentioning)
        found = [witness for witness in self._of(micros) if wanted & witness.mentioned]
        exact = [witness for witness in found if content in witness.contents]
        return [witness.reference for witness in exact or found]

    def _of(self, micros: int) -> list[_EventIndexEntry]:
        if micros not in self._read:
            rows = self._view.db.fetch_all(_AT, self._view.org, micros, _MAX_CANDIDATES)
            self._read[micros] = [_witness(self._view.org, row) for row in rows]
        return self._read[micros]


def _witness(org: str, row: tuple[Any, ...]) -> _EventIndexEntry:
    seq, hash_, kind, event_time, source, payload = row
    event = parse_event(zstandard.decompress(payload), NO_LIMITS)
    job = " ".join(event.job) if event.job else None
    told = EventReference(seq, hash_.hex(), kind or None, format_timestamp(event_time), job, event.run_uuid, source)
    contents = frozenset(facet.digest for facet in _facets(event))
    return _EventIndexEntry(told, frozenset(_mentioned(org, event)), contents)


def _mentioned(org: str, event: Event) -> Iterator[bytes]:
    for part in _parts(event):
        yield canonical_dataset_name(org, part.namespace, part.name).id
    if event.job:
        yield canonical_job_name(org, *event.job).id


def _parts(event: Event) -> Iterator[ParsedDataset]:
    yield from event.inputs
    yield from event.outputs
    if event.dataset:
        yield event.dataset


def _facets(event: Event) -> Iterator[ParsedFacet]:
    for facets in (event.run_facets, event.job_facets):
        yield from facets.values()
    for part in _parts(event):
        for facets in (part.facets, part.input_facets, part.output_facets):
            yield from facets.values()
