"""Finds the events behind a stored value by their time, the ids they mention and the hashes of their facets."""

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

_EVENTS_AT = """
SELECT seq, event_hash, event_type, event_time, source, payload FROM run_event
WHERE org_id = ?1 AND event_time = ?2 ORDER BY event_time, event_hash LIMIT ?3
"""
_ORDER = Struct(">BQ16s")
_SIGN_OFFSET = 1 << 63
#: Maximum number of events of one microsecond that are examined.
_MAX_CANDIDATES = 1_000


class RegisterOrder(NamedTuple):
    """The rank, the time and the content hash of the assertion that won a register."""

    rank: int
    micros: int
    content_hash: bytes


class EventReference(msgspec.Struct, frozen=True):
    """An event, which the query `events` returns in full."""

    seq: int
    hash: str
    event_type: str | None
    event_time: str
    job: str | None
    run_id: str | None
    source: str


def decode_order(order: bytes) -> RegisterOrder:
    """Decode the bytes by which the assertions of a register are ordered."""
    rank, micros, content_hash = _ORDER.unpack(order)
    return RegisterOrder(rank, micros - _SIGN_OFFSET, content_hash)


def rank_name(rank: int) -> str:
    """Return the name of a rank as shown to users."""
    return Rank(rank).name.lower().replace("_", " ") if rank in set(Rank) else str(rank)


class _EventIndexEntry(NamedTuple):
    """An event, the ids of the datasets and jobs that it mentions, and the hashes of its facets."""

    reference: EventReference
    mentioned_ids: frozenset[bytes]
    facet_digests: frozenset[bytes]


class EventFinder:
    """Finds events in the log, and caches them by timestamp."""

    def __init__(self, ctx: QueryContext) -> None:
        self._ctx = ctx
        self._entries: dict[int, list[_EventIndexEntry]] = {}

    def find(
        self, micros: int, mentioned_ids: Iterable[bytes], content_hash: bytes | None = None
    ) -> list[EventReference]:
        """Find the events at a time that mention any of these ids.

        If any of these events has a facet with this content, only the events with such a facet are returned.
        """
        ids = frozenset(mentioned_ids)
        entries = [entry for entry in self._entries_at(micros) if ids & entry.mentioned_ids]
        with_content = [entry for entry in entries if content_hash in entry.facet_digests]
        return [entry.reference for entry in with_content or entries]

    def _entries_at(self, micros: int) -> list[_EventIndexEntry]:
        if micros not in self._entries:
            rows = self._ctx.db.fetch_all(_EVENTS_AT, self._ctx.org, micros, _MAX_CANDIDATES)
            self._entries[micros] = [_index_entry(self._ctx.org, row) for row in rows]
        return self._entries[micros]


def _index_entry(org: str, row: tuple[Any, ...]) -> _EventIndexEntry:
    """Parse the event of a row of `_EVENTS_AT`."""
    seq, hash_, event_type, event_time, source, payload = row
    event = parse_event(zstandard.decompress(payload), NO_LIMITS)
    job = " ".join(event.job) if event.job else None
    reference = EventReference(
        seq, hash_.hex(), event_type or None, format_timestamp(event_time), job, event.run_uuid, source
    )
    facet_digests = frozenset(facet.digest for facet in _all_facets(event))
    return _EventIndexEntry(reference, frozenset(_mentioned_ids(org, event)), facet_digests)


def _mentioned_ids(org: str, event: Event) -> Iterator[bytes]:
    for dataset in _all_datasets(event):
        yield canonical_dataset_name(org, dataset.namespace, dataset.name).id
    if event.job:
        yield canonical_job_name(org, *event.job).id


def _all_datasets(event: Event) -> Iterator[ParsedDataset]:
    yield from event.inputs
    yield from event.outputs
    if event.dataset:
        yield event.dataset


def _all_facets(event: Event) -> Iterator[ParsedFacet]:
    for facets in (event.run_facets, event.job_facets):
        yield from facets.values()
    for dataset in _all_datasets(event):
        for facets in (dataset.facets, dataset.input_facets, dataset.output_facets):
            yield from facets.values()
