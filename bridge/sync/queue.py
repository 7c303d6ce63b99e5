"""What a person may do to what is to be pushed: try it again at once, or give it up."""

from collections.abc import Callable, Collection

from bridge.store.database import Database
from bridge.store.sync_tables import TROUBLED_SQL
from bridge.sync.edge_states import EdgeStates
from bridge.sync.item import REMOVAL
from bridge.sync.items import Items

_TROUBLED = f"""
SELECT kind, key FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND ({TROUBLED_SQL} OR settled < marked AND attempts > 0)
"""
_Key = tuple[str, bytes]


class Queue:
    """The items of a target, as they wait."""

    def __init__(self, db: Database, org: str, target: str, clock: Callable[[], int]) -> None:
        self._db = db
        self._bound = (org, target)
        self._items = Items(db, org, target, clock)
        self._states = EdgeStates(db, org, target)

    def troubled(self) -> list[_Key]:
        """List what was refused, has no place, or failed and waits."""
        return [(kind, bytes(key)) for kind, key in self._db.rows(_TROUBLED, *self._bound)]

    def retry(self, keys: Collection[_Key]) -> None:
        """Let items be pushed now, whatever is known of them, as if they had never failed."""
        with self._db.transaction():
            self._items.doubt(keys, afresh=True)
            self._states.doubt_into([key for kind, key in keys if kind == "lineage"])

    def retry_removals(self) -> None:
        """Let what is to be deleted be deleted now."""
        self.retry([(REMOVAL, item.key) for item in self._items.pending(REMOVAL)])

    def drop(self, keys: Collection[_Key]) -> None:
        """Give dead items up: they are not tried again before they change."""
        with self._db.transaction():
            self._items.drop(keys)

    def close(self) -> None:
        """Close the store."""
        self._db.close()
