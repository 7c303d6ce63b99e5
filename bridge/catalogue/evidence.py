"""Which events said what: found by their time, which every register keeps, and by what they mention."""

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

import msgspec
import zstandard

from bridge.catalogue.question import View
from bridge.catalogue.things import iso
from mappers.canonical.order import Rank
from mappers.openlineage.event import UNLIMITED, Event, read_event
from mappers.openlineage.parts import DatasetPart, FacetPart
from mappers.openlineage.statements import name_dataset, name_job

_AT = """
SELECT seq, event_hash, event_type, event_time, source, payload FROM run_event
WHERE org_id = ?1 AND event_time = ?2 ORDER BY event_time, event_hash LIMIT ?3
"""
_ORDER = Struct(">BQ16s")
_SHIFT = 1 << 63
#: Of how many events of one microsecond it is looked which are meant.
_MOST = 1_000


class Moment(NamedTuple):
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


def read_order(order: bytes) -> Moment:
    """Take a register's order apart."""
    rank, micros, content = _ORDER.unpack(order)
    return Moment(rank, micros - _SHIFT, content)


def rank_name(rank: int) -> str:
    """Name a rank: who speaks."""
    return Rank(rank).name.lower().replace("_", " ") if rank in set(Rank) else str(rank)


def events_at(
    view: View, micros: int, mentioning: Iterable[bytes], content: bytes | None = None
) -> list[EventReference]:
    """Find the events of a time that mention a dataset or job; those with a facet of this content, if any have."""
    wanted = frozenset(mentioning)
    found: list[tuple[EventReference, bool]] = []
    for seq, hash_, kind, event_time, source, payload in view.db.rows(_AT, view.org, micros, _MOST):
        event = read_event(zstandard.decompress(payload), UNLIMITED)
        if wanted & set(_mentioned(view.org, event)):
            job = " ".join(event.job) if event.job else None
            told = EventReference(seq, hash_.hex(), kind or None, iso(event_time), job, event.run_uuid, source)
            found.append((told, any(facet.digest == content for facet in _facets(event))))
    exact = [told for told, matches in found if matches]
    return exact or [told for told, _ in found]


def _mentioned(org: str, event: Event) -> Iterator[bytes]:
    for part in _parts(event):
        yield name_dataset(org, part.namespace, part.name).id
    if event.job:
        yield name_job(org, *event.job).id


def _parts(event: Event) -> Iterator[DatasetPart]:
    yield from event.inputs
    yield from event.outputs
    if event.dataset:
        yield event.dataset


def _facets(event: Event) -> Iterator[FacetPart]:
    for facets in (event.run_facets, event.job_facets):
        yield from facets.values()
    for part in _parts(event):
        for facets in (part.facets, part.input_facets, part.output_facets):
            yield from facets.values()
