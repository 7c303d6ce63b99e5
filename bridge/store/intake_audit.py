"""Checks that every received input is accounted for as applied, duplicate, rejected or unmerged."""

from typing import NamedTuple

from bridge.store.database import Database
from mappers.counts import count_of

_RECEIVED = """
SELECT source, sum(events), sum(rejected), sum(retried) FROM intake_ledger WHERE org_id = ?1
GROUP BY source ORDER BY source
"""
_LOGGED = """
SELECT source, count(*), sum(CASE WHEN failure IS NULL THEN 0 ELSE 1 END), sum(receipts) FROM run_event
WHERE org_id = ?1 GROUP BY source
"""
_REJECTED = "SELECT coalesce(sum(receipts), 0) FROM rejected_event WHERE org_id = ?1"


class _LedgerCounts(NamedTuple):
    """Inputs of a source according to the ledger."""

    events: int = 0
    rejected: int = 0
    retried: int = 0


class _LogCounts(NamedTuple):
    """Events of a source in the log."""

    events: int = 0
    unmerged: int = 0
    receipts: int = 0


class SourceTotals(NamedTuple):
    """Counts of the inputs from one source. If several sources sent an event, only the first is counted."""

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
        ledger_counts = {source: _LedgerCounts(*map(int, counts)) for source, *counts in db.fetch_all(_RECEIVED, org)}
        log_counts = {source: _LogCounts(*map(int, counts)) for source, *counts in db.fetch_all(_LOGGED, org)}
        ((listed_count,),) = db.fetch_all(_REJECTED, org)
    source_totals = []
    for source in sorted(ledger_counts.keys() | log_counts.keys()):
        ledger = ledger_counts.get(source, _LedgerCounts())
        log = log_counts.get(source, _LogCounts())
        source_totals.append(
            SourceTotals(
                source,
                received=ledger.events + ledger.rejected,
                applied=log.events - log.unmerged,
                duplicate=ledger.events - log.events,
                rejected=ledger.rejected,
                unmerged=log.unmerged,
            )
        )
    discrepancies = [
        f"{totals.source}: the store contains {count_of(-totals.duplicate, 'more event')} than were received"
        for totals in source_totals
        if totals.duplicate < 0
    ]
    event_count = sum(counts.events for counts in ledger_counts.values())
    rejected_count = sum(counts.rejected for counts in ledger_counts.values())
    retried_count = sum(counts.retried for counts in ledger_counts.values())
    logged_count = sum(counts.receipts for counts in log_counts.values())
    if event_count != logged_count:
        discrepancies.append(f"received {count_of(event_count, 'event')}, but the log counts {logged_count}")
    if rejected_count != int(listed_count) + retried_count:
        outcomes = f"listed: {listed_count}, ingested later or dropped: {retried_count}"
        discrepancies.append(f"rejected {count_of(rejected_count, 'input')}; {outcomes}")
    return IntakeAudit(source_totals, discrepancies)
