"""Worker leases: items claimed under an expired lease are taken over."""

import os
import threading
from collections.abc import Callable

import structlog

from bridge.store.database import Database, Insert
from mappers.errors import LineageBridgeError

_log = structlog.get_logger()

#: Lease duration, and the interval of its renewal.
LEASE_SECONDS, RENEW_SECONDS = 30.0, 10.0
_RENEW = Insert(
    "sync_worker",
    {"org_id": str, "target": str, "worker_id": bytes, "until": int},
    "ON CONFLICT (org_id, target, worker_id) DO UPDATE SET until = excluded.until",
)
_LIVE = "SELECT count(*) FROM sync_worker WHERE org_id = ?1 AND target = ?2 AND until >= ?3"
_RELEASE = "DELETE FROM sync_worker WHERE org_id = ?1 AND target = ?2 AND (worker_id = ?3 OR until < ?4)"


def count_live_workers(db: Database, org: str, target: str, now: int) -> int:
    ((count,),) = db.fetch_all(_LIVE, org, target, now)
    return int(count)


class WorkerLease:
    """Lease of one worker on the items that it claims.

    Results of the worker are accepted until another worker takes over the items.
    """

    def __init__(
        self, db: Database, org: str, target: str, clock: Callable[[], int], id_: bytes | None = None
    ) -> None:
        self._db = db
        self._org_and_target = (org, target)
        self._clock = clock
        self.id = id_ or os.urandom(16)

    def renew(self) -> None:
        """Extend the lease. Must be called inside a transaction."""
        self._db.insert(_RENEW, [(*self._org_and_target, self.id, self._clock() + int(LEASE_SECONDS * 1_000_000))])

    def release(self) -> None:
        """Release all claims; also removes workers with expired leases."""
        with self._db.transaction():
            self._db.execute(_RELEASE, *self._org_and_target, self.id, self._clock())


class Heartbeat:
    """Renews a lease in the background, on its own connection, while the worker waits for its target."""

    def __init__(self, db: Database, lease: WorkerLease) -> None:
        self._db = db
        self._lease = lease
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._db.close()

    def _renew(self) -> None:
        while not self._stopping.wait(RENEW_SECONDS):
            try:
                with self._db.transaction():
                    self._lease.renew()
                if terminated := self._db.terminate_stalled_sessions(LEASE_SECONDS):
                    _log.warning("terminated stalled sessions that blocked other workers", sessions=terminated)
            except LineageBridgeError as error:
                _log.warning("lease not renewed; other workers may take over", reason=str(error))
