"""The write path: one bad event fails nobody else, and what is remembered is only what was committed."""

import sqlite3

import pytest

from bridge.errors import StorageFailure, StoreBusy, StoreFull
from bridge.store.event_log import IncomingEvent
from bridge.store.failed_inputs import list_failed_inputs, read_payload
from bridge.store.sqlite import translate_error
from tests.factories import columns, dataset, dataset_event, field, registration, run_event
from tests.stores import Store


def poisoned(store: Store) -> IncomingEvent:
    """An event whose rows no store takes."""
    item = store.read(run_event(run=7, outputs=[dataset("bad")]))
    assert isinstance(item, IncomingEvent)
    rows = [row._replace(created_at=1 << 70) if "created_at" in row._fields else row for row in item.rows]  # type: ignore[attr-defined]
    return item._replace(rows=rows)


def test_an_event_that_the_store_refuses_is_kept_with_its_reason_and_fails_nobody_else(store: Store) -> None:
    good = [store.read(run_event(run=i, outputs=[dataset(f"t{i}")])) for i in (1, 2)]
    store.writer.write([good[0], poisoned(store), good[1]])
    assert {name for (name,) in store.rows("SELECT name FROM ol_dataset")} == {"t1", "t2"}
    (trouble,) = list_failed_inputs(store.db, store.org)
    assert trouble.kind == "unmerged"
    assert trouble.reason.startswith("rejected by the store: ")
    assert b'"bad"' in (read_payload(store.db, store.org, trouble) or b"")
    assert store.rows("SELECT DISTINCT receipts FROM run_event") == [(1,)]


def test_what_only_the_database_refuses_is_kept_with_its_reason_too(store: Store) -> None:
    asked = store.read(dataset_event(0, dataset("d", lineageBridge_registration=registration())))
    assert isinstance(asked, IncomingEvent)
    rows = [row._replace(status="MAYBE") if "status" in row._fields else row for row in asked.rows]  # type: ignore[attr-defined]
    good = store.read(run_event(run=1, outputs=[dataset("t")]))
    store.writer.write([asked._replace(rows=rows), good])
    (trouble,) = list_failed_inputs(store.db, store.org)
    assert "check" in trouble.reason.lower()
    assert store.rows("SELECT name FROM ol_dataset") == [("t",)]


def test_an_unmerged_event_that_is_sent_again_and_merges_is_no_trouble_any_more(store: Store) -> None:
    store.writer.write([poisoned(store)])
    store.apply(run_event(run=7, outputs=[dataset("bad")]))
    assert list(list_failed_inputs(store.db, store.org)) == []
    assert store.rows("SELECT name FROM ol_dataset") == [("bad",)]


def test_a_group_that_was_rolled_back_is_not_remembered_as_stored(sqlite_store: Store) -> None:
    store = sqlite_store
    event = run_event(outputs=[dataset("t", columnLineage=columns({"k": [field("a", "k")]}))])
    store.db.execute("CREATE TRIGGER full BEFORE INSERT ON column_head BEGIN SELECT raise(ABORT, 'no'); END")
    store.writer.write([store.read(event)])
    assert [trouble.reason for trouble in list_failed_inputs(store.db, store.org)] == ["rejected by the store: no"]
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
def test_only_errors_that_leave_the_store_as_it_was_are_passing(code: int | None, expected: type) -> None:
    error = sqlite3.OperationalError("x")
    if code is not None:
        error.sqlite_errorcode = code
    found = translate_error(error)
    assert isinstance(found, expected)


def test_a_full_store_takes_nothing_of_the_group_and_goes_on_when_there_is_room(sqlite_store: Store) -> None:
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


def test_old_payloads_make_room_but_hash_reason_and_counter_stay(store: Store) -> None:
    store.writer._keep_rejected = 2
    for i in range(4):
        store.reader._clock = lambda i=i: i  # type: ignore[misc]
        store.writer.write([store.read(b"{%d" % i)])
    store.writer.write([store.read(b"{0")])
    kept = store.rows("SELECT receipts, payload IS NULL FROM rejected_event ORDER BY first_at")
    assert kept == [(2, 0), (1, 1), (1, 1), (1, 0)]
    assert all(trouble.reason for trouble in list_failed_inputs(store.db, store.org))
