"""Daily partitions of the event log on PostgreSQL, created a week ahead."""

import time
from typing import Any

_SECONDS_PER_DAY = 86_400
_MICROS_PER_DAY = _SECONDS_PER_DAY * 1_000_000
_DAYS_AHEAD = 7

#: Advisory lock for schema changes, so that only one of several starting daemons makes them.
SCHEMA_LOCK = 7_305_442_180_413_001


def today() -> int:
    """Return the current day as the number of days since 1970 (UTC)."""
    return int(time.time()) // _SECONDS_PER_DAY


def partition_name(day: int) -> str:
    return f"run_event_{time.strftime('%Y%m%d', time.gmtime(day * _SECONDS_PER_DAY))}"


def create_partitions(driver: Any, day: int) -> None:
    """Create missing partitions for the day before `day`, for `day` and for the next seven days.

    Events of other days are stored in the default partition. A day gets no partition if the default partition already
    contains an event of that day, because PostgreSQL would reject it.
    """
    for partition_day in range(day - 1, day + _DAYS_AHEAD + 1):
        name = partition_name(partition_day)
        (exists,) = driver.execute(f"SELECT to_regclass('{name}') IS NOT NULL").fetchone()
        if exists:
            continue
        low = partition_day * _MICROS_PER_DAY
        high = low + _MICROS_PER_DAY
        find_event = f"SELECT 1 FROM run_event_default WHERE event_time >= {low} AND event_time < {high} LIMIT 1"
        if driver.execute(find_event).fetchone() is None:
            driver.execute(f"CREATE TABLE {name} PARTITION OF run_event FOR VALUES FROM ({low}) TO ({high})")
