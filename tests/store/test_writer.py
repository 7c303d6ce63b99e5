"""The write path: a rejected event fails no other event, and only committed rows are cached."""

import sqlite3

import pytest

from bridge.errors import StorageFailure, StoreBusy, StoreFull
from bridge.store.event_log import IncomingEvent
from bridge.store.failed_inputs import list_failed_inputs, read_payload
from bridge.store.sqlite import translate_error
from tests.factories import columns, dataset, dataset_event, field, registration, run_event
from tests.stores import Store


def unstorable_event(store: Store) -> IncomingEvent:
    item = store.read(run_event(run=7, outputs=[dataset("bad")]))
    assert isinstance(item, IncomingEvent)
    rows = [row._replace(created_at=1 << 70) if "created_at" in row._fields else row for row in item.rows]  # type: ignore[attr-defined]
    return item._replace(rows=rows)


def test_unstorable_event_is_stored_with_reason_and_fails_no_other(store: Store) -> None:
    good = [store.read(run_event(run=i, outputs=[dataset(f"t{i}")])) for i in (1, 2)]
    store.writer.write([good[0], unstorable_event(store), good[1]])
    assert {name for (name,) in store.rows("SELECT name FROM ol_dataset")} == {"t1", "t2"}
    (failed_input,) = list_failed_inputs(store.db, store.org)
    assert failed_input.kind == "unmerged"
    assert failed_input.reason.startswith("rejected by the store: ")
    assert b'"bad"' in (read_payload(store.db, store.org, failed_input) or b"")
    assert store.rows("SELECT DISTINCT receipts FROM run_event") == [(1,)]


def test_event_rejected_by_the_database_is_stored_with_reason(store: Store) -> None:
    request = store.read(dataset_event(0, dataset("d", lineageBridge_registration=registration())))
    assert isinstance(request, IncomingEvent)
    rows = [row._replace(status="MAYBE") if "status" in row._fields else row for row in request.rows]  # type: ignore[attr-defined]
    good = store.read(run_event(run=1, outputs=[dataset("t")]))
    store.writer.write([request._replace(rows=rows), good])
    (failed_input,) = list_failed_inputs(store.db, store.org)
    assert "check" in failed_input.reason.lower()
    assert store.rows("SELECT name FROM ol_dataset") == [("t",)]


def test_unmerged_event_that_merges_later_is_no_longer_listed(store: Store) -> None:
    store.writer.write([unstorable_event(store)])
    store.apply(run_event(run=7, outputs=[dataset("bad")]))
    assert list(list_failed_inputs(store.db, store.org)) == []
    assert store.rows("SELECT name FROM ol_dataset") == [("bad",)]


def test_rolled_back_group_is_not_cached_as_stored(sqlite_store: Store) -> None:
    store = sqlite_store
    event = run_event(outputs=[dataset("t", columnLineage=columns({"k": [field("a", "k")]}))])
    store.db.execute("CREATE TRIGGER full BEFORE INSERT ON column_head BEGIN SELECT raise(ABORT, 'no'); END")
    store.writer.write([store.read(event)])
    assert [failed_input.reason for failed_input in list_failed_inputs(store.db, store.org)] == [
        "rejected by the store: no"
    ]
    assert store.rows("SELECT * FROM ol_namespace") == []
    store.db.execute("DROP TRIGGER full")
    store.apply(event)
    assert store.value("SELECT count(*) FROM column_lineage") == 1
    assert store.value("SELECT count(*) FROM ol_namespace") == 2


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (sqlite3.SQLITE_FULL, StoreFull),
        (sqlite3.SQLITE_BUSY, StoreBusy),
        (sqlite3.SQLITE_BUSY | (2 << 8), StoreBusy),
        (sqlite3.SQLITE_LOCKED, StoreBusy),
        (sqlite3.SQLITE_IOERR, StorageFailure),
        (sqlite3.SQLITE_IOERR_FSYNC, StorageFailure),
        (sqlite3.SQLITE_CORRUPT, StorageFailure),
        (None, StorageFailure),
    ],
)
def test_only_errors_that_leave_the_store_unchanged_are_transient(code: int | None, expected: type) -> None:
    error = sqlite3.OperationalError("x")
    if code is not None:
        error.sqlite_errorcode = code
    translated = translate_error(error)
    assert isinstance(translated, expected)


def test_full_store_rejects_the_group_and_recovers(sqlite_store: Store) -> None:
    store = sqlite_store
    pages = store.value("PRAGMA page_count")
    store.db.execute(f"PRAGMA max_page_count = {pages}")
    big = [store.read(run_event(run=i, outputs=[dataset(f"t{i}" + "x" * 2000)])) for i in range(100)]
    with pytest.raises(StoreFull):
        store.writer.write(big)
    assert store.rows("SELECT * FROM run_event") == []
    store.db.execute("PRAGMA max_page_count = 100000")
    store.writer.write(big)
    assert store.value("SELECT count(*) FROM ol_run") == 100


def test_old_payloads_are_evicted_but_hash_reason_and_count_remain(store: Store) -> None:
    store.writer._keep_rejected = 2
    for i in range(4):
        store.reader._clock = lambda i=i: i  # type: ignore[misc]
        store.writer.write([store.read(b"{%d" % i)])
    store.writer.write([store.read(b"{0")])
    rows = store.rows("SELECT receipts, payload IS NULL FROM rejected_event ORDER BY first_at")
    assert rows == [(2, 0), (1, 1), (1, 1), (1, 0)]
    assert all(failed_input.reason for failed_input in list_failed_inputs(store.db, store.org))
