"""What every target does, whatever happens: killed, stalled, told twice, out of order, left and refused."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bridge.sync.sync_item import Outcome
from tests.contract.targets import TARGETS, Case
from tests.factories import Json, columns, dataset, field, run_event, schema
from tests.sync.crashes import Killed


def run(number: int, kind: str = "COMPLETE", job: str = "job") -> Json:
    shape = schema("a")
    return run_event(
        kind, number, run=number, job=job,
        inputs=[dataset("in", schema=shape)],
        outputs=[dataset(f"out{number}", schema=shape, columnLineage=columns({"a": [field("in", "a")]}))],
    )  # fmt: skip


RUNS = [run(1, "START"), run(2), run(3, "FAIL"), run(1)]


@pytest.fixture(params=TARGETS, ids=lambda case: case.name)
def make(request: pytest.FixtureRequest) -> Callable[[], Case]:
    return request.param


@pytest.fixture
def case(make: Callable[[], Case]) -> Iterator[Case]:
    with make() as made:
        yield made


def told(make: Callable[[], Case], *events: Json) -> Any:
    """Give what a target has that heard these events, when nothing went wrong."""
    with make() as undisturbed:
        undisturbed.apply(*events).converge()
        return undisturbed.there()


def test_it_is_told_what_the_store_says(case: Case) -> None:
    before = case.there()
    case.apply(*RUNS).converge()
    assert case.there() != before
    assert case.reconciler.status().converged


def test_duplicate_the_same_again_makes_no_call_that_writes(case: Case) -> None:
    case.apply(*RUNS).converge()
    before = case.writes()
    case.apply(*RUNS).converge()
    assert case.writes() == before


def test_duplicate_a_process_that_begins_anew_makes_no_call_that_writes(case: Case) -> None:
    case.apply(*RUNS).converge()
    before = case.writes()
    case.connect()
    assert not case.reconciler.enable()
    case.converge()
    assert case.writes() == before


def test_reorder_any_order_gives_the_same_target(make: Callable[[], Case]) -> None:
    assert told(make, *RUNS[::-1]) == told(make, *RUNS)


def test_kill_whenever_it_dies_it_is_in_the_end_as_if_it_had_not(make: Callable[[], Case]) -> None:
    wanted, died = told(make, *RUNS), 0
    for step in range(1, 400):
        with make() as case:
            case.apply(*RUNS)
            case.mortality.die_after(step)
            try:
                case.converge()
            except Killed:
                died += 1
            else:
                break
            case.connect()
            case.clock.wait(60)  # until its lease is over
            case.converge()
            assert case.there() == wanted, f"it died at step {step}"
    assert died > len(RUNS)


def test_stall_a_call_that_nobody_answered_is_neither_lost_nor_done_twice(make: Callable[[], Case]) -> None:
    wanted = told(make, *RUNS)
    with make() as case:
        case.apply(*RUNS)
        case.lose_answer()
        case.converge()
        assert case.there() == wanted


def test_resume_one_that_is_away_is_asked_once_an_interval_and_then_told(make: Callable[[], Case]) -> None:
    wanted = told(make, *RUNS)
    with make() as case:
        case.go_away()
        case.apply(*RUNS)
        case.round()
        before = sum(case.standin.calls().values())
        for _ in range(60):
            case.clock.wait(60)
            case.round()
        assert sum(case.standin.calls().values()) - before <= 60, "a dead server costs one probe an interval"
        case.come_back()
        case.clock.wait(600)
        case.converge()
        assert case.there() == wanted


def test_refuse_what_is_refused_is_a_dead_letter_that_stops_nothing(case: Case) -> None:
    case.refuse()
    case.apply(run(1)).converge()
    dead = case.standing(Outcome.DEAD)
    assert [reason for reason in dead.values() if reason and "no such thing" in reason]
    case.apply(run(2, job="other")).converge()
    assert "out2" in repr(case.there()) or "000000000002" in repr(case.there())


def test_refuse_a_dead_letter_is_tried_again_when_a_person_says_so(make: Callable[[], Case]) -> None:
    wanted = told(make, run(1))
    with make() as case:
        case.refuse()
        case.apply(run(1)).converge()
        case.queue.retry(case.queue.list())
        case.converge()
        assert case.there() == wanted
        assert not case.standing(Outcome.DEAD)


def test_a_plan_writes_nothing(case: Case) -> None:
    case.apply(*RUNS)
    before = case.writes()
    assert case.reconciler.plan()
    assert case.writes() == before


def test_what_is_compared_is_as_it_was_left(case: Case) -> None:
    case.apply(*RUNS).converge()
    assert [one for compared in case.reconciler.compare() for one in compared.differences] == []
