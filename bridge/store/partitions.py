"""The days of the event log on PostgreSQL: one partition each, made ahead."""

import time
from typing import Any

_SECONDS_A_DAY = 86_400
_AHEAD = 7

#: What daemons that start together wait for, so that one of them makes what is missing.
SCHEMA_LOCK = 7_305_442_180_413_001


def today() -> int:
    """Count the days since 1970."""
    return int(time.time()) // _SECONDS_A_DAY


def partition_name(day: int) -> str:
    """Name the partition of a day."""
    return f"run_event_{time.strftime('%Y%m%d', time.gmtime(day * _SECONDS_A_DAY))}"


def create_partitions(driver: Any, day: int) -> None:
    """Make the partitions of the day before and the days ahead, where they are missing.

    Events of other days lie in the partition by default, as do those of a day that came before its partition.
    """
    for number in range(day - 1, day + _AHEAD + 1):
        name = partition_name(number)
        if driver.execute(f"SELECT to_regclass('{name}') IS NOT NULL").fetchone()[0]:
            continue
        low, high = (n * _SECONDS_A_DAY * 1_000_000 for n in (number, number + 1))
        early = f"SELECT 1 FROM run_event_default WHERE event_time >= {low} AND event_time < {high} LIMIT 1"
        if driver.execute(early).fetchone() is None:
            driver.execute(f"CREATE TABLE {name} PARTITION OF run_event FOR VALUES FROM ({low}) TO ({high})")
