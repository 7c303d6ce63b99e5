"""Reads change events and requeues entities that other users edited."""

from collections.abc import Callable

from bridge.store.database import Database
from bridge.sync.item_store import SyncItemStore
from connectors.openmetadata.client import OpenMetadataClient

_TYPES = ("table", "container", "topic", "mlmodel", "apiEndpoint")
#: Overlap with the previous read, because an event may arrive after events with later times.
_OVERLAP_MS = 60_000
#: How far back the first read goes; generous because clocks may differ.
_FIRST_READ_MS = 3_600_000
_GET_WATERMARK = "SELECT events_at FROM sync_target WHERE org_id = ?1 AND target = ?2"
_SET_WATERMARK = """
UPDATE sync_target SET events_at = ?3 WHERE org_id = ?1 AND target = ?2 AND coalesce(events_at, 0) < ?3
"""


class ChangeEventReader:
    """Reads change events of a server and requeues entities that other users changed. Not thread-safe."""

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
        self._org_and_target = (org, target)
        self._client = client
        self._items = items
        self._clock = clock
        self._user: str | None = None
        #: Times of the events in the last overlap, by event id.
        self._seen: dict[str, int] = {}

    def requeue_changed(self) -> int:
        """Requeue entities that other users changed since the last call; return the number of change events."""
        rows = self._db.fetch_all(_GET_WATERMARK, *self._org_and_target)
        watermark = rows[0][0] if rows else None
        newest = watermark or self._clock() // 1_000 - _FIRST_READ_MS
        changed_entities: set[str] = set()
        count = 0
        for page in self._client.events(newest - _OVERLAP_MS, _TYPES):
            for event in page:
                if event["id"] not in self._seen and event.get("userName") != self._own_user():
                    count += 1
                    changed_entities.add(str(event["entityId"]))
                self._seen[event["id"]] = int(event["timestamp"])
        newest = max([newest, *self._seen.values()])
        with self._db.transaction():
            self._items.invalidate(
                (item.kind, item.key)
                for entity in sorted(changed_entities)
                for item in self._items.find_by_remote_id(f"{entity}/governance")
            )
            self._db.execute(_SET_WATERMARK, *self._org_and_target, newest)
        self._seen = {id_: at for id_, at in self._seen.items() if at >= newest - 2 * _OVERLAP_MS}
        return count

    def _own_user(self) -> str:
        """Return the name of the user that the bridge logs in as."""
        if self._user is None:
            self._user = str(self._client.current_user()["name"])
        return self._user
