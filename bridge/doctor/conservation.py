"""Whether everything that came in is accounted for."""

from collections.abc import Iterator

from bridge.doctor.finding import Finding, Level
from bridge.store.conservation import read_books
from bridge.store.database import Database


def check(db: Database, org: str) -> Iterator[Finding]:
    """Give the account of every source, and what does not add up."""
    books = read_books(db, org)
    for account in books.accounts:
        found = (
            f"{account.source}: {account.received} received = {account.applied} applied"
            f" + {account.duplicate} duplicate + {account.rejected} rejected + {account.unmerged} not merged"
        )
        if account.unmerged:
            remedy = "`lineage-bridge rejected list` says why, `lineage-bridge rejected retry` tries again"
            yield Finding(Level.warning, "conservation", found, remedy)
        else:
            yield Finding(Level.ok, "conservation", found)
    for fault in books.faults:
        remedy = "keep a copy of the store, then restore the last backup as docs/operate.md says"
        yield Finding(Level.error, "conservation", fault, remedy)
    if not books.faults:
        yield Finding(Level.ok, "conservation", "everything that came in is accounted for")
