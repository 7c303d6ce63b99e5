"""Finds deleted entities and edges that a backup restored."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from bridge.sync.edge_store import EdgeStore
from bridge.sync.item_queries import items_with_history
from bridge.sync.openmetadata.context import OpenMetadataContext
from bridge.sync.openmetadata.edge_writer import DeletedEdge
from bridge.sync.openmetadata.entity_lookup import COLLECTIONS, EntityLookup
from bridge.sync.sync_item import DELETION, RemoteReference, SyncItem
from bridge.sync.target import ComparedBatch, Difference
from connectors.openmetadata.client import OpenMetadataClient

_REMOVED = "removed"
AGAIN = "was taken back, and is there again"
_AT_ONCE = 200
#: How many edges are remembered that led into one thing.
_MAX_EDGES = 20


class DeletedEntity(NamedTuple):
    """An entity that we deleted, and when, in milliseconds of the server; None if it was gone before."""

    remote: RemoteReference
    at: int | None

    @classmethod
    def of(cls, item: SyncItem) -> "DeletedEntity | None":
        """Give what an item deleted."""
        said = item.record.get(_REMOVED)
        return cls(RemoteReference(*said[:3]), said[3]) if said else None

    def kept(self) -> dict[str, Any]:
        """Give what is remembered of it."""
        return {_REMOVED: [*self.remote, self.at]}

    def is_restored(self, client: OpenMetadataClient) -> bool:
        """Tell whether it is there as it was before."""
        there = client.get(COLLECTIONS[self.remote.type], self.remote.name)
        if there is None or there["id"] != self.remote.id:
            return False
        return self.at is None or ("updatedAt" in there and int(there["updatedAt"]) <= self.at)


def edges_kept(edges: Sequence[DeletedEdge]) -> dict[str, Any]:
    """Give what is remembered of edges into one thing: the latest."""
    return {_REMOVED: edges[-_MAX_EDGES:]} if edges else {}


class RestoredEntityComparison:
    """Says what is there again; calls run in the threads of a pool. Not for several threads at once."""

    def __init__(
        self, at: OpenMetadataContext, target: str, directory: EntityLookup, states: EdgeStore, pool: Executor
    ) -> None:
        self._at = at
        self._target = target
        self._directory = directory
        self._states = states
        self._pool = pool

    def compare(self) -> Iterator[ComparedBatch]:
        """Look at all that was taken back: edges, then entities."""
        if self._at.rules.track_lineage:
            for keys in items_with_history(self._at.db, self._at.org, self._target, "lineage", _AT_ONCE):
                yield self._edges(list(self._at.items.get("lineage", keys).values()))
        for keys in items_with_history(self._at.db, self._at.org, self._target, DELETION, _AT_ONCE):
            yield self._entities(list(self._at.items.get(DELETION, keys).values()))

    def _edges(self, items: Sequence[SyncItem]) -> ComparedBatch:
        edges = [(item.key, one) for item in items for one in DeletedEdge.of(item)]
        back = self._pool.map(lambda one: one[1].is_back(self._at.client), edges)
        found = [
            Difference("lineage", key, f"{self._name(one.source)} -> {self._name(one.into)}", AGAIN)
            for (key, one), is_back in zip(edges, back, strict=True)
            if is_back and not self._states.connects(*one.pair)
        ]
        return ComparedBatch("lineage", len(edges), found)

    def _entities(self, items: Sequence[SyncItem]) -> ComparedBatch:
        """Look where lists cost less than asking for each, and then at those alone that are there."""
        removed = {item.key: one for item in items if (one := DeletedEntity.of(item))}
        names: dict[str, list[str]] = {}
        for one in removed.values():
            names.setdefault(COLLECTIONS[one.remote.type], []).append(one.remote.name)
        there = {remote.id for type_, of in names.items() for remote in self._directory.find(type_, of).values()}
        found = [
            Difference(DELETION, key, one.remote.name, AGAIN)
            for key, one in removed.items()
            if one.remote.id in there and self._stands_for_nothing(one.remote) and one.is_restored(self._at.client)
        ]
        return ComparedBatch(DELETION, len(removed), found)

    def _name(self, end: RemoteReference) -> str:
        """Name an end, as far as anything stands for it, or was removed with it."""
        removal = self._at.items.find_deletion(end.id)
        removed = DeletedEntity.of(removal) if removal else None
        known = (item.remote.name for item in self._at.items.find_by_remote_id(end.id) if item.remote)
        return next(known, removed.remote.name if removed else end.id)

    def _stands_for_nothing(self, remote: RemoteReference) -> bool:
        return all(item.kind == DELETION for item in self._at.items.find_by_remote_id(remote.id))
