"""Writes, merges and deletes one edge; keeps what other producers wrote."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bridge.sync.edge_store import EdgeRecord
from bridge.sync.sync_item import RemoteReference, SyncItem, fingerprint
from connectors.openmetadata.client import OpenMetadataClient
from mappers.canonical_json import JsonObject
from mappers.openmetadata.lineage_details import merge_column_details

SAID = ("columnsLineage", "sqlQuery", "description", "pipeline", "source")
#: Key of the deleted edges in a lineage record.
_REMOVED = "removed"
_ENTRY = ("fromColumns", "toColumn", "function")


def normalized(edge: JsonObject | None) -> JsonObject | None:
    """Give what is compared of an edge as the server has it."""
    if edge is None:
        return None
    said = edge.get("lineageDetails") or edge
    kept = {key: said[key] for key in SAID if said.get(key)}
    if "pipeline" in kept:
        kept["pipeline"] = {key: kept["pipeline"][key] for key in ("id", "type") if key in kept["pipeline"]}
    if "columnsLineage" in kept:
        entries = [{key: entry[key] for key in _ENTRY if entry.get(key)} for entry in kept["columnsLineage"]]
        kept["columnsLineage"] = sorted(entries, key=lambda entry: str(entry["toColumn"]))
    return kept


def content_hash(there: JsonObject) -> str:
    """Hash what an edge says."""
    return fingerprint(there).hex()


def changed_at(edge: JsonObject | None) -> int | None:
    """Give when an edge was changed last, in milliseconds of the server; older ones do not tell."""
    at = ((edge or {}).get("lineageDetails") or edge or {}).get("updatedAt")
    return int(at) if at else None


_SOURCE = "OpenLineage"


#: How many things that we may have said are remembered.
_MAX_TRIED = 10


class DeletedEdge(NamedTuple):
    """An edge that was ours alone and is gone, when it was last changed before, as above, and hashes of what it said.

    Where somebody else deleted it first, it is known by these.
    """

    source: RemoteReference
    into: RemoteReference
    at: int | None
    once: Sequence[str]

    @classmethod
    def of(cls, item: SyncItem) -> list["DeletedEdge"]:
        """Give the edges into an item that were deleted."""
        return [
            cls(RemoteReference(*source), RemoteReference(*into), *more)
            for source, into, *more in item.record.get(_REMOVED, ())
        ]

    @property
    def pair(self) -> tuple[str, str]:
        """Give the ids of its ends."""
        return self.source.id, self.into.id

    def is_back(self, client: OpenMetadataClient) -> bool:
        """Tell whether it is there as it was before."""
        found = client.get_edge(*self.pair)
        there, at = normalized(found), changed_at(found)
        if there is None:
            return False
        return at <= self.at if at is not None and self.at is not None else content_hash(there) in self.once

    def remove(self, client: OpenMetadataClient) -> None:
        """Delete it again, if it is there as it was before."""
        if self.is_back(client):
            client.delete_edge((self.source.type, self.source.id), (self.into.type, self.into.id))


class DesiredEdge(NamedTuple):
    """An edge as it shall be; what we say of it holds only what we know."""

    into_key: bytes
    from_key: bytes
    into: RemoteReference
    source: RemoteReference
    job: bytes | None
    said: JsonObject
    fingerprint: bytes
    notes: tuple[str, ...] = ()

    def with_intent(self, known: EdgeRecord | None) -> EdgeRecord:
        """Give what is written down before the server is told."""
        before = known if known and known.connects(self.source, self.into) else None
        once = _own_hashes(known)
        if before is None:
            return self.to_record(b"", ours=True, said=self.said)._replace(earlier_hashes=once)
        tried = [one for one in before.attempted if one != self.said][-_MAX_TRIED:]
        return self.to_record(b"", before.created_by_us, before.content, [*tried, self.said])._replace(earlier_hashes=once)

    def to_record(self, mark: bytes, ours: bool, said: JsonObject, tried: Sequence[JsonObject] = ()) -> EdgeRecord:
        """Give what is remembered of it."""
        return EdgeRecord(self.into_key, self.from_key, self.into, self.source, self.job, mark, ours, said, tried)

    def is_written(self, state: EdgeRecord | None) -> bool:
        """Tell whether it was written like this."""
        return state is not None and state.fingerprint == self.fingerprint


class WrittenEdge(NamedTuple):
    """An edge as it was left, and what the server did not take of it."""

    state: EdgeRecord
    notes: tuple[str, ...]


def details(
    columns: list[JsonObject], sql: str | None, description: str | None, pipeline: RemoteReference | None
) -> JsonObject:
    """Say all that we know of an edge."""
    said: JsonObject = {"source": _SOURCE}
    if columns:
        said["columnsLineage"] = columns
    if sql:
        said["sqlQuery"] = sql
    if description:
        said["description"] = description
    if pipeline:
        said["pipeline"] = {"id": pipeline.id, "type": pipeline.type}
    return said


def write_edge(client: OpenMetadataClient, wanted: DesiredEdge, known: EdgeRecord | None) -> WrittenEdge:
    """Make an edge what it shall be; of an edge that others wrote, all that they said stays."""
    there = normalized(client.get_edge(wanted.source.id, wanted.into.id))
    before = known if known and known.connects(wanted.source, wanted.into) else None
    ours = there is None or (before is not None and before.created_by_us)
    sent = wanted.said
    if there is not None and content_hash(there) in _own_hashes(known):
        ours = True  # nobody else said anything
    elif there is not None and not _is_unchanged_remotely(there, before):
        sent, ours = _merged(wanted.said, there, before.content if before else {}), False
    if there != sent:
        client.put_edge((wanted.source.type, wanted.source.id), (wanted.into.type, wanted.into.id), sent)
        there = _as_kept(client, wanted, sent)
    now = content_hash(there)
    once = [one for one in _own_hashes(known) if one != now] if ours else []
    state = wanted.to_record(wanted.fingerprint, ours, wanted.said)._replace(content_hash=now, earlier_hashes=once)
    return WrittenEdge(state, (*wanted.notes, *_dropped(sent, there)))


def _own_hashes(known: EdgeRecord | None) -> list[str]:
    """Give hashes of what an edge said while it was ours alone, whatever entities it was between."""
    if known is None or not known.created_by_us:
        return []
    return [*known.earlier_hashes, *([known.content_hash] if known.content_hash else [])][-_MAX_TRIED:]


def is_as_seen(client: OpenMetadataClient, state: EdgeRecord) -> bool:
    """Tell whether an edge is as it was left; one that is being written is not asked for."""
    if state.content_hash is None:
        return True
    there = normalized(client.get_edge(state.source.id, state.target.id))
    return there is not None and content_hash(there) == state.content_hash


def _as_kept(client: OpenMetadataClient, wanted: DesiredEdge, sent: JsonObject) -> JsonObject:
    """Read an edge back: of its columns the server drops, without a word, those that it does not know."""
    if not sent.get("columnsLineage"):
        return sent
    return normalized(client.get_edge(wanted.source.id, wanted.into.id)) or {}


def remove_edge(client: OpenMetadataClient, state: EdgeRecord) -> DeletedEdge | None:
    """Take back what we said of an edge: all of it where nobody else said anything, else our columns.

    Gives an edge that was ours alone and is gone.
    """
    found = client.get_edge(state.source.id, state.target.id)
    there = normalized(found)
    gone = DeletedEdge(state.source, state.target, changed_at(found), _own_hashes(state))
    if there is None:
        return gone if gone.once else None
    ends = (state.source.type, state.source.id), (state.target.type, state.target.id)
    if state.created_by_us and (_is_unchanged_remotely(there, state) or content_hash(there) in state.earlier_hashes):
        client.delete_edge(*ends)
        return gone
    left = _minus(there, state.content)
    if left != there:
        client.put_edge(*ends, left)
    return None


def _is_unchanged_remotely(there: JsonObject, state: EdgeRecord | None) -> bool:
    """Tell whether an edge says what we last said, or were about to say."""
    return state is not None and any(_is_said(there, said) for said in (state.content, *state.attempted))


def _is_said(there: JsonObject, before: dict[str, Any]) -> bool:
    """Tell whether an edge says this; columns that the server dropped or that are gone by now do not count."""
    mine = {entry["toColumn"]: entry for entry in before.get("columnsLineage", ())}
    theirs = there.get("columnsLineage", ())
    within = all(
        entry["toColumn"] in mine and set(entry["fromColumns"]) <= set(mine[entry["toColumn"]]["fromColumns"])
        for entry in theirs
    )
    # the server forgets the SQL when a column goes that the edge names
    return within and all(there.get(key) in (before.get(key), None) for key in SAID if key != "columnsLineage")


def _merged(mine: JsonObject, theirs: JsonObject, before: dict[str, Any]) -> JsonObject:
    """Unite what we say with what others say; what we said before and say no more goes."""
    kept = _minus(theirs, before)
    columns = merge_column_details(mine.get("columnsLineage", ()), kept.get("columnsLineage", ()))
    return {**mine, **kept} | ({"columnsLineage": columns} if columns else {})


def _minus(there: JsonObject, said: dict[str, Any]) -> JsonObject:
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


def _dropped(sent: JsonObject, there: JsonObject) -> list[str]:
    """Name the columns that the server did not take."""
    kept = {entry["toColumn"]: set(entry["fromColumns"]) for entry in there.get("columnsLineage", ())}
    missing = [
        source
        for entry in sent.get("columnsLineage", ())
        for source in (entry["fromColumns"] if entry["toColumn"] in kept else [entry["toColumn"]])
        if source not in kept.get(entry["toColumn"], ())
    ]
    return [f"OpenMetadata does not know the column {name}" for name in sorted(set(missing))]
