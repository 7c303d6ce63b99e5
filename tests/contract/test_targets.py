"""Contract of sync targets: crashes, stalls, duplicates, reordering, resumption and rejections."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bridge.sync.sync_item import Outcome
from tests.contract.targets import TARGETS, Case
from tests.factories import Json, columns, dataset, field, run_event, schema
from tests.sync.crashes import Crash


def run(number: int, kind: str = "COMPLETE", job: str = "job") -> Json:
    columns_a = schema("a")
    return run_event(
        kind, number, run=number, job=job,
        inputs=[dataset("in", schema=columns_a)],
        outputs=[dataset(f"out{number}", schema=columns_a, columnLineage=columns({"a": [field("in", "a")]}))],
    )  # fmt: skip


RUNS = [run(1, "START"), run(2), run(3, "FAIL"), run(1)]


@pytest.fixture(params=TARGETS, ids=lambda case: case.name)
def make_case(request: pytest.FixtureRequest) -> Callable[[], Case]:
    return request.param


@pytest.fixture
def case(make_case: Callable[[], Case]) -> Iterator[Case]:
    with make_case() as target_case:
        yield target_case


def state_after(make_case: Callable[[], Case], *events: Json) -> Any:
    """State of a target after an undisturbed sync of these events."""
    with make_case() as undisturbed:
        undisturbed.apply(*events).converge()
        return undisturbed.target_state()


def test_pushes_state_of_store(case: Case) -> None:
    before = case.target_state()
    case.apply(*RUNS).converge()
    assert case.target_state() != before
    assert case.reconciler.status().converged


def test_duplicate_events_cause_no_writes(case: Case) -> None:
    case.apply(*RUNS).converge()
    before = case.write_count()
    case.apply(*RUNS).converge()
    assert case.write_count() == before


def test_duplicate_sync_after_restart_causes_no_writes(case: Case) -> None:
    case.apply(*RUNS).converge()
    before = case.write_count()
    case.connect()
    assert not case.reconciler.enable()
    case.converge()
    assert case.write_count() == before


def test_reorder_does_not_change_target(make_case: Callable[[], Case]) -> None:
    assert state_after(make_case, *RUNS[::-1]) == state_after(make_case, *RUNS)


def test_kill_at_any_step_does_not_change_result(make_case: Callable[[], Case]) -> None:
    expected, crashes = state_after(make_case, *RUNS), 0
    for step in range(1, 400):
        with make_case() as case:
            case.apply(*RUNS)
            case.crash_injector.crash_after(step)
            try:
                case.converge()
            except Crash:
                crashes += 1
            else:
                break
            case.connect()
            case.clock.wait(60)  # until the lease expires
            case.converge()
            assert case.target_state() == expected, f"after a crash at step {step}"
    assert crashes > len(RUNS)


def test_stall_lost_response_neither_loses_nor_repeats_write(make_case: Callable[[], Case]) -> None:
    expected = state_after(make_case, *RUNS)
    with make_case() as case:
        case.apply(*RUNS)
        case.lose_response()
        case.converge()
        assert case.target_state() == expected


def test_resume_after_outage_with_one_probe_per_interval(make_case: Callable[[], Case]) -> None:
    expected = state_after(make_case, *RUNS)
    with make_case() as case:
        case.stop_responding()
        case.apply(*RUNS)
        case.round()
        before = sum(case.standin.calls().values())
        for _ in range(60):
            case.clock.wait(60)
            case.round()
        assert sum(case.standin.calls().values()) - before <= 60, "more than one probe per interval"
        case.respond_again()
        case.clock.wait(600)
        case.converge()
        assert case.target_state() == expected


def test_refuse_creates_dead_letter_and_continues(case: Case) -> None:
    case.reject()
    case.apply(run(1)).converge()
    dead = case.reasons_by_item(Outcome.DEAD)
    assert [reason for reason in dead.values() if reason and "no such thing" in reason]
    case.apply(run(2, job="other")).converge()
    assert "out2" in repr(case.target_state()) or "000000000002" in repr(case.target_state())


def test_refuse_dead_letter_can_be_retried_manually(make_case: Callable[[], Case]) -> None:
    expected = state_after(make_case, run(1))
    with make_case() as case:
        case.reject()
        case.apply(run(1)).converge()
        case.queue.retry(case.queue.list())
        case.converge()
        assert case.target_state() == expected
        assert not case.reasons_by_item(Outcome.DEAD)


def test_plan_writes_nothing(case: Case) -> None:
    case.apply(*RUNS)
    before = case.write_count()
    assert case.reconciler.plan()
    assert case.write_count() == before


def test_comparison_after_sync_finds_no_differences(case: Case) -> None:
    case.apply(*RUNS).converge()
    assert [difference for batch in case.reconciler.compare() for difference in batch.differences] == []
