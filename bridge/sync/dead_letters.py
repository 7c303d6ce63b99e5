"""Operator actions on failed items: retry now, or drop."""

from collections.abc import Callable, Collection

from bridge.store.database import Database
from bridge.store.tables.sync import NEEDS_ATTENTION_SQL
from bridge.sync.edge_store import EdgeStore
from bridge.sync.item_store import SyncItemStore
from bridge.sync.sync_item import DELETION

_FAILED_ITEMS = f"""
SELECT kind, key FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND ({NEEDS_ATTENTION_SQL} OR settled < marked AND attempts > 0)
"""
_Key = tuple[str, bytes]


class DeadLetters:
    """Failed items of a target, and the actions that an operator can take on them."""

    def __init__(self, db: Database, org: str, target: str, clock: Callable[[], int]) -> None:
        self._db = db
        self._org_and_target = (org, target)
        self._items = SyncItemStore(db, org, target, clock)
        self._edges = EdgeStore(db, org, target)

    def list(self) -> list[_Key]:
        """Return items that were rejected, are unresolved, or are waiting for a retry after a failure."""
        return [(kind, bytes(key)) for kind, key in self._db.fetch_all(_FAILED_ITEMS, *self._org_and_target)]

    def retry(self, keys: Collection[_Key]) -> None:
        """Make items due immediately and clear their failure counts."""
        with self._db.transaction():
            self._items.invalidate(keys, reset_failures=True)
            self._edges.invalidate_edges_into([key for kind, key in keys if kind == "lineage"])

    def retry_deletions(self) -> None:
        self.retry([(DELETION, item.key) for item in self._items.pending(DELETION)])

    def drop(self, keys: Collection[_Key]) -> None:
        """Stop retrying dead items until they change."""
        with self._db.transaction():
            self._items.drop(keys)

    def close(self) -> None:
        self._db.close()
