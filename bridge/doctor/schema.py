"""Whether the store is of the version that this code reads and writes."""

from collections.abc import Iterator

from bridge.doctor.finding import Finding, Level
from bridge.store import schema
from bridge.store.database import Database
from bridge.store.migrations import HEAD
from mappers.errors import StoreMismatch


def is_current(db: Database) -> bool:
    """Tell whether the store is of this code's version."""
    try:
        return schema.version_of(db) == HEAD
    except StoreMismatch:
        return False


def check(db: Database) -> Iterator[Finding]:
    """Compare the store's version with this code's, and leave it where it is."""
    try:
        found = schema.version_of(db)
    except StoreMismatch as error:
        yield Finding(Level.error, "schema", str(error), "name a file of its own in store.url")
        return
    if found == HEAD:
        yield Finding(Level.ok, "schema", f"version {found}, as this lineage-bridge")
    elif found is None:
        yield Finding(Level.warning, "schema", "the store has no tables yet", "`lineage-bridge serve` makes them")
    elif found in schema.known_versions():
        yield Finding(
            Level.warning,
            "schema",
            f"the store is at version {found}, this lineage-bridge at {HEAD}",
            "back it up, then start `lineage-bridge serve`: it brings the store up to date",
        )
    else:
        yield Finding(
            Level.error,
            "schema",
            f"the store is at version {found}, this lineage-bridge knows up to {HEAD}",
            "use the newer lineage-bridge, or restore the backup from before the upgrade",
        )
