"""Takes back what we made and what has become another: softly, and after its edges have moved."""

from collections.abc import Sequence

from bridge.sync.edge_states import EdgeStates
from bridge.sync.item import REMOVAL, Failed, Item, Outcome, Remote, Settled
from bridge.sync.items import Items
from bridge.sync.openmetadata.directory import COLLECTIONS
from bridge.sync.openmetadata.revenants import RemovedEntity
from bridge.sync.workers import Workers
from connectors.openmetadata.client import OpenMetadata
from mappers.errors import TargetBusy

#: How long deletions wait that a person must allow, before it is looked again whether there are fewer.
_HELD_SECONDS = 600.0


class Removals:
    """Deletes entities that nothing stands for any more."""

    def __init__(self, client: OpenMetadata, items: Items, states: EdgeStates, workers: Workers, most: int) -> None:
        self._most = most
        self._client = client
        self._items = items
        self._states = states
        self._workers = workers

    def push(self, items: Sequence[Item]) -> list[Settled | Failed]:
        """Delete entities so that they can be restored."""
        results: list[Settled | Failed] = []
        waiting = len(self._items.pending(REMOVAL))
        if waiting > self._most:
            said = f"{waiting} deletions wait, and openmetadata.most_deletions is {self._most}"
            allow = f"look at `sync --dry-run`, then `sync --once --allow-delete {waiting}`"
            return [Failed(item, TargetBusy(f"{said}: {allow}", 0, _HELD_SECONDS)) for item in items]
        alone: list[Item] = []
        for item in items:
            remote = remote_of(item)
            if not self.is_alone(item):
                results.append(item.linked(Outcome.UNCHANGED, "it stands for something again"))
            elif remote and self._items.any_told_of(remote.id):
                results.append(Failed(item, TargetBusy("its runs are told elsewhere first", 0)))
            elif remote and self._states.any_at(remote.id):
                results.append(Failed(item, TargetBusy("its edges are moved first", 0)))
            else:
                alone.append(item)
        return results + self._workers.map(self._delete, alone, Failed)

    def is_alone(self, item: Item) -> bool:
        """Tell whether nothing stands for this entity."""
        remote = remote_of(item)
        return remote is not None and not any(other.kind != item.kind for other in self._items.of_remote(remote.id))

    def _delete(self, item: Item) -> Settled | Failed:
        removed = RemovedEntity.of(item)
        if item.remote is None and removed and not removed.is_back(self._client):
            return item.linked(Outcome.UNCHANGED, "it is gone, or others restored it")
        remote = remote_of(item)
        assert remote is not None  # noqa: S101 - looked at before
        with_tests = remote.type == "table"  # nothing else lies in what we make
        gone = self._client.delete(COLLECTIONS[remote.type], remote.id, recursive=with_tests)
        at = int(gone["updatedAt"]) if gone and gone.get("updatedAt") else None
        kept = RemovedEntity(remote, at).kept()
        return item.linked(Outcome.PUSHED, "deleted, and can be restored", remote=None, detail=kept)


def remote_of(item: Item) -> Remote | None:
    """Give the entity that is to be deleted; one that was deleted before is remembered."""
    removed = RemovedEntity.of(item)
    return item.remote or (removed.remote if removed else None)
