"""The intake audit: received = applied + duplicate + rejected + unmerged, by source."""

import pytest

from bridge.store.event_log import IncomingEvent
from bridge.store.intake_audit import SourceTotals, audit_intake
from tests.factories import run_event
from tests.stores import Store


def test_every_receipt_is_counted(store: Store) -> None:
    good, bad = run_event(run=1), b"{"
    failed = store.read(run_event(run=2))
    assert isinstance(failed, IncomingEvent)
    store.writer.write([store.read(good), store.read(good), store.read(bad), failed._replace(rows=(), failure="why")])
    elsewhere = store.reader.read(bad, "elsewhere"), store.reader.read(b"[", "elsewhere")
    store.writer.write([*elsewhere, store.read(good)])
    assert audit_intake(store.db, store.org) == (
        [SourceTotals("elsewhere", 2, 0, 0, 2, 0), SourceTotals("test", 5, 1, 2, 1, 1)],
        [],
    )
    assert all(
        totals.received == totals.applied + totals.duplicate + totals.rejected + totals.unmerged
        for totals in audit_intake(store.db, store.org)[0]
    )


def test_input_ingested_later_stays_counted(store: Store) -> None:
    rejected = store.read(b"{")
    store.writer.write([rejected, rejected])
    store.writer.delete_rejected(rejected.payload_hash)  # type: ignore[union-attr]
    assert audit_intake(store.db, store.org).discrepancies == []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM run_event", "received 3 events, but the log counts 0"),
        ("UPDATE run_event SET receipts = 9", "the log counts 18"),
        ("DELETE FROM rejected_event", "rejected 1 input; listed: 0"),
        ("DELETE FROM intake_ledger", "test: the store contains 2 more events than were received"),
    ],
)
def test_discrepancy_is_reported(store: Store, damage: str, message: str) -> None:
    store.apply(run_event(run=1), run_event(run=2), run_event(run=2))
    store.writer.write([store.read(b"{")])
    store.db.execute(damage)
    assert any(message in discrepancy for discrepancy in audit_intake(store.db, store.org).discrepancies)
