"""Determines which sync items a change affects."""

from collections.abc import Collection, Iterable, Mapping

from bridge.store.database import Database
from bridge.store.identity_groups import group_ids
from bridge.sync.canonical.governance import datasets_with_governance
from bridge.sync.item_store import SyncItemStore
from bridge.sync.sync_item import Completed
from bridge.sync.target import Affected, ItemKey


class MarquezAffectedItems:
    """Determines which items a change affects. Not thread-safe."""

    def __init__(self, db: Database, org: str, items: SyncItemStore) -> None:
        self._db = db
        self._org = org
        self._items = items

    def of_marks(self, marks: Mapping[str, set[bytes]]) -> Affected:
        """Runs, jobs and governed datasets that dirty marks affect."""
        items = {(kind, key) for kind in ("run", "job") for key in marks.get(kind, ())}
        datasets = marks.get("dataset", set())
        governed = datasets_with_governance(self._db, self._org, datasets) | self._previously_governed(datasets)
        return Affected(items | {("dataset", key) for key in governed})

    def of_results(self, kind: str, results: Iterable[Completed]) -> set[ItemKey]:  # noqa: ARG002
        """Nothing: items of Marquez do not depend on the results of other items."""
        return set()

    def _previously_governed(self, datasets: Collection[bytes]) -> set[bytes]:
        """Datasets that had governance before, under any of their names."""
        groups = set(group_ids(self._db, self._org, datasets).values())
        return set(self._items.get("dataset", groups | set(datasets)))
