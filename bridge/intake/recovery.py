"""Saves the events of a store file that was deleted, moved, replaced or truncated while it was open."""

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bridge.intake.event_export import export_events
from bridge.store.database import Database
from mappers.errors import LineageBridgeError


class RecoveredEvents(NamedTuple):
    """A file with recovered inputs, their number, and the error if not all of them could be read."""

    path: Path
    input_count: int
    error: str | None


def recover_events(db: Database, org: str, store_file: Path) -> RecoveredEvents:
    """Write all inputs that an open connection can still read to a file next to the store, for `import`."""
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = store_file.with_name(f"{store_file.name}.recovered-{time}.ndjson")
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    error = None
    with path.open("xb") as file:
        try:
            for line in export_events(db, org):
                file.write(line)
                count += 1
        except LineageBridgeError as read_error:
            error = str(read_error)
    return RecoveredEvents(path, count, error)
