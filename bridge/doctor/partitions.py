"""Whether the event log on PostgreSQL has its partitions for the days to come."""

from collections.abc import Iterator
from itertools import count, takewhile

from bridge.doctor.finding import Finding, Level
from bridge.store.database import Database
from bridge.store.partitions import partition_name, today

_REMEDY = (
    "is a `lineage-bridge serve` running, and its log without warnings? It makes them daily; until then events lie "
    "in run_event_default"
)


def check(db: Database, day: int | None = None) -> Iterator[Finding]:
    """Count the days ahead for which there is a partition without a gap."""
    first = (today() if day is None else day) + 1
    ahead = sum(1 for _ in takewhile(lambda number: _exists(db, partition_name(number)), count(first)))
    if ahead:
        yield Finding(Level.ok, "partitions", f"the event log has partitions for {ahead} days ahead")
    else:
        yield Finding(Level.warning, "partitions", "the event log has no partition for tomorrow", _REMEDY)


def _exists(db: Database, name: str) -> bool:
    return bool(db.rows("SELECT to_regclass(?1) IS NOT NULL", name)[0][0])
