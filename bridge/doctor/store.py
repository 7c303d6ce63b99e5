"""Store integrity, schema version, partitions, and accounting of received events."""

from collections.abc import Iterator

from bridge.doctor.finding import Finding, Level
from bridge.errors import IncompatibleStore
from bridge.store import schema
from bridge.store.connect import StoreUrl
from bridge.store.database import Database
from bridge.store.file_guard import file_size, wal_path
from bridge.store.identity_groups import oversized_groups
from bridge.store.intake_audit import audit_intake
from bridge.store.migrations import HEAD
from bridge.store.partitions import partition_name, today
from bridge.store.symlink_graph import dataset_names
from mappers.counts import count_of

_MB = 1_000_000
_SQLITE_SIZE = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
_POSTGRES_SIZE = "SELECT pg_database_size(current_database())"


def check_integrity(store_url: StoreUrl, db: Database) -> Iterator[Finding]:
    """Report the size of the store and any integrity problems that its database finds."""
    ((size,),) = db.fetch_all(_SQLITE_SIZE if db.embedded else _POSTGRES_SIZE)
    message = f"{store_url.name} ({db.version}) {size / _MB:,.1f} MB"
    if store_url.file:
        message += f", write-ahead log {file_size(wal_path(store_url.file)) / _MB:,.1f} MB"
    yield Finding(Level.ok, "store", message)
    remedy = "set it to on and restart the server: until then, acknowledged events can be lost"
    if db.embedded:
        remedy = "stop the service, keep a copy of the store, and restore the last backup (docs/guides/operations.md)"
    for problem in db.integrity_problems():
        yield Finding(Level.error, "store", problem, remedy)


def has_current_schema(db: Database) -> bool:
    try:
        return schema.schema_version(db) == HEAD
    except IncompatibleStore:
        return False


def check_schema(db: Database) -> Iterator[Finding]:
    """Compare the schema version of the store with the version that this code needs."""
    try:
        version = schema.schema_version(db)
    except IncompatibleStore as error:
        yield Finding(Level.error, "schema", str(error), "set store.url to a separate file")
        return
    if version == HEAD:
        yield Finding(Level.ok, "schema", f"version {version}, current")
    elif version is None:
        yield Finding(Level.warning, "schema", "the store has no tables yet", "`lineage-bridge serve` creates them")
    elif version in schema.supported_versions():
        yield Finding(
            Level.warning,
            "schema",
            f"the store is at version {version}, this lineage-bridge at {HEAD}",
            "back it up, then start `lineage-bridge serve`: it upgrades the store",
        )
    else:
        yield Finding(
            Level.error,
            "schema",
            f"the store is at version {version}, this lineage-bridge supports up to {HEAD}",
            "use the newer lineage-bridge, or restore a backup from before the upgrade",
        )


_PARTITION_REMEDY = (
    "check that `lineage-bridge serve` is running and logs no warnings: it creates partitions daily; "
    "until then events go to run_event_default"
)


def check_partitions(db: Database, day: int | None = None) -> Iterator[Finding]:
    """Count the consecutive days after `day` (default: today) for which the event log has partitions."""
    tomorrow = (today() if day is None else day) + 1
    days_ahead = 0
    while _relation_exists(db, partition_name(tomorrow + days_ahead)):
        days_ahead += 1
    if days_ahead:
        yield Finding(Level.ok, "partitions", f"the event log has partitions for {count_of(days_ahead, 'day')} ahead")
    else:
        yield Finding(Level.warning, "partitions", "the event log has no partition for tomorrow", _PARTITION_REMEDY)


def _relation_exists(db: Database, name: str) -> bool:
    ((exists,),) = db.fetch_all("SELECT to_regclass(?1) IS NOT NULL", name)
    return bool(exists)


_IDENTITY_REMEDY = (
    "exclude wrong symlinks with identity.never_link, or raise identity.max_names; until then, none of these names "
    "are linked"
)


def check_identity_groups(db: Database, org: str, max_names: int) -> Iterator[Finding]:
    """Report datasets with more names than an identity group may have."""
    datasets = oversized_groups(db, org)
    for namespace, name in sorted(dataset_names(db, org, datasets).values()):
        message = f"symlinks connect {namespace} {name} with more than {count_of(max_names - 1, 'other name')}"
        yield Finding(Level.warning, "identity", message, _IDENTITY_REMEDY)
    if not datasets:
        yield Finding(Level.ok, "identity", f"no dataset has more than {count_of(max_names, 'name')}")


def check_accounting(db: Database, org: str) -> Iterator[Finding]:
    """Report the event counts of every source and any discrepancies between them."""
    audit = audit_intake(db, org)
    for account in audit.sources:
        message = (
            f"{account.source}: {account.received} received = {account.applied} applied"
            f" + {account.duplicate} duplicate + {account.rejected} rejected + {account.unmerged} not merged"
        )
        if account.unmerged:
            remedy = "`lineage-bridge rejected list` shows why, `lineage-bridge rejected retry` retries"
            yield Finding(Level.warning, "conservation", message, remedy)
        else:
            yield Finding(Level.ok, "conservation", message)
    for discrepancy in audit.discrepancies:
        remedy = "keep a copy of the store, then restore the last backup (docs/guides/operations.md)"
        yield Finding(Level.error, "conservation", discrepancy, remedy)
    if not audit.discrepancies:
        yield Finding(Level.ok, "conservation", "every received event is accounted for")
