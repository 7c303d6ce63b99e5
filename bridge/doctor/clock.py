"""Clock skew between this machine, the database server and the jobs."""

import time
from collections.abc import Callable, Iterator

from bridge.doctor.finding import Finding, Level
from bridge.store.database import Database

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_MAX_SKEW_SECONDS = 5.0
_SERVER_TIME = "SELECT extract(epoch FROM clock_timestamp())::float8"
_NEWEST_EVENT_TIME = "SELECT max(event_time) FROM run_event WHERE org_id = ?1"


def check_server_clock(db: Database, now: Callable[[], float] = time.time) -> Iterator[Finding]:
    """Compare the clock of this machine with the database server's; query time does not count as skew."""
    time_before = now()
    ((server_time,),) = db.fetch_all(_SERVER_TIME)
    time_after = now()
    skew = max(time_before - server_time, server_time - time_after, 0.0)
    if skew > _MAX_SKEW_SECONDS:
        message = f"the clocks of this machine and the database server differ by {skew:,.0f} s"
        yield Finding(Level.warning, "clock", message, "synchronize both with NTP")
    else:
        yield Finding(Level.ok, "clock", "this machine's clock agrees with the database server's")


def check_event_times(db: Database, org: str, now: Callable[[], float] = time.time) -> Iterator[Finding]:
    """Check that no event is more than a day in the future."""
    ((newest,),) = db.fetch_all(_NEWEST_EVENT_TIME, org)
    micros_ahead = 0 if newest is None else newest - int(now() * _SECOND)
    if micros_ahead > _DAY:
        message = f"the newest event is {micros_ahead / _DAY:,.1f} days in the future"
        yield Finding(Level.warning, "clock", message, "correct the clock of this machine or of the job that sent it")
    else:
        yield Finding(Level.ok, "clock", "no event is from the future")
