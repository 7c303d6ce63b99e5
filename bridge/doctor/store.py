"""Store integrity, schema version, partitions, and accounting of received events."""

from collections.abc import Iterator
from itertools import count, takewhile

from bridge.doctor.finding import Finding, Level
from bridge.errors import IncompatibleStore
from bridge.store import schema
from bridge.store.connect import StoreUrl
from bridge.store.database import Database
from bridge.store.intake_audit import audit_intake
from bridge.store.migrations import HEAD
from bridge.store.partitions import partition_name, today

_MB = 1_000_000
_SIZE = {
    True: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    False: "SELECT pg_database_size(current_database())",
}


def check_integrity(location: StoreUrl, db: Database) -> Iterator[Finding]:
    """Name the store with its size, and what its database finds wrong with itself."""
    ((size,),) = db.fetch_all(_SIZE[db.embedded])
    yield Finding(Level.ok, "store", f"{location.name} ({db.version}) holds {size / _MB:,.1f} MB")
    remedy = (
        "stop the service, keep a copy, and restore the last backup as docs/guides/operations.md says"
        if db.embedded
        else "set it to on and restart the server: until then what was acknowledged can be lost"
    )
    for fault in db.integrity_problems():
        yield Finding(Level.error, "store", fault, remedy)


def is_current(db: Database) -> bool:
    """Tell whether the store is of this code's version."""
    try:
        return schema.schema_version(db) == HEAD
    except IncompatibleStore:
        return False


def check_schema(db: Database) -> Iterator[Finding]:
    """Compare the store's version with this code's, and leave it where it is."""
    try:
        found = schema.schema_version(db)
    except IncompatibleStore as error:
        yield Finding(Level.error, "schema", str(error), "name a file of its own in store.url")
        return
    if found == HEAD:
        yield Finding(Level.ok, "schema", f"version {found}, as this lineage-bridge")
    elif found is None:
        yield Finding(Level.warning, "schema", "the store has no tables yet", "`lineage-bridge serve` makes them")
    elif found in schema.supported_versions():
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


_REMEDY = (
    "is a `lineage-bridge serve` running, and its log without warnings? It makes them daily; until then events lie "
    "in run_event_default"
)


def check_partitions(db: Database, day: int | None = None) -> Iterator[Finding]:
    """Count the days ahead for which there is a partition without a gap."""
    first = (today() if day is None else day) + 1
    ahead = sum(1 for _ in takewhile(lambda number: _exists(db, partition_name(number)), count(first)))
    if ahead:
        yield Finding(Level.ok, "partitions", f"the event log has partitions for {ahead} days ahead")
    else:
        yield Finding(Level.warning, "partitions", "the event log has no partition for tomorrow", _REMEDY)


def _exists(db: Database, name: str) -> bool:
    return bool(db.fetch_all("SELECT to_regclass(?1) IS NOT NULL", name)[0][0])


def check_accounting(db: Database, org: str) -> Iterator[Finding]:
    """Give the account of every source, and what does not add up."""
    books = audit_intake(db, org)
    for account in books.sources:
        found = (
            f"{account.source}: {account.received} received = {account.applied} applied"
            f" + {account.duplicate} duplicate + {account.rejected} rejected + {account.unmerged} not merged"
        )
        if account.unmerged:
            remedy = "`lineage-bridge rejected list` says why, `lineage-bridge rejected retry` tries again"
            yield Finding(Level.warning, "conservation", found, remedy)
        else:
            yield Finding(Level.ok, "conservation", found)
    for fault in books.discrepancies:
        remedy = "keep a copy of the store, then restore the last backup as docs/guides/operations.md says"
        yield Finding(Level.error, "conservation", fault, remedy)
    if not books.discrepancies:
        yield Finding(Level.ok, "conservation", "everything that came in is accounted for")
