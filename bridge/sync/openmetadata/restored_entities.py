"""Finds deleted entities and edges that a backup restored."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from bridge.sync.edge_store import EdgeStore
from bridge.sync.openmetadata.context import OpenMetadataContext
from bridge.sync.openmetadata.edge_writer import LineageRecord
from bridge.sync.openmetadata.entity_lookup import COLLECTIONS, EntityLookup
from bridge.sync.sync_item import DELETION, ItemRecord, RemoteReference, SyncItem
from bridge.sync.target import ComparedBatch, Difference
from connectors.openmetadata.client import OpenMetadataClient

RESTORED = "was deleted by the bridge and exists again"
_BATCH_SIZE = 200


class DeletedEntity(NamedTuple):
    """An entity that was deleted by this bridge.

    The time of deletion is the server's, in milliseconds; it is None if the entity was already gone.
    """

    remote: RemoteReference
    at: int | None

    @classmethod
    def of(cls, item: SyncItem) -> "DeletedEntity | None":
        values = item.read_record(DeletionRecord).deleted
        return cls(RemoteReference(*values[:3]), values[3]) if values else None

    def to_record(self) -> "DeletionRecord":
        return DeletionRecord((*self.remote, self.at))

    def is_restored(self, client: OpenMetadataClient) -> bool:
        """True if the entity exists again and has not changed since the deletion."""
        entity = client.get(COLLECTIONS[self.remote.type], self.remote.name)
        if entity is None or entity["id"] != self.remote.id:
            return False
        return self.at is None or ("updatedAt" in entity and int(entity["updatedAt"]) <= self.at)


class DeletionRecord(ItemRecord, frozen=True):
    """The deleted entity: type, id, name, and time of the deletion."""

    deleted: tuple[str, str, str, int | None] | None = msgspec.field(default=None, name="removed")


class RestoredEntityComparison:
    """Finds deleted entities and edges that exist again; requests run in a thread pool. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext, lookup: EntityLookup, edges: EdgeStore) -> None:
        self._ctx = ctx
        self._lookup = lookup
        self._edge_store = edges

    def compare(self) -> Iterator[ComparedBatch]:
        """Check all deleted edges, then all deleted entities."""
        if self._ctx.options.track_lineage:
            yield from map(self._compare_deleted_edges, self._ctx.items.batches_with_record("lineage", _BATCH_SIZE))
        yield from map(self._compare_deleted_entities, self._ctx.items.batches_with_record(DELETION, _BATCH_SIZE))

    def _compare_deleted_edges(self, items: Sequence[SyncItem]) -> ComparedBatch:
        edges = [(item.key, edge) for item in items for edge in item.read_record(LineageRecord).deleted]
        restored = self._ctx.pool.map(lambda edge: edge.is_restored(self._ctx.client), [edge for _, edge in edges])
        differences = [
            Difference(
                "lineage", key, f"{self._endpoint_name(edge.source)} -> {self._endpoint_name(edge.target)}", RESTORED
            )
            for (key, edge), is_restored in zip(edges, restored, strict=True)
            if is_restored and not self._edge_store.connects(*edge.endpoint_ids)
        ]
        return ComparedBatch("lineage", len(edges), differences)

    def _compare_deleted_entities(self, items: Sequence[SyncItem]) -> ComparedBatch:
        """Find deleted entities that exist again; only entities that exist are read in full."""
        deleted = {item.key: entity for item in items if (entity := DeletedEntity.of(item))}
        names_by_collection: dict[str, list[str]] = {}
        for entity in deleted.values():
            names_by_collection.setdefault(COLLECTIONS[entity.remote.type], []).append(entity.remote.name)
        existing = {
            remote.id
            for collection, names in names_by_collection.items()
            for remote in self._lookup.find(collection, names).values()
        }
        differences = [
            Difference(DELETION, key, entity.remote.name, RESTORED)
            for key, entity in deleted.items()
            if entity.remote.id in existing
            and self._is_orphan(entity.remote)
            and entity.is_restored(self._ctx.client)
        ]
        return ComparedBatch(DELETION, len(deleted), differences)

    def _endpoint_name(self, endpoint: RemoteReference) -> str:
        """Return the name of an endpoint from its item or its deletion record; without either, return the id."""
        deletion = self._ctx.items.find_deletion(endpoint.id)
        deleted = DeletedEntity.of(deletion) if deletion else None
        names = (item.remote.name for item in self._ctx.items.find_by_remote_id(endpoint.id) if item.remote)
        return next(names, deleted.remote.name if deleted else endpoint.id)

    def _is_orphan(self, remote: RemoteReference) -> bool:
        return all(item.kind == DELETION for item in self._ctx.items.find_by_remote_id(remote.id))
