"""The clock of leases and due times, which all services on one store share."""

import time

from bridge.clock import now_micros
from bridge.store.database import Database

_SERVER_TIME = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_CHECK_SECONDS = 10.0


class StoreClock:
    """Returns the time in microseconds by the clock of the database server, or of this machine with SQLite.

    The server is asked now and then; in between, its time is extrapolated. Not thread-safe.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._server_time = 0
        self._checked_at = -_CHECK_SECONDS

    def __call__(self) -> int:
        if self._db.embedded:
            return now_micros()
        elapsed = time.monotonic() - self._checked_at
        if self._server_time == 0 or elapsed >= _CHECK_SECONDS:
            ((self._server_time,),) = self._db.fetch_all(_SERVER_TIME)
            self._checked_at, elapsed = time.monotonic(), 0.0
        return self._server_time + int(elapsed * 1_000_000)
