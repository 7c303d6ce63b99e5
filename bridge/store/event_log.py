"""The raw event log: types of its inputs, and reading the events of a run."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import zstandard

from bridge.store.database import Database
from mappers.canonical.merge import Row
from mappers.openlineage.event import Event

#: Created only when needed, because every inserted event writes a page of the index.
_CREATE_RUN_INDEX = "CREATE INDEX IF NOT EXISTS ix_run_event__run_id ON run_event (run_id, org_id)"
_DROP_RUN_INDEX = "DROP INDEX IF EXISTS ix_run_event__run_id"
_EVENTS = """
SELECT run_id, event_time, event_hash, source, payload FROM run_event
WHERE org_id = ?1 AND run_id {ids} AND failure IS NULL ORDER BY event_time, event_hash
"""


#: Reason of an event that is stored but not merged yet; it is merged in slices, in the background.
PENDING = "waits to be merged"

_LIST_PENDING = """
SELECT event_time, event_hash FROM run_event
WHERE org_id = ?1 AND failure = ?2 AND failure IS NOT NULL AND received_at <= ?3
ORDER BY seq LIMIT ?4
"""
_READ_PENDING = """
SELECT event_time, event_hash, source, payload FROM run_event
WHERE org_id = ?1 AND event_time = ?2 AND event_hash = ?3 AND failure = ?4
"""


class LoggedEvent(NamedTuple):
    """An event as it was sent, its time in microseconds, and the source that sent it first."""

    micros: int
    hash: bytes
    source: str
    payload: bytes


def create_run_index(db: Database) -> None:
    """Create the index that `read_run_events` needs to be fast."""
    with db.transaction():
        db.execute(_CREATE_RUN_INDEX)


def drop_run_index(db: Database) -> None:
    """Drop the index by run, which slows down every insert."""
    with db.transaction():
        db.execute(_DROP_RUN_INDEX)


def read_run_events(db: Database, org: str, runs: Collection[bytes]) -> dict[bytes, list[LoggedEvent]]:
    """Read the events of runs, ordered by time within each run."""
    events_by_run: dict[bytes, list[LoggedEvent]] = {}
    for run, *columns in db.fetch_for_ids(_EVENTS, sorted(runs), org):
        events_by_run.setdefault(bytes(run), []).append(_logged_event(*columns))
    return events_by_run


def list_pending_events(db: Database, org: str, received_before: int, limit: int) -> "list[EventKey]":
    """List events that are stored but not merged yet, in the order in which they were stored."""
    rows = db.fetch_all(_LIST_PENDING, org, PENDING, received_before, limit)
    return [EventKey(micros, bytes(hash_)) for micros, hash_ in rows]


def read_pending_event(db: Database, org: str, key: "EventKey") -> LoggedEvent | None:
    """Read a pending event, or return None if it has been merged."""
    rows = db.fetch_all(_READ_PENDING, org, *key, PENDING)
    return next((_logged_event(*columns) for columns in rows), None)


def _logged_event(micros: int, hash_: bytes, source: str, payload: bytes) -> LoggedEvent:
    return LoggedEvent(micros, bytes(hash_), source, zstandard.decompress(payload))


class IncomingEvent(NamedTuple):
    """An event to be stored: its bytes, the parsed rows, and its source."""

    payload: bytes
    event: Event
    rows: Sequence[Row]
    notes: Sequence[str]
    received_at: int
    source: str
    historical: bool = False
    failure: str | None = None
    receipts: int = 1
    #: The payload as the log stores it, if it was compressed in advance.
    compressed_payload: bytes | None = None

    @property
    def key(self) -> "EventKey":
        return EventKey(self.event.micros, self.event.event_hash)


class EventKey(NamedTuple):
    """Key of an event in the log of its organisation."""

    micros: int
    hash: bytes


class RejectedInput(NamedTuple):
    """An input that is not a valid event, and the reason why it was rejected.

    An input imported from another store may lack its payload, and may represent several receipts.
    """

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
    compressed_payload: bytes | None = None

    @property
    def message(self) -> str:
        """The reason, with the JSON path if there is one."""
        return f"{self.path}: {self.reason}" if self.path else self.reason

    def at_line(self, number: int) -> "RejectedInput":
        """Add the number of the line in its file to the reason."""
        return self._replace(reason=f"{self.reason} (line {number})")


class FilePosition(NamedTuple):
    """The position up to which a file was loaded, and the hash of its beginning, which identifies it."""

    path: str
    fingerprint: bytes
    offset: int
