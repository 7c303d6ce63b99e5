"""Who works on items: whoever renews its word in time; the items of one that does not are taken over by others."""

import os
import threading
from collections.abc import Callable

import structlog

from bridge.store.database import Database, Insert
from mappers.errors import LineageBridgeError

_log = structlog.get_logger()

#: How long a worker is believed to live after it said so, and how often it does.
LEASE_SECONDS, BEAT_SECONDS = 30.0, 10.0
_SAY = Insert(
    "sync_worker",
    {"org_id": str, "target": str, "worker_id": bytes, "until": int},
    "ON CONFLICT (org_id, target, worker_id) DO UPDATE SET until = excluded.until",
)
_LIVE = "SELECT count(*) FROM sync_worker WHERE org_id = ?1 AND target = ?2 AND until >= ?3"
_LEAVE = "DELETE FROM sync_worker WHERE org_id = ?1 AND target = ?2 AND (worker_id = ?3 OR until < ?4)"


def count_workers(db: Database, org: str, target: str, now: int) -> int:
    """Count those who are believed to work for a target."""
    ((count,),) = db.rows(_LIVE, org, target, now)
    return int(count)


class Worker:
    """One that takes items of a target; what it does counts as long as nobody else has taken them over."""

    def __init__(
        self, db: Database, org: str, target: str, clock: Callable[[], int], id_: bytes | None = None
    ) -> None:
        self._db = db
        self._bound = (org, target)
        self._clock = clock
        self.id = id_ or os.urandom(16)

    def renew(self) -> None:
        """Say that it lives. Within a transaction of the caller."""
        self._db.insert(_SAY, [(*self._bound, self.id, self._clock() + int(LEASE_SECONDS * 1_000_000))])

    def leave(self) -> None:
        """Give back all that it took, and forget those that are dead."""
        with self._db.transaction():
            self._db.run(_LEAVE, *self._bound, self.id, self._clock())


class Heartbeat:
    """Lets a worker live on while it waits for its target, over a connection to the store of its own."""

    def __init__(self, db: Database, worker: Worker) -> None:
        self._db = db
        self._worker = worker
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and close the connection."""
        self._stopping.set()
        self._thread.join()
        self._db.close()

    def _beat(self) -> None:
        while not self._stopping.wait(BEAT_SECONDS):
            try:
                with self._db.transaction():
                    self._worker.renew()
                if ended := self._db.end_standstill(LEASE_SECONDS):
                    _log.warning("ended what stood still and held up others", sessions=ended)
            except LineageBridgeError as error:
                _log.warning("others may take over what is worked on here", reason=str(error))
