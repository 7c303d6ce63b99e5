"""The events as they came in."""

import threading

import msgspec

from bridge.queries.events import EventsQuery
from bridge.store.postgres import PostgresDatabase
from tests.factories import dataset, dataset_event, run_event, run_uuid
from tests.stores import Store, as_bytes


def test_events_are_given_as_they_were_sent(store: Store) -> None:
    sent = run_event(run_facets={"x": {"n": 1.5}})
    store.apply_each(sent, sent, b"\xef\xbb\xbf" + as_bytes(dataset_event(1, dataset("t"))).replace(b",", b",\n"))
    one, other = store.ask(EventsQuery()).items
    assert msgspec.json.decode(one.event) == sent
    assert (one.receipts, one.source, one.event_type, one.historical, one.failure) == (
        2,
        "test",
        "COMPLETE",
        False,
        None,
    )
    assert msgspec.json.decode(other.event) == dataset_event(1, dataset("t"))
    assert b"\n" not in bytes(other.event)


def test_events_are_followed_without_gap_or_repeat(store: Store) -> None:
    store.apply_each(*(run_event(second=n, run=n) for n in range(1, 6)))
    store.apply_each(run_event(second=7, run=7))
    newest = store.ask(EventsQuery(limit=2))
    assert [msgspec.json.decode(one.event)["run"]["runId"] for one in newest.items] == [run_uuid(5), run_uuid(7)]
    seen, after = [], 0
    for _ in range(4):
        found = store.ask(EventsQuery(after=after, limit=2))
        seen += [one.seq for one in found.items]
        after = found.next
    assert seen == sorted(set(seen))
    assert len(seen) == 6
    assert store.ask(EventsQuery(after=after)).items == []
    store.apply(run_event(second=9, run=9))
    assert len(store.ask(EventsQuery(after=after)).items) == 1


def test_nobody_overtakes_what_is_still_being_written(postgres_store: Store) -> None:
    """A transaction that took its numbers first and commits last: who follows the log must not miss it."""
    slow = postgres_store
    assert isinstance(slow.db, PostgresDatabase)
    url = slow.db._url
    fast = Store(db=PostgresDatabase(url, writing=True))
    reader = Store(db=PostgresDatabase(url, writing=False))
    found: list[int] = []
    asking = threading.Thread(target=lambda: found.extend(one.seq for one in reader.ask(EventsQuery(after=0)).items))
    staged = slow.writer.stage([slow.read(run_event(run=1))])
    slow.rows("SELECT 1")  # the server has come to the end of the group
    fast.apply(run_event(second=1, run=2, job="other", namespace="other"))
    asking.start()
    asking.join(0.3)
    assert asking.is_alive(), "it answered before the other was written"
    slow.writer.commit(staged)
    asking.join(20)
    assert found == sorted(found)
    assert len(found) == 2
    for opened in (fast, reader):
        opened.db.close()
