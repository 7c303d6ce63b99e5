"""Writes one edge: read first, united with what others say of it, left alone when nothing is new, and read back."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bridge.sync.edge_states import EdgeState
from bridge.sync.item import Remote
from bridge.sync.openmetadata.revenants import RemovedEdge
from bridge.sync.openmetadata.words_of_edges import SAID, changed_at, comparable, seen
from connectors.openmetadata.calls import Entity
from connectors.openmetadata.client import OpenMetadata
from mappers.openmetadata.edges import united

_SOURCE = "OpenLineage"


#: How many things that we may have said are remembered.
_MOST_TRIED = 10


class WantedEdge(NamedTuple):
    """An edge as it shall be; what we say of it holds only what we know."""

    into_key: bytes
    from_key: bytes
    into: Remote
    source: Remote
    job: bytes | None
    said: Entity
    fingerprint: bytes
    notes: tuple[str, ...] = ()

    def begun(self, known: EdgeState | None) -> EdgeState:
        """Give what is written down before the server is told."""
        before = known if known and known.is_between(self.source, self.into) else None
        once = _once_said(known)
        if before is None:
            return self.state(b"", ours=True, said=self.said)._replace(before=once)
        tried = [one for one in before.tried if one != self.said][-_MOST_TRIED:]
        return self.state(b"", before.ours, before.said, [*tried, self.said])._replace(before=once)

    def state(self, mark: bytes, ours: bool, said: Entity, tried: Sequence[Entity] = ()) -> EdgeState:
        """Give what is remembered of it."""
        return EdgeState(self.into_key, self.from_key, self.into, self.source, self.job, mark, ours, said, tried)

    def is_written(self, state: EdgeState | None) -> bool:
        """Tell whether it was written like this."""
        return state is not None and state.fingerprint == self.fingerprint


class WrittenEdge(NamedTuple):
    """An edge as it was left, and what the server did not take of it."""

    state: EdgeState
    notes: tuple[str, ...]


def details(columns: list[Entity], sql: str | None, description: str | None, pipeline: Remote | None) -> Entity:
    """Say all that we know of an edge."""
    said: Entity = {"source": _SOURCE}
    if columns:
        said["columnsLineage"] = columns
    if sql:
        said["sqlQuery"] = sql
    if description:
        said["description"] = description
    if pipeline:
        said["pipeline"] = {"id": pipeline.id, "type": pipeline.type}
    return said


def write_edge(client: OpenMetadata, wanted: WantedEdge, known: EdgeState | None) -> WrittenEdge:
    """Make an edge what it shall be; of an edge that others wrote, all that they said stays."""
    there = comparable(client.get_edge(wanted.source.id, wanted.into.id))
    before = known if known and known.is_between(wanted.source, wanted.into) else None
    ours = there is None or (before is not None and before.ours)
    sent = wanted.said
    if there is not None and seen(there) in _once_said(known):
        ours = True  # nobody else said anything
    elif there is not None and not _is_as_left(there, before):
        sent, ours = _with_theirs(wanted.said, there, before.said if before else {}), False
    if there != sent:
        client.put_edge((wanted.source.type, wanted.source.id), (wanted.into.type, wanted.into.id), sent)
        there = _as_kept(client, wanted, sent)
    now = seen(there)
    once = [one for one in _once_said(known) if one != now] if ours else []
    state = wanted.state(wanted.fingerprint, ours, wanted.said)._replace(seen=now, before=once)
    return WrittenEdge(state, (*wanted.notes, *_dropped(sent, there)))


def _once_said(known: EdgeState | None) -> list[str]:
    """Give hashes of what an edge said while it was ours alone, whatever entities it was between."""
    if known is None or not known.ours:
        return []
    return [*known.before, *([known.seen] if known.seen else [])][-_MOST_TRIED:]


def is_as_seen(client: OpenMetadata, state: EdgeState) -> bool:
    """Tell whether an edge is as it was left; one that is being written is not asked for."""
    if state.seen is None:
        return True
    there = comparable(client.get_edge(state.source.id, state.into.id))
    return there is not None and seen(there) == state.seen


def _as_kept(client: OpenMetadata, wanted: WantedEdge, sent: Entity) -> Entity:
    """Read an edge back: of its columns the server drops, without a word, those that it does not know."""
    if not sent.get("columnsLineage"):
        return sent
    return comparable(client.get_edge(wanted.source.id, wanted.into.id)) or {}


def remove_edge(client: OpenMetadata, state: EdgeState) -> RemovedEdge | None:
    """Take back what we said of an edge: all of it where nobody else said anything, else our columns.

    Gives an edge that was ours alone and is gone.
    """
    found = client.get_edge(state.source.id, state.into.id)
    there = comparable(found)
    gone = RemovedEdge(state.source, state.into, changed_at(found), _once_said(state))
    if there is None:
        return gone if gone.once else None
    ends = (state.source.type, state.source.id), (state.into.type, state.into.id)
    if state.ours and (_is_as_left(there, state) or seen(there) in state.before):
        client.delete_edge(*ends)
        return gone
    left = _without(there, state.said)
    if left != there:
        client.put_edge(*ends, left)
    return None


def _is_as_left(there: Entity, state: EdgeState | None) -> bool:
    """Tell whether an edge says what we last said, or were about to say."""
    return state is not None and any(_is_said(there, said) for said in (state.said, *state.tried))


def _is_said(there: Entity, before: dict[str, Any]) -> bool:
    """Tell whether an edge says this; columns that the server dropped or that are gone by now do not count."""
    mine = {entry["toColumn"]: entry for entry in before.get("columnsLineage", ())}
    theirs = there.get("columnsLineage", ())
    within = all(
        entry["toColumn"] in mine and set(entry["fromColumns"]) <= set(mine[entry["toColumn"]]["fromColumns"])
        for entry in theirs
    )
    # the server forgets the SQL when a column goes that the edge names
    return within and all(there.get(key) in (before.get(key), None) for key in SAID if key != "columnsLineage")


def _with_theirs(mine: Entity, theirs: Entity, before: dict[str, Any]) -> Entity:
    """Unite what we say with what others say; what we said before and say no more goes."""
    kept = _without(theirs, before)
    columns = united(mine.get("columnsLineage", ()), kept.get("columnsLineage", ()))
    return {**mine, **kept} | ({"columnsLineage": columns} if columns else {})


def _without(there: Entity, said: dict[str, Any]) -> Entity:
    """Take from an edge what we said of it."""
    mine = {entry["toColumn"]: entry for entry in said.get("columnsLineage", ())}
    columns = []
    for entry in there.get("columnsLineage", ()):
        own = mine.get(entry["toColumn"])
        sources = [one for one in entry["fromColumns"] if not own or one not in own["fromColumns"]]
        if sources or not own:
            columns.append(entry | {"fromColumns": sources})
    kept = {key: value for key, value in there.items() if key != "columnsLineage" and value != said.get(key)}
    return kept | ({"columnsLineage": columns} if columns else {})


def _dropped(sent: Entity, there: Entity) -> list[str]:
    """Name the columns that the server did not take."""
    kept = {entry["toColumn"]: set(entry["fromColumns"]) for entry in there.get("columnsLineage", ())}
    missing = [
        source
        for entry in sent.get("columnsLineage", ())
        for source in (entry["fromColumns"] if entry["toColumn"] in kept else [entry["toColumn"]])
        if source not in kept.get(entry["toColumn"], ())
    ]
    return [f"OpenMetadata does not know the column {name}" for name in sorted(set(missing))]
