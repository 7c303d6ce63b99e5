"""Whether the store is there and sound."""

from collections.abc import Iterator

from bridge.doctor.finding import Finding, Level
from bridge.store.database import Database
from bridge.store.location import StoreLocation

_MB = 1_000_000
_SIZE = {
    True: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    False: "SELECT pg_database_size(current_database())",
}


def check(location: StoreLocation, db: Database) -> Iterator[Finding]:
    """Name the store with its size, and what its database finds wrong with itself."""
    ((size,),) = db.rows(_SIZE[db.embedded])
    yield Finding(Level.ok, "store", f"{location.name} ({db.version}) holds {size / _MB:,.1f} MB")
    remedy = (
        "stop the service, keep a copy, and restore the last backup as docs/operate.md says"
        if db.embedded
        else "set it to on and restart the server: until then what was acknowledged can be lost"
    )
    for fault in db.faults():
        yield Finding(Level.error, "store", fault, remedy)
