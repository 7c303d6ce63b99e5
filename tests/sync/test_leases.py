"""Several workers on one store: leases are exclusive, and late writes of an expired worker are corrected."""

import threading
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
from bridge.sync.sync_item import SyncItem
from bridge.sync.target import BatchResult
from tests.api.service import create_store_file
from tests.factories import columns, dataset, field, run_event, schema, transformation
from tests.postgres import server
from tests.standins.openmetadata import stall
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.system.service import until

T = "warehouse.d.s.t"


class Pair:
    """Two workers with separate connections, one stand-in and one clock."""

    def __init__(self, first: Database, second: Database) -> None:
        self.first = OpenMetadataHarness(db=first)
        self.second = OpenMetadataHarness(standin=self.first.standin, db=second)
        self.second.clock = self.first.clock


def sqlite(folder: Path) -> tuple[Database, Database]:
    path = create_store_file(folder)
    return SqliteDatabase.for_writing(path), SqliteDatabase.for_background_writes(path)


def postgres(folder: Path) -> tuple[Database, Database]:
    url = server().new_database("workers")
    upgrade_postgres(url, "workers")
    return PostgresDatabase(url, writing=True), PostgresDatabase(url, writing=True)


@pytest.fixture(params=[sqlite, postgres], ids=lambda make: make.__name__)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    first, second = request.param(tmp_path)
    workers = Pair(first, second)
    with closing(first), closing(second), workers.first, workers.second:
        yield workers


def write_run(*fields: str, second: int = 0) -> dict[str, object]:
    lines = columns({name: [field("a", name, transformation())] for name in fields})
    return run_event(
        second=second,
        inputs=[dataset("a", schema=schema(*fields))],
        outputs=[dataset("t", schema=schema(*fields), columnLineage=lines)],
    )


def column_names(pair: Pair) -> list[str]:
    return sorted(column["name"] for column in pair.first.entities("table")[T]["columns"])


def test_claimed_items_are_not_claimed_by_other_worker(pair: Pair) -> None:
    pair.first.apply(write_run("k"))
    pair.first.reconciler.step(only=())
    assert len(pair.first.items.claim_due("dataset", 1)) == 1
    assert len(pair.second.items.claim_due("dataset", 10)) == 1
    assert pair.second.items.claim_due("job", 10) != []
    assert pair.first.items.claim_due("job", 10) == []


def test_items_are_available_after_lease_expires(pair: Pair) -> None:
    pair.first.apply(write_run("k"))
    pair.first.reconciler.step(only=())
    pair.first.items.claim_due("dataset", 10)
    pair.first.clock.wait(LEASE_SECONDS)
    assert pair.second.items.claim_due("dataset", 10) == []
    pair.first.clock.wait(1)
    assert len(pair.second.items.claim_due("dataset", 10)) == 2


def test_renewed_lease_keeps_items(pair: Pair) -> None:
    pair.first.apply(write_run("k"))
    pair.first.reconciler.step(only=())
    pair.first.items.claim_due("dataset", 10)
    for _ in range(5):
        pair.first.clock.wait(LEASE_SECONDS - 1)
        with pair.first.store.db.transaction():
            pair.first.items.worker.renew()
    assert pair.second.items.claim_due("dataset", 10) == []


def test_release_returns_items(pair: Pair) -> None:
    pair.first.apply(write_run("k"))
    pair.first.reconciler.step(only=())
    pair.first.items.claim_due("dataset", 10)
    pair.first.items.worker.release()
    assert len(pair.second.items.claim_due("dataset", 10)) == 2


def test_worker_may_claim_its_own_items_again(pair: Pair) -> None:
    pair.first.apply(write_run("k"))
    pair.first.reconciler.step(only=())
    assert len(pair.first.items.claim_due("dataset", 10)) == len(pair.first.items.claim_due("dataset", 10)) == 2


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/tables/bulk"), ("PUT", "/lineage"), ("GET", "/getLineageEdge")], ids=str
)
def test_late_write_of_expired_worker_is_corrected(pair: Pair, method: str, path: str) -> None:
    """The first worker stalls in a request with old state, the second one pushes newer state, then the request arrives."""
    resume = threading.Event()
    first, second = pair.first, pair.second
    first.store.apply(write_run("k"))
    first.standin.faults.next(stall(until=resume), method=method, path=path)
    late_step = threading.Thread(target=first.reconciler.step)
    late_step.start()
    until(lambda: any(path in request.path for request in first.standin.requests), "the request of the first")
    first.clock.wait(LEASE_SECONDS + 1)
    second.apply(write_run("v", second=5))
    second.converge()
    assert column_names(pair) == ["v"]
    resume.set()
    late_step.join()
    second.converge()
    assert column_names(pair) == ["v"]
    (entry,) = first.edges()["warehouse.d.s.a", T]["columnsLineage"]
    assert (entry["fromColumns"], entry["toColumn"]) == (["warehouse.d.s.a.v"], f"{T}.v")
    assert second.calls_of_next_round() == {}


def test_heartbeat_uses_its_own_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.sync.lease.RENEW_SECONDS", 0.001)
    path = create_store_file(tmp_path)
    renewed = threading.Event()

    def clock() -> int:
        renewed.set()
        return 7_000_000

    with closing(SqliteDatabase.for_writing(path)) as db:
        items = SyncItemStore(db, "default", "openmetadata", lambda: 0)
        second_connection = SqliteDatabase.for_background_writes(path)
        heartbeat = Heartbeat(
            second_connection, WorkerLease(second_connection, "default", "openmetadata", clock, items.worker.id)
        )
        assert renewed.wait(10)
        heartbeat.stop()
        expires_at = 7_000_000 + int(LEASE_SECONDS * 1_000_000)
        assert db.fetch_all("SELECT worker_id, until FROM sync_worker") == [(items.worker.id, expires_at)]


class InterruptedResults(list[Any]):
    """Results of a push; calls `before` when the reconciler starts to record them."""

    def __init__(self, results: list[Any], before: Callable[[], object]) -> None:
        super().__init__(results)
        self._before = before

    def __iter__(self) -> Iterator[Any]:
        self._before()
        return super().__iter__()


def test_edge_claimed_before_its_entities_are_recorded_is_pushed(pair: Pair) -> None:
    """The second worker pushes the edge before the first one has recorded the entities of the edge."""
    first, second = pair.first, pair.second
    first.store.apply(write_run("k"))
    first.reconciler.step(only={"job"})
    push = first.target.push

    def push_and_interrupt(kind: str, items: list[SyncItem]) -> BatchResult:
        pushed = push(kind, items)
        return pushed._replace(
            results=InterruptedResults(pushed.results, lambda: second.reconciler.step(only={"lineage"}))
        )

    first.target.push = push_and_interrupt
    first.reconciler.step(only={"dataset"})
    first.target.push = push
    second.converge()
    assert set(first.edges()) == {("warehouse.d.s.a", T)}
