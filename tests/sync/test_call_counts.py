"""How often a target was called is kept in the store: what was counted is told once, whoever counts beside."""

import pytest

from bridge.errors import StoreFull
from bridge.sync.call_counts import CallCounter, CallTotals, read_calls
from tests.stores import Store
from tests.sync.sync_harness import Clock

HOUR = 3_600


def counting(store: Store, clock: Clock) -> CallCounter:
    return CallCounter(store.org, "openmetadata", clock)


def told(store: Store, clock: Clock) -> CallTotals:
    return read_calls(store.db, store.org, "openmetadata", clock())


def test_what_several_count_adds_up(store: Store) -> None:
    clock = Clock()
    for number in (1, 2):
        calls = counting(store, clock)
        for _ in range(number):
            calls.count_call("get")
        calls.count_call("bulk")
        calls.count_failure("bulk")
        calls.flush(store.db, at_once=True)
    assert told(store, clock) == CallTotals({"bulk": 2, "get": 3}, {"bulk": 2})
    assert told(store, clock).success_percent == 60.0
    assert read_calls(store.db, "other", "openmetadata", clock()) == CallTotals({}, {})


def test_it_is_written_now_and_then_and_each_call_once(sqlite_store: Store) -> None:
    clock = Clock()
    calls = counting(sqlite_store, clock)
    calls.count_call("get")
    calls.flush(sqlite_store.db)
    assert told(sqlite_store, clock).calls == {}
    clock.wait(10)
    for _ in range(3):
        calls.flush(sqlite_store.db)
        clock.wait(10)
    assert told(sqlite_store, clock).calls == {"get": 1}


def test_the_hours_of_a_day_are_told_and_older_ones_are_forgotten(sqlite_store: Store) -> None:
    clock = Clock()
    calls = counting(sqlite_store, clock)
    for _ in range(72):
        calls.count_call("get")
        calls.flush(sqlite_store.db, at_once=True)
        clock.wait(HOUR)
    clock.wait(-HOUR)
    assert told(sqlite_store, clock).calls == {"get": 24}
    assert sqlite_store.rows("SELECT count(*) FROM sync_call") == [(48,)]


def test_what_could_not_be_written_is_not_lost(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    calls = counting(sqlite_store, clock)
    calls.count_call("get")
    with monkeypatch.context() as full:

        def no_room(*_: object) -> None:
            raise StoreFull("no room")

        full.setattr(type(sqlite_store.db), "insert", no_room)
        with pytest.raises(StoreFull):
            calls.flush(sqlite_store.db, at_once=True)
    calls.flush(sqlite_store.db, at_once=True)
    assert told(sqlite_store, clock).calls == {"get": 1}


@pytest.mark.parametrize(
    ("calls", "failed", "percent"),
    [({}, {}, None), ({"get": 1_000}, {"get": 4}, 99.6), ({"get": 3}, {"get": 1}, 66.66), ({}, {"version": 2}, 0.0)],
)
def test_how_many_succeeded(calls: dict[str, int], failed: dict[str, int], percent: float | None) -> None:
    assert CallTotals(calls, failed).success_percent == percent
