"""The events of runs as they were taken: by run, once there is an index for whoever asks often."""

from collections.abc import Collection
from typing import NamedTuple

import zstandard

from bridge.store.database import Database

#: Made when somebody needs it: each event costs a page of it.
_INDEX = "CREATE INDEX IF NOT EXISTS ix_run_event__run_id ON run_event (run_id, org_id)"
_DROP = "DROP INDEX IF EXISTS ix_run_event__run_id"
_EVENTS = """
SELECT run_id, event_time, event_hash, source, payload FROM run_event
WHERE org_id = ?1 AND run_id {among} AND failure IS NULL ORDER BY event_time, event_hash
"""


class LoggedEvent(NamedTuple):
    """An event as it was sent, its time in microseconds, and where it came from first."""

    micros: int
    hash: bytes
    source: str
    payload: bytes


def index_runs(db: Database) -> None:
    """Let the events of a run be found quickly from now on."""
    with db.transaction():
        db.run(_INDEX)


def forget_index(db: Database) -> None:
    """Save the cost of the index: nobody asks any more."""
    with db.transaction():
        db.run(_DROP)


def read_run_events(db: Database, org: str, runs: Collection[bytes]) -> dict[bytes, list[LoggedEvent]]:
    """Read the events of runs, those of each in the order of their times."""
    found: dict[bytes, list[LoggedEvent]] = {}
    for run, micros, hash_, source, payload in db.among(_EVENTS, sorted(runs), org):
        event = LoggedEvent(micros, bytes(hash_), source, zstandard.decompress(payload))
        found.setdefault(bytes(run), []).append(event)
    return found
