"""Finds what we took back and what is there again: a server that was restored from a backup has it as it was then.

Who restored it on purpose changed it after we took it back, by the server's own clock: then it stays.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from bridge.sync.edge_states import EdgeStates
from bridge.sync.item import REMOVAL, Item, Remote
from bridge.sync.openmetadata.directory import COLLECTIONS, Directory
from bridge.sync.openmetadata.words_of_edges import changed_at, comparable, seen
from bridge.sync.openmetadata.workbench import Workbench
from bridge.sync.target import Compared, Difference
from bridge.sync.told import remembered
from connectors.openmetadata.client import OpenMetadata

_REMOVED = "removed"
AGAIN = "was taken back, and is there again"
_AT_ONCE = 200
#: How many edges are remembered that led into one thing.
_MOST_EDGES = 20


class RemovedEntity(NamedTuple):
    """An entity that we deleted, and when, in milliseconds of the server; None if it was gone before."""

    remote: Remote
    at: int | None

    @classmethod
    def of(cls, item: Item) -> "RemovedEntity | None":
        """Give what an item deleted."""
        said = item.detail.get(_REMOVED)
        return cls(Remote(*said[:3]), said[3]) if said else None

    def kept(self) -> dict[str, Any]:
        """Give what is remembered of it."""
        return {_REMOVED: [*self.remote, self.at]}

    def is_back(self, client: OpenMetadata) -> bool:
        """Tell whether it is there as it was before."""
        there = client.get(COLLECTIONS[self.remote.type], self.remote.name)
        if there is None or there["id"] != self.remote.id:
            return False
        return self.at is None or ("updatedAt" in there and int(there["updatedAt"]) <= self.at)


class RemovedEdge(NamedTuple):
    """An edge that was ours alone and is gone, when it was last changed before, as above, and hashes of what it said.

    Where somebody else deleted it first, it is known by these.
    """

    source: Remote
    into: Remote
    at: int | None
    once: Sequence[str]

    @classmethod
    def of(cls, item: Item) -> list["RemovedEdge"]:
        """Give the edges into an item that were deleted."""
        return [cls(Remote(*source), Remote(*into), *more) for source, into, *more in item.detail.get(_REMOVED, ())]

    @property
    def pair(self) -> tuple[str, str]:
        """Give the ids of its ends."""
        return self.source.id, self.into.id

    def is_back(self, client: OpenMetadata) -> bool:
        """Tell whether it is there as it was before."""
        found = client.get_edge(*self.pair)
        there, at = comparable(found), changed_at(found)
        if there is None:
            return False
        return at <= self.at if at is not None and self.at is not None else seen(there) in self.once

    def remove(self, client: OpenMetadata) -> None:
        """Delete it again, if it is there as it was before."""
        if self.is_back(client):
            client.delete_edge((self.source.type, self.source.id), (self.into.type, self.into.id))


def edges_kept(edges: Sequence[RemovedEdge]) -> dict[str, Any]:
    """Give what is remembered of edges into one thing: the latest."""
    return {_REMOVED: edges[-_MOST_EDGES:]} if edges else {}


class Revenants:
    """Says what is there again; calls run in the threads of a pool. Not for several threads at once."""

    def __init__(self, at: Workbench, target: str, directory: Directory, states: EdgeStates, pool: Executor) -> None:
        self._at = at
        self._target = target
        self._directory = directory
        self._states = states
        self._pool = pool

    def slices(self) -> Iterator[Compared]:
        """Look at all that was taken back: edges, then entities."""
        if self._at.rules.track_lineage:
            for keys in remembered(self._at.db, self._at.org, self._target, "lineage", _AT_ONCE):
                yield self._edges(list(self._at.items.of("lineage", keys).values()))
        for keys in remembered(self._at.db, self._at.org, self._target, REMOVAL, _AT_ONCE):
            yield self._entities(list(self._at.items.of(REMOVAL, keys).values()))

    def _edges(self, items: Sequence[Item]) -> Compared:
        edges = [(item.key, one) for item in items for one in RemovedEdge.of(item)]
        back = self._pool.map(lambda one: one[1].is_back(self._at.client), edges)
        found = [
            Difference("lineage", key, f"{self._name(one.source)} -> {self._name(one.into)}", AGAIN)
            for (key, one), is_back in zip(edges, back, strict=True)
            if is_back and not self._states.is_between(*one.pair)
        ]
        return Compared("lineage", len(edges), found)

    def _entities(self, items: Sequence[Item]) -> Compared:
        """Look where lists cost less than asking for each, and then at those alone that are there."""
        removed = {item.key: one for item in items if (one := RemovedEntity.of(item))}
        names: dict[str, list[str]] = {}
        for one in removed.values():
            names.setdefault(COLLECTIONS[one.remote.type], []).append(one.remote.name)
        there = {remote.id for type_, of in names.items() for remote in self._directory.find(type_, of).values()}
        found = [
            Difference(REMOVAL, key, one.remote.name, AGAIN)
            for key, one in removed.items()
            if one.remote.id in there and self._stands_for_nothing(one.remote) and one.is_back(self._at.client)
        ]
        return Compared(REMOVAL, len(removed), found)

    def _name(self, end: Remote) -> str:
        """Name an end, as far as anything stands for it, or was removed with it."""
        removal = self._at.items.removal(end.id)
        removed = RemovedEntity.of(removal) if removal else None
        known = (item.remote.name for item in self._at.items.of_remote(end.id) if item.remote)
        return next(known, removed.remote.name if removed else end.id)

    def _stands_for_nothing(self, remote: Remote) -> bool:
        return all(item.kind == REMOVAL for item in self._at.items.of_remote(remote.id))
