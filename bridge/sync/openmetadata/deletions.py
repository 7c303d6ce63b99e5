"""Deletes entities that this bridge created."""

from collections.abc import Sequence

from bridge.sync.edge_store import EdgeStore
from bridge.sync.openmetadata.context import OpenMetadataContext
from bridge.sync.openmetadata.entity_lookup import COLLECTIONS
from bridge.sync.openmetadata.restored_entities import DeletedEntity
from bridge.sync.sync_item import DELETION, Completed, Failure, Outcome, RemoteReference, SyncItem
from bridge.sync.target import BatchResult
from connectors.errors import TargetUnavailable
from mappers.counts import count_of

#: Retry interval of deletions that exceed the limit.
_BLOCKED_SECONDS = 600.0


class EntityDeleter:
    """Deletes entities that no item refers to any longer."""

    def __init__(self, ctx: OpenMetadataContext, edges: EdgeStore) -> None:
        self._ctx = ctx
        self._items = ctx.items
        self._edges = edges

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Soft-delete entities, so that they can be restored."""
        results: list[Completed | Failure] = []
        pending_count = sum(map(_counts_towards_limit, self._items.pending(DELETION)))
        max_deletions = self._ctx.options.max_deletions
        reason = f"{count_of(pending_count, 'deletion')} pending, openmetadata.most_deletions is {max_deletions}"
        remedy = f"check `sync --dry-run`, then run `sync --once --allow-delete {pending_count}`"
        over_limit = TargetUnavailable(f"{reason}: {remedy}", 0, _BLOCKED_SECONDS)
        orphans: list[SyncItem] = []
        for item in items:
            remote = entity_to_delete(item)
            if pending_count > max_deletions and _counts_towards_limit(item):
                results.append(Failure(item, over_limit))
            elif not self.is_orphan(item):
                results.append(item.complete(Outcome.UNCHANGED, "it is in use again"))
            elif remote and self._items.has_run_statuses(remote.id):
                results.append(Failure(item, TargetUnavailable("its run statuses have to move first", 0)))
            elif remote and self._edges.has_edges(remote.id):
                results.append(Failure(item, TargetUnavailable("its edges have to move first", 0)))
            else:
                orphans.append(item)
        return BatchResult(results + self._ctx.requests.map(self._delete, orphans, Failure))

    def is_orphan(self, item: SyncItem) -> bool:
        """True if no item refers to this entity."""
        remote = entity_to_delete(item)
        return remote is not None and not any(
            other.kind != item.kind for other in self._items.find_by_remote_id(remote.id)
        )

    def _delete(self, item: SyncItem) -> Completed | Failure:
        deleted = DeletedEntity.of(item)
        if item.remote is None and deleted and not deleted.is_restored(self._ctx.client):
            return item.complete(Outcome.UNCHANGED, "it is gone, or was restored by others")
        remote = entity_to_delete(item)
        assert remote is not None  # noqa: S101 - checked before
        with_tests = remote.type == "table"  # nothing else is nested in entities that the bridge creates
        response = self._ctx.client.delete(COLLECTIONS[remote.type], remote.id, recursive=with_tests)
        at = int(response["updatedAt"]) if response and response.get("updatedAt") else None
        record = DeletedEntity(remote, at).to_record()
        return item.complete(Outcome.PUSHED, "deleted, and can be restored", remote=None, record=record)


def _counts_towards_limit(item: SyncItem) -> bool:
    """True if a deletion counts towards the limit. Deletions of test cases do not: an asset file requested them."""
    remote = entity_to_delete(item)
    return remote is not None and remote.type != "testCase"


def entity_to_delete(item: SyncItem) -> RemoteReference | None:
    """Return the entity to delete; if it was already deleted, return it from the deletion record."""
    deleted = DeletedEntity.of(item)
    return item.remote or (deleted.remote if deleted else None)
