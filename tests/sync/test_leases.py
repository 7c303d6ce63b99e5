"""Several workers of one store: none takes what another works on, and one that comes back late does no harm."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bridge.store.database import Database
from bridge.store.postgres import PostgresDatabase
from bridge.store.schema import upgrade_postgres
from bridge.store.sqlite import SqliteDatabase
from bridge.sync.item_store import SyncItemStore
from bridge.sync.lease import LEASE_SECONDS, Heartbeat, WorkerLease
from tests.api.service import store_file
from tests.factories import columns, dataset, field, run_event, schema, transformation
from tests.postgres import server
from tests.standins.openmetadata import stall
from tests.sync.openmetadata_harness import Synced
from tests.system.service import until

T = "warehouse.d.s.t"


class Pair:
    """Two workers, each with a connection of its own, one stand-in and one clock."""

    def __init__(self, first: Database, second: Database) -> None:
        self.first = Synced(db=first)
        self.second = Synced(standin=self.first.standin, db=second)
        self.second.clock = self.first.clock


def sqlite(folder: Path) -> tuple[Database, Database]:
    path = store_file(folder)
    return SqliteDatabase.for_writing(path), SqliteDatabase.for_background_writes(path)


def postgres(folder: Path) -> tuple[Database, Database]:
    url = server().new_database("workers")
    upgrade_postgres(url, "workers")
    return PostgresDatabase(url, writing=True), PostgresDatabase(url, writing=True)


@pytest.fixture(params=[sqlite, postgres], ids=lambda make: make.__name__)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    first, second = request.param(tmp_path)
    made = Pair(first, second)
    with closing(first), closing(second), made.first, made.second:
        yield made


def wrote(*fields: str, second: int = 0) -> dict[str, object]:
    lines = columns({name: [field("a", name, transformation())] for name in fields})
    return run_event(
        second=second,
        inputs=[dataset("a", schema=schema(*fields))],
        outputs=[dataset("t", schema=schema(*fields), columnLineage=lines)],
    )


def columns_of(pair: Pair) -> list[str]:
    return sorted(column["name"] for column in pair.first.entities("table")[T]["columns"])


def test_what_one_took_no_other_gets(pair: Pair) -> None:
    pair.first.apply(wrote("k"))
    pair.first.reconciler._mark_consumer.consume()
    assert len(pair.first.items.claim_due("dataset", 1)) == 1
    assert len(pair.second.items.claim_due("dataset", 10)) == 1
    assert pair.second.items.claim_due("job", 10) != []
    assert pair.first.items.claim_due("job", 10) == []


def test_what_a_dead_one_took_returns_when_its_lease_ends(pair: Pair) -> None:
    pair.first.apply(wrote("k"))
    pair.first.reconciler._mark_consumer.consume()
    pair.first.items.claim_due("dataset", 10)
    pair.first.clock.wait(LEASE_SECONDS)
    assert pair.second.items.claim_due("dataset", 10) == []
    pair.first.clock.wait(1)
    assert len(pair.second.items.claim_due("dataset", 10)) == 2


def test_one_that_renews_its_lease_keeps_what_it_took(pair: Pair) -> None:
    pair.first.apply(wrote("k"))
    pair.first.reconciler._mark_consumer.consume()
    pair.first.items.claim_due("dataset", 10)
    for _ in range(5):
        pair.first.clock.wait(LEASE_SECONDS - 1)
        with pair.first.store.db.transaction():
            pair.first.items.worker.renew()
    assert pair.second.items.claim_due("dataset", 10) == []


def test_one_that_leaves_gives_back_what_it_took(pair: Pair) -> None:
    pair.first.apply(wrote("k"))
    pair.first.reconciler._mark_consumer.consume()
    pair.first.items.claim_due("dataset", 10)
    pair.first.items.worker.release()
    assert len(pair.second.items.claim_due("dataset", 10)) == 2


def test_one_that_lost_sight_of_what_it_took_takes_it_again(pair: Pair) -> None:
    pair.first.apply(wrote("k"))
    pair.first.reconciler._mark_consumer.consume()
    assert len(pair.first.items.claim_due("dataset", 10)) == len(pair.first.items.claim_due("dataset", 10)) == 2


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/tables/bulk"), ("PUT", "/lineage"), ("GET", "/getLineageEdge")], ids=str
)
def test_what_a_stopped_one_writes_late_is_put_right(pair: Pair, method: str, path: str) -> None:
    """The first is stopped before a request of the old state; the second goes on; then the request arrives."""
    go_on = threading.Event()
    first, second = pair.first, pair.second
    first.store.apply(wrote("k"))
    first.standin.faults.next(stall(until=go_on), method=method, path=path)
    late = threading.Thread(target=first.reconciler.step)
    late.start()
    until(lambda: any(path in seen.path for seen in first.standin.requests), "the request of the first")
    first.clock.wait(LEASE_SECONDS + 1)
    second.apply(wrote("v", second=5))
    second.converge()
    assert columns_of(pair) == ["v"]
    go_on.set()
    late.join()
    second.converge()
    assert columns_of(pair) == ["v"]
    (entry,) = first.edges()["warehouse.d.s.a", T]["columnsLineage"]
    assert (entry["fromColumns"], entry["toColumn"]) == (["warehouse.d.s.a.v"], f"{T}.v")
    assert second.quiet() == {}


def test_a_heart_beats_over_a_connection_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.sync.lease.RENEW_SECONDS", 0.001)
    path = store_file(tmp_path)
    beaten = threading.Event()

    def clock() -> int:
        beaten.set()
        return 7_000_000

    with closing(SqliteDatabase.for_writing(path)) as db:
        items = SyncItemStore(db, "default", "openmetadata", lambda: 0)
        beside = SqliteDatabase.for_background_writes(path)
        heartbeat = Heartbeat(beside, WorkerLease(beside, "default", "openmetadata", clock, items.worker.id))
        assert beaten.wait(10)
        heartbeat.stop()
        until_ = 7_000_000 + int(LEASE_SECONDS * 1_000_000)
        assert db.fetch_all("SELECT worker_id, until FROM sync_worker") == [(items.worker.id, until_)]


class Watched(list[Any]):
    """Results of a push; something else happens before they are written down."""

    def __init__(self, results: list[Any], before: Callable[[], None]) -> None:
        super().__init__(results)
        self._before = before

    def __iter__(self) -> Iterator[Any]:
        self._before()
        return super().__iter__()


def test_what_follows_is_looked_at_again_after_what_it_follows_from_is_written_down(pair: Pair) -> None:
    """The second looks at an edge between its mark and the entities that it waits for."""
    first, second = pair.first, pair.second
    first.store.apply(wrote("k"))
    first.reconciler._mark_consumer.consume()
    first.reconciler._record(first.target.push("job", first.items.claim_due("job", 10)), Counter())
    pushed = first.target.push("dataset", first.items.claim_due("dataset", 10))

    def look() -> None:
        items = second.items.claim_due("lineage", 10)
        second.reconciler._record(second.target.push("lineage", items), Counter())

    first.reconciler._record(pushed._replace(results=Watched(pushed.results, look)), Counter())
    second.converge()
    assert set(first.edges()) == {("warehouse.d.s.a", T)}
