"""Received = applied + duplicate + rejected + not merged, and who breaks it is named."""

import pytest

from bridge.store.event_log import IncomingEvent
from bridge.store.intake_audit import SourceTotals, audit_intake
from tests.factories import run_event
from tests.stores import Store


def test_every_receipt_is_accounted_for(store: Store) -> None:
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
        a.received == a.applied + a.duplicate + a.rejected + a.unmerged for a in audit_intake(store.db, store.org)[0]
    )


def test_an_input_that_was_taken_later_stays_accounted_for(store: Store) -> None:
    refused = store.read(b"{")
    store.writer.write([refused, refused])
    store.writer.delete_rejected(refused.payload_hash)  # type: ignore[union-attr]
    assert audit_intake(store.db, store.org).discrepancies == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM run_event", "3 events were received, but the log counts 0"),
        ("UPDATE run_event SET receipts = 9", "the log counts 18"),
        ("DELETE FROM rejected_event", "1 inputs were rejected; 0 are listed"),
        ("DELETE FROM intake_ledger", "test: the store contains 2 more events than were received"),
    ],
)
def test_what_is_missing_is_said(store: Store, damage: str, said: str) -> None:
    store.apply(run_event(run=1), run_event(run=2), run_event(run=2))
    store.writer.write([store.read(b"{")])
    store.db.execute(damage)
    assert any(said in fault for fault in audit_intake(store.db, store.org).discrepancies)
