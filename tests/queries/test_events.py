"""The raw event log: content, pages and concurrent writers."""

import threading

import msgspec

from bridge.queries.events import EventsQuery
from bridge.store.postgres import PostgresDatabase
from tests.factories import dataset, dataset_event, run_event, run_uuid
from tests.stores import Store, as_bytes


def test_events_are_returned_as_they_were_sent(store: Store) -> None:
    sent = run_event(run_facets={"x": {"n": 1.5}})
    store.apply_each(sent, sent, b"\xef\xbb\xbf" + as_bytes(dataset_event(1, dataset("t"))).replace(b",", b",\n"))
    first, second = store.ask(EventsQuery()).items
    assert msgspec.json.decode(first.event) == sent
    assert (first.receipts, first.source, first.event_type, first.historical, first.failure) == (
        2,
        "test",
        "COMPLETE",
        False,
        None,
    )
    assert msgspec.json.decode(second.event) == dataset_event(1, dataset("t"))
    assert b"\n" not in bytes(second.event)


def test_pages_of_events_have_no_gaps_and_no_duplicates(store: Store) -> None:
    store.apply_each(*(run_event(second=n, run=n) for n in range(1, 6)))
    store.apply_each(run_event(second=7, run=7))
    newest = store.ask(EventsQuery(limit=2))
    assert [msgspec.json.decode(event.event)["run"]["runId"] for event in newest.items] == [run_uuid(5), run_uuid(7)]
    seen, after = [], 0
    for _ in range(4):
        page = store.ask(EventsQuery(after=after, limit=2))
        seen += [event.seq for event in page.items]
        after = page.next
    assert seen == sorted(set(seen))
    assert len(seen) == 6
    assert store.ask(EventsQuery(after=after)).items == []
    store.apply(run_event(second=9, run=9))
    assert len(store.ask(EventsQuery(after=after)).items) == 1


def test_reader_waits_for_transactions_with_earlier_numbers(postgres_store: Store) -> None:
    """A transaction allocates its numbers first and commits last: a reader that follows the log must not miss it."""
    slow = postgres_store
    assert isinstance(slow.db, PostgresDatabase)
    url = slow.db._url
    fast = Store(db=PostgresDatabase(url, writing=True))
    reader = Store(db=PostgresDatabase(url, writing=False))
    seqs_read: list[int] = []
    reading = threading.Thread(
        target=lambda: seqs_read.extend(event.seq for event in reader.ask(EventsQuery(after=0)).items)
    )
    staged = slow.writer.stage([slow.read(run_event(run=1))])
    slow.rows("SELECT 1")  # the server has executed the whole group by now
    fast.apply(run_event(second=1, run=2, job="other", namespace="other"))
    reading.start()
    reading.join(0.3)
    assert reading.is_alive(), "the query returned before the earlier transaction was committed"
    slow.writer.commit(staged)
    reading.join(20)
    assert seqs_read == sorted(seqs_read)
    assert len(seqs_read) == 2
    for store in (fast, reader):
        store.db.close()
