"""Checks that every received input is applied, duplicate, rejected or unmerged."""

from typing import NamedTuple

from bridge.store.database import Database

_BOOKED = """
SELECT source, sum(events), sum(rejected), sum(retried) FROM intake_ledger WHERE org_id = ?1
GROUP BY source ORDER BY source
"""
_KEPT = """
SELECT source, count(*), sum(CASE WHEN failure IS NULL THEN 0 ELSE 1 END), sum(receipts) FROM run_event
WHERE org_id = ?1 GROUP BY source
"""
_REJECTED = "SELECT coalesce(sum(receipts), 0) FROM rejected_event WHERE org_id = ?1"


class SourceTotals(NamedTuple):
    """What became of everything that one source sent; what several sent belongs to the one that was first."""

    source: str
    received: int
    applied: int
    duplicate: int
    rejected: int
    unmerged: int


class IntakeAudit(NamedTuple):
    """The accounts of all sources, and what does not add up."""

    accounts: list[SourceTotals]
    faults: list[str]


def audit_intake(db: Database, org: str) -> IntakeAudit:
    """Compare what was booked as received with what the store holds; reads one state of the store."""
    with db.snapshot():
        booked = {source: tuple(map(int, counts)) for source, *counts in db.fetch_all(_BOOKED, org)}
        kept = {source: tuple(map(int, counts)) for source, *counts in db.fetch_all(_KEPT, org)}
        ((refusals,),) = db.fetch_all(_REJECTED, org)
    accounts = []
    for source in sorted(booked.keys() | kept.keys()):
        events, refused, _ = booked.get(source, (0, 0, 0))
        rows, unmerged, _ = kept.get(source, (0, 0, 0))
        accounts.append(SourceTotals(source, events + refused, rows - unmerged, events - rows, refused, unmerged))
    faults = [
        f"{account.source}: the store holds {-account.duplicate} events more than were received"
        for account in accounts
        if account.duplicate < 0
    ]
    events, refused, retried = (sum(counts[i] for counts in booked.values()) for i in range(3))
    receipts = sum(counts[2] for counts in kept.values())
    if events != receipts:
        faults.append(f"{events} events were received, the log knows of {receipts}")
    if refused != int(refusals) + retried:
        faults.append(f"{refused} inputs were refused; {refusals} are listed, and {retried} could be taken later")
    return IntakeAudit(accounts, faults)
