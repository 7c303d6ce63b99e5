"""Checks that every received input is applied, duplicate, rejected or unmerged."""

from typing import NamedTuple

from bridge.store.database import Database

_RECEIVED = """
SELECT source, sum(events), sum(rejected), sum(retried) FROM intake_ledger WHERE org_id = ?1
GROUP BY source ORDER BY source
"""
_LOGGED = """
SELECT source, count(*), sum(CASE WHEN failure IS NULL THEN 0 ELSE 1 END), sum(receipts) FROM run_event
WHERE org_id = ?1 GROUP BY source
"""
_REJECTED = "SELECT coalesce(sum(receipts), 0) FROM rejected_event WHERE org_id = ?1"


class SourceTotals(NamedTuple):
    """Counts of what one source sent; an event that several sources sent belongs to the first one."""

    source: str
    received: int
    applied: int
    duplicate: int
    rejected: int
    unmerged: int


class IntakeAudit(NamedTuple):
    """The counts of all sources, and contradictions between ledger and store."""

    sources: list[SourceTotals]
    discrepancies: list[str]


def audit_intake(db: Database, org: str) -> IntakeAudit:
    """Compare the ledger of received inputs with the content of the store, in one snapshot."""
    with db.snapshot():
        received = {source: tuple(map(int, counts)) for source, *counts in db.fetch_all(_RECEIVED, org)}
        logged = {source: tuple(map(int, counts)) for source, *counts in db.fetch_all(_LOGGED, org)}
        ((listed,),) = db.fetch_all(_REJECTED, org)
    totals = []
    for source in sorted(received.keys() | logged.keys()):
        events, rejected, _ = received.get(source, (0, 0, 0))
        rows, unmerged, _ = logged.get(source, (0, 0, 0))
        totals.append(SourceTotals(source, events + rejected, rows - unmerged, events - rows, rejected, unmerged))
    discrepancies = [
        f"{source_totals.source}: the store contains {-source_totals.duplicate} more events than were received"
        for source_totals in totals
        if source_totals.duplicate < 0
    ]
    events, rejected, retried = (sum(counts[i] for counts in received.values()) for i in range(3))
    receipts = sum(counts[2] for counts in logged.values())
    if events != receipts:
        discrepancies.append(f"{events} events were received, but the log counts {receipts}")
    if rejected != int(listed) + retried:
        discrepancies.append(
            f"{rejected} inputs were rejected; {listed} are listed and {retried} were ingested later"
        )
    return IntakeAudit(totals, discrepancies)
