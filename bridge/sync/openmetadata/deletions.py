"""Deletes entities we created."""

from collections.abc import Sequence

from bridge.sync.edge_store import EdgeStore
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.entity_lookup import COLLECTIONS
from bridge.sync.openmetadata.restored_entities import DeletedEntity
from bridge.sync.request_pool import RequestPool
from bridge.sync.sync_item import DELETION, Completed, Failure, Outcome, RemoteReference, SyncItem
from connectors.errors import TargetUnavailable
from connectors.openmetadata.client import OpenMetadataClient

#: How long deletions wait that a person must allow, before it is looked again whether there are fewer.
_HELD_SECONDS = 600.0


class EntityDeleter:
    """Deletes entities that nothing stands for any more."""

    def __init__(
        self, client: OpenMetadataClient, items: SyncItemStore, states: EdgeStore, workers: RequestPool, limit: int
    ) -> None:
        self._most = limit
        self._client = client
        self._items = items
        self._states = states
        self._workers = workers

    def push(self, items: Sequence[SyncItem]) -> list[Completed | Failure]:
        """Delete entities so that they can be restored."""
        results: list[Completed | Failure] = []
        waiting = len(self._items.pending(DELETION))
        if waiting > self._most:
            said = f"{waiting} deletions wait, and openmetadata.most_deletions is {self._most}"
            allow = f"look at `sync --dry-run`, then `sync --once --allow-delete {waiting}`"
            return [Failure(item, TargetUnavailable(f"{said}: {allow}", 0, _HELD_SECONDS)) for item in items]
        alone: list[SyncItem] = []
        for item in items:
            remote = remote_of(item)
            if not self.is_orphan(item):
                results.append(item.complete(Outcome.UNCHANGED, "it stands for something again"))
            elif remote and self._items.has_run_statuses(remote.id):
                results.append(Failure(item, TargetUnavailable("its runs are told elsewhere first", 0)))
            elif remote and self._states.has_edges(remote.id):
                results.append(Failure(item, TargetUnavailable("its edges are moved first", 0)))
            else:
                alone.append(item)
        return results + self._workers.map(self._delete, alone, Failure)

    def is_orphan(self, item: SyncItem) -> bool:
        """Tell whether nothing stands for this entity."""
        remote = remote_of(item)
        return remote is not None and not any(
            other.kind != item.kind for other in self._items.find_by_remote_id(remote.id)
        )

    def _delete(self, item: SyncItem) -> Completed | Failure:
        removed = DeletedEntity.of(item)
        if item.remote is None and removed and not removed.is_restored(self._client):
            return item.complete(Outcome.UNCHANGED, "it is gone, or others restored it")
        remote = remote_of(item)
        assert remote is not None  # noqa: S101 - looked at before
        with_tests = remote.type == "table"  # nothing else lies in what we make
        gone = self._client.delete(COLLECTIONS[remote.type], remote.id, recursive=with_tests)
        at = int(gone["updatedAt"]) if gone and gone.get("updatedAt") else None
        kept = DeletedEntity(remote, at).kept()
        return item.complete(Outcome.PUSHED, "deleted, and can be restored", remote=None, record=kept)


def remote_of(item: SyncItem) -> RemoteReference | None:
    """Give the entity that is to be deleted; one that was deleted before is remembered."""
    removed = DeletedEntity.of(item)
    return item.remote or (removed.remote if removed else None)
