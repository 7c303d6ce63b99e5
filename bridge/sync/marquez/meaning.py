"""What marks mean for Marquez, which knows runs and jobs as they are sent."""

from collections.abc import Collection, Mapping

from bridge.store.database import Database
from bridge.sync.governance import governed
from bridge.sync.items import Items
from bridge.sync.target import Meant

_CLASSES = "SELECT DISTINCT class_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id {among}"


class PlainMeaning:
    """Finds the items that marks mean. Not for several threads at once."""

    def __init__(self, db: Database, org: str, items: Items) -> None:
        self._db = db
        self._org = org
        self._items = items

    def of(self, marks: Mapping[str, set[bytes]]) -> Meant:
        """Say which runs, jobs and governed datasets marks mean."""
        found = {(kind, key) for kind in ("run", "job") for key in marks.get(kind, ())}
        datasets = marks.get("dataset", set())
        classes = governed(self._db, self._org, datasets) | self._known(datasets)
        return Meant(found | {("dataset", key) for key in classes})

    def _known(self, datasets: Collection[bytes]) -> set[bytes]:
        """Find those that were governed once, under any of their names."""
        classes = (
            {bytes(one) for (one,) in self._db.among(_CLASSES, sorted(datasets), self._org)} if datasets else set()
        )
        return set(self._items.of("dataset", classes | set(datasets)))
