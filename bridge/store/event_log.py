"""The raw event log: appends events and rejected inputs, reads the events of a run."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import zstandard

from bridge.store.database import Database
from mappers.canonical.merge import Row
from mappers.openlineage.event import Event

#: Made when somebody needs it: each event costs a page of it.
_INDEX = "CREATE INDEX IF NOT EXISTS ix_run_event__run_id ON run_event (run_id, org_id)"
_DROP = "DROP INDEX IF EXISTS ix_run_event__run_id"
_EVENTS = """
SELECT run_id, event_time, event_hash, source, payload FROM run_event
WHERE org_id = ?1 AND run_id {ids} AND failure IS NULL ORDER BY event_time, event_hash
"""


class LoggedEvent(NamedTuple):
    """An event as it was sent, its time in microseconds, and where it came from first."""

    micros: int
    hash: bytes
    source: str
    payload: bytes


def create_run_index(db: Database) -> None:
    """Let the events of a run be found quickly from now on."""
    with db.transaction():
        db.execute(_INDEX)


def drop_run_index(db: Database) -> None:
    """Save the cost of the index: nobody asks any more."""
    with db.transaction():
        db.execute(_DROP)


def read_run_events(db: Database, org: str, runs: Collection[bytes]) -> dict[bytes, list[LoggedEvent]]:
    """Read the events of runs, those of each in the order of their times."""
    found: dict[bytes, list[LoggedEvent]] = {}
    for run, micros, hash_, source, payload in db.fetch_for_ids(_EVENTS, sorted(runs), org):
        event = LoggedEvent(micros, bytes(hash_), source, zstandard.decompress(payload))
        found.setdefault(bytes(run), []).append(event)
    return found


class IncomingEvent(NamedTuple):
    """An event on its way into the store: its bytes, what they say, and where they came from."""

    payload: bytes
    event: Event
    rows: Sequence[Row]
    notes: Sequence[str]
    received_at: int
    source: str
    historical: bool = False
    failure: str | None = None
    receipts: int = 1


class RejectedInput(NamedTuple):
    """Bytes that are no event, and why; those of another store may be gone, and came at several times."""

    payload: bytes | None
    payload_hash: bytes
    reason: str
    path: str
    received_at: int
    source: str
    too_large: bool = False
    receipts: int = 1
    first_at: int | None = None
    size: int | None = None

    @property
    def message(self) -> str:
        """Say what is wrong, and where."""
        return f"{self.path}: {self.reason}" if self.path else self.reason


class FilePosition(NamedTuple):
    """How far a file was taken, and the hash of its beginning by which it is known again."""

    path: str
    fingerprint: bytes
    offset: int
