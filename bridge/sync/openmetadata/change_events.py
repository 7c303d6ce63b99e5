"""Reads change events and re-queues entities that others edited."""

from collections.abc import Callable

from bridge.store.database import Database
from bridge.sync.item_store import SyncItemStore
from connectors.openmetadata.client import OpenMetadataClient

_TYPES = ("table", "container", "topic", "mlmodel", "apiEndpoint")
#: Events are read again from so long before the newest: they are not told in the order of their times.
_OVERLAP_MS = 60_000
#: How far back is read the first time: its clock need not go as ours does.
_FIRST_MS = 3_600_000
_READ_TO = "SELECT events_at FROM sync_target WHERE org_id = ?1 AND target = ?2"
_REMEMBER = """
UPDATE sync_target SET events_at = ?3 WHERE org_id = ?1 AND target = ?2 AND coalesce(events_at, 0) < ?3
"""


class ChangeEventReader:
    """Reads the events of a server, and lets what others changed be looked at. Not for several threads at once."""

    def __init__(
        self,
        db: Database,
        org: str,
        target: str,
        client: OpenMetadataClient,
        items: SyncItemStore,
        clock: Callable[[], int],
    ) -> None:
        self._db = db
        self._bound = (org, target)
        self._client = client
        self._items = items
        self._clock = clock
        self._me: str | None = None
        #: The events that were read in the last overlap.
        self._known: dict[str, int] = {}

    def read_new(self) -> int:
        """Mark what others changed since the last time; gives how many events of others were new."""
        rows = self._db.fetch_all(_READ_TO, *self._bound)
        newest = rows[0][0] if rows and rows[0][0] else self._clock() // 1_000 - _FIRST_MS
        new: set[str] = set()
        count = 0
        for page in self._client.events(newest - _OVERLAP_MS, _TYPES):
            for event in page:
                if event["id"] not in self._known and event.get("userName") != self._own_user():
                    count += 1
                    new.add(str(event["entityId"]))
                self._known[event["id"]] = int(event["timestamp"])
        newest = max([newest, *self._known.values()])
        with self._db.transaction():
            self._items.invalidate(
                (item.kind, item.key)
                for entity in sorted(new)
                for item in self._items.find_by_remote_id(f"{entity}/governance")
            )
            self._db.execute(_REMEMBER, *self._bound, newest)
        self._known = {id_: at for id_, at in self._known.items() if at >= newest - 2 * _OVERLAP_MS}
        return count

    def _own_user(self) -> str:
        """Give the name under which we change things."""
        if self._me is None:
            self._me = str(self._client.current_user()["name"])
        return self._me
