"""Takes back what we made and what has become another: softly, and after its edges have moved."""

from collections.abc import Sequence

from bridge.sync.edge_states import EdgeStates
from bridge.sync.item import REMOVAL, Failed, Item, Outcome, Settled
from bridge.sync.items import Items
from bridge.sync.openmetadata.directory import TYPES
from bridge.sync.openmetadata.workers import Workers
from connectors.openmetadata.client import OpenMetadata
from mappers.errors import TargetBusy

#: How long deletions wait that a person must allow, before it is looked again whether there are fewer.
_HELD_SECONDS = 600.0
_COLLECTIONS = {type_: collection for collection, type_ in TYPES.items()}


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
            if not self.is_alone(item):
                results.append(item.linked(Outcome.UNCHANGED, "it stands for something again"))
            elif item.remote and self._items.any_told_of(item.remote.id):
                results.append(Failed(item, TargetBusy("its runs are told elsewhere first", 0)))
            elif item.remote and self._states.any_at(item.remote.id):
                results.append(Failed(item, TargetBusy("its edges are moved first", 0)))
            else:
                alone.append(item)
        return results + self._workers.map(self._delete, alone, Failed)

    def is_alone(self, item: Item) -> bool:
        """Tell whether nothing stands for this entity."""
        return item.remote is not None and not any(
            other.kind != item.kind for other in self._items.of_remote(item.remote.id)
        )

    def _delete(self, item: Item) -> Settled | Failed:
        assert item.remote is not None  # noqa: S101 - looked at before
        with_tests = item.remote.type == "table"  # nothing else lies in what we make
        self._client.delete(_COLLECTIONS[item.remote.type], item.remote.id, recursive=with_tests)
        return item.linked(Outcome.PUSHED, "deleted, and can be restored")._replace(remote=None)
