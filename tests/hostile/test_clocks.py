"""Clocks that are set back or differ between machines neither stop a sync nor break leases."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from bridge.store.database import Database
from bridge.store.postgres import PostgresDatabase
from bridge.store.schema import upgrade_postgres
from bridge.store.sqlite import SqliteDatabase
from bridge.sync import store_clock
from bridge.sync.item_store import SyncItemStore
from bridge.sync.store_clock import StoreClock
from tests.api.service import create_store_file
from tests.contract.targets import TARGETS, Case
from tests.factories import dataset, run_event, schema
from tests.postgres import server
from tests.standins.faults import error

HOUR = 3_600
EVENT = run_event("COMPLETE", outputs=[dataset("t", schema=schema("k"))])


@pytest.fixture(params=TARGETS, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    with request.param() as target_case:
        target_case.clock.wait(2 * HOUR)
        yield target_case


def push_within_ten_minutes(case: Case) -> None:
    for _ in range(60):
        case.round()
        if not case.unsettled():
            return
        case.clock.wait(11)
    raise AssertionError(f"not pushed: {case.unsettled()}")


@pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize("seconds", [300, HOUR])
def test_clock_set_back_during_an_outage(case: Case, seconds: int, restart: bool) -> None:
    case.apply(EVENT)
    for fault in (error(503, "away"), error(500, "broken")):
        case.standin.faults.plan = lambda *_, fault=fault: fault
        for _ in range(30):
            case.round()
            case.clock.wait(7)
    case.clock.wait(-seconds)
    case.standin.faults.clear()
    if restart:
        case.connect()
        case.reconciler.enable()
    push_within_ten_minutes(case)


def test_clock_set_back_after_a_push(case: Case) -> None:
    case.apply(EVENT).converge()
    case.clock.wait(-HOUR)
    case.apply(run_event("COMPLETE", 5, run=2, outputs=[dataset("t", schema=schema("k", "v"))]))
    push_within_ten_minutes(case)


def test_lease_of_a_dead_worker_ends_although_the_clock_was_set_back(case: Case) -> None:
    case.apply(EVENT)
    case.reconciler.step(only=())
    kinds = [*case.target.batch_sizes]
    other = SyncItemStore(case.store.db, "default", case.name, case.clock)
    claimed = [item for kind in kinds for item in other.claim_due(kind, 10)]
    assert claimed
    case.clock.wait(-HOUR)
    push_within_ten_minutes(case)


@pytest.fixture
def postgres_pair() -> Iterator[Callable[[], Database]]:
    url = server().new_database("clocks")
    upgrade_postgres(url, "clocks")
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(PostgresDatabase(url, writing=True)))


def test_workers_with_different_clocks_do_not_take_over_items(
    postgres_pair: Callable[[], Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    first_db, second_db = postgres_pair(), postgres_pair()
    first = SyncItemStore(first_db, "default", "marquez", StoreClock(first_db))
    with first_db.transaction():
        first.mark([("run", bytes([number]) * 16) for number in range(4)])
    assert len(first.claim_due("run", 3)) == 3
    time = store_clock.now_micros()
    monkeypatch.setattr("bridge.sync.store_clock.now_micros", lambda: time + HOUR * 1_000_000)
    monkeypatch.setattr("bridge.clock.time.time_ns", lambda: (time + HOUR * 1_000_000) * 1_000)
    second = SyncItemStore(second_db, "default", "marquez", StoreClock(second_db))
    assert len(second.claim_due("run", 10)) == 1
    assert abs(StoreClock(second_db)() - time) < 60_000_000


def test_clock_of_postgres_is_not_asked_for_every_time(
    postgres_pair: Callable[[], Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    db = postgres_pair()
    clock = StoreClock(db)
    queries: list[str] = []
    fetch_all = db.fetch_all
    monkeypatch.setattr(db, "fetch_all", lambda sql, *values: queries.append(sql) or fetch_all(sql, *values))
    times = [clock() for _ in range(1_000)]
    assert len(queries) == 1
    assert times == sorted(times)


def test_clock_of_sqlite_is_the_clock_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.sync.store_clock.now_micros", lambda: 7)
    with closing(SqliteDatabase.for_writing(create_store_file(tmp_path))) as db:
        assert StoreClock(db)() == 7
