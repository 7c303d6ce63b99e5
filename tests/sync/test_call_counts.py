"""Hourly call counts, stored and summed over several workers."""

import pytest

from bridge.errors import StoreFull
from bridge.sync.call_counts import CallCounter, CallTotals, read_calls
from tests.stores import Store
from tests.sync.sync_harness import Clock

HOUR = 3_600


def make_counter(store: Store, clock: Clock) -> CallCounter:
    return CallCounter(store.org, "openmetadata", clock)


def stored_totals(store: Store, clock: Clock) -> CallTotals:
    return read_calls(store.db, store.org, "openmetadata", clock())


def test_sums_counts_of_several_workers(store: Store) -> None:
    clock = Clock()
    for number in (1, 2):
        calls = make_counter(store, clock)
        for _ in range(number):
            calls.count_call("get")
        calls.count_call("bulk")
        calls.count_failure("bulk")
        calls.flush(store.db, force=True)
    assert stored_totals(store, clock) == CallTotals({"bulk": 2, "get": 3}, {"bulk": 2})
    assert stored_totals(store, clock).success_percent == 60.0
    assert read_calls(store.db, "other", "openmetadata", clock()) == CallTotals({}, {})


def test_flushes_periodically_without_double_counting(sqlite_store: Store) -> None:
    clock = Clock()
    calls = make_counter(sqlite_store, clock)
    calls.count_call("get")
    calls.flush(sqlite_store.db)
    assert stored_totals(sqlite_store, clock).calls == {}
    clock.wait(10)
    for _ in range(3):
        calls.flush(sqlite_store.db)
        clock.wait(10)
    assert stored_totals(sqlite_store, clock).calls == {"get": 1}


def test_keeps_hourly_counts_of_last_24_hours(sqlite_store: Store) -> None:
    clock = Clock()
    calls = make_counter(sqlite_store, clock)
    for _ in range(72):
        calls.count_call("get")
        calls.flush(sqlite_store.db, force=True)
        clock.wait(HOUR)
    clock.wait(-HOUR)
    assert stored_totals(sqlite_store, clock).calls == {"get": 24}
    assert sqlite_store.rows("SELECT count(*) FROM sync_call") == [(48,)]


def test_failed_flush_keeps_counts(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    calls = make_counter(sqlite_store, clock)
    calls.count_call("get")
    with monkeypatch.context() as patch:

        def fail(*_: object) -> None:
            raise StoreFull("no room")

        patch.setattr(type(sqlite_store.db), "insert", fail)
        with pytest.raises(StoreFull):
            calls.flush(sqlite_store.db, force=True)
    calls.flush(sqlite_store.db, force=True)
    assert stored_totals(sqlite_store, clock).calls == {"get": 1}


@pytest.mark.parametrize(
    ("calls", "failed", "percent"),
    [({}, {}, None), ({"get": 1_000}, {"get": 4}, 99.6), ({"get": 3}, {"get": 1}, 66.66), ({}, {"version": 2}, 0.0)],
)
def test_success_percentage(calls: dict[str, int], failed: dict[str, int], percent: float | None) -> None:
    assert CallTotals(calls, failed).success_percent == percent
