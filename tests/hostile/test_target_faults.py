"""Fault matrix: whatever a target answers for some minutes, everything is delivered afterwards, without dead letters."""

from collections.abc import Iterator

import pytest

from bridge.sync.sync_item import Outcome
from tests.contract.targets import TARGETS, Case, MarquezCase, OpenMetadataCase
from tests.factories import Json, columns, dataset, field, run_event, schema
from tests.standins.faults import Fault, Plan, error, html, reset

EMPTY = Fault(status=200, body="")
LOGIN_PAGE = Fault(status=302, headers={"Location": "https://login.example.com"}, body="")


def on_writes(fault: Fault) -> Plan:
    return lambda number, method, path: None if method in {"GET", "HEAD"} else fault


def on_all(fault: Fault) -> Plan:
    return lambda *_: fault


FAULTS: dict[str, Plan] = {
    "500 on writes": on_writes(error(500, "an error occurred")),
    "503 on writes": on_writes(error(503, "no space left")),
    "302 on writes": on_writes(LOGIN_PAGE),
    "302": on_all(LOGIN_PAGE),
    "404 on writes": on_writes(error(404, "HTTP 404 Not Found")),
    "404": on_all(error(404, "HTTP 404 Not Found")),
    "404 as HTML": on_all(html(404)),
    "no response to writes": on_writes(reset()),
    "no response": on_all(reset()),
    "HTML": on_all(html(200)),
    "empty 200": on_all(EMPTY),
}


@pytest.fixture(params=TARGETS, ids=lambda case: case.name)
def make_case(request: pytest.FixtureRequest) -> type[Case]:
    target_case: type[Case] = request.param
    return target_case


@pytest.fixture
def case(make_case: type[Case]) -> Iterator[Case]:
    with make_case() as target_case:
        yield target_case


def runs(count: int, second: int = 0) -> list[Json]:
    return [
        run_event(
            "COMPLETE", second + number, run=1_000 * second + number, job=f"job{number}",
            inputs=[dataset(f"in{number}", schema=schema("k"))],
            outputs=[
                dataset(
                    f"out{number}", schema=schema("k"), columnLineage=columns({"k": [field(f"in{number}", "k")]})
                )
            ],
        )
        for number in range(1, count + 1)
    ]  # fmt: skip


def run_for(case: Case, seconds: int) -> int:
    """Run a round per second, and return the number of requests."""
    before = sum(case.standin.calls().values())
    for _ in range(seconds):
        case.round()
        case.clock.wait(1)
    return sum(case.standin.calls().values()) - before


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("count", [1, 8], ids=["single", "many"])
def test_everything_is_delivered_after_any_fault(make_case: type[Case], name: str, count: int) -> None:
    if make_case.name == "webhook" and name in {"HTML", "empty 200"}:
        pytest.skip("a webhook may send any body with 200")
    with make_case() as undisturbed:
        undisturbed.apply(*runs(count)).converge()
        expected = undisturbed.target_state()
    with make_case() as case:
        case.apply(*runs(count))
        case.standin.faults.plan = FAULTS[name]
        run_for(case, 240)
        assert case.items_by(Outcome.DEAD) == []
        if count > 1:
            assert case.reconciler.status().trouble
        case.standin.faults.clear()
        case.clock.wait(61)
        case.converge()
        assert case.items_by(Outcome.DEAD) == []
        assert case.target_state() == expected
        assert case.reconciler.status().trouble is None


@pytest.mark.parametrize("name", ["500 on writes", "404 on writes", "503 on writes", "302 on writes"])
def test_writes_are_tried_once_per_interval_while_only_reads_work(case: Case, name: str) -> None:
    case.apply(*runs(8))
    case.standin.faults.plan = FAULTS[name]
    run_for(case, 600)
    writes = case.write_count()
    run_for(case, 600)
    kinds = {kind for kind, *_ in case.store.rows("SELECT DISTINCT kind FROM sync_item WHERE settled < marked")}
    assert case.write_count() - writes <= 2 * 11 * len(kinds), "Marquez gets each event twice after a 500"


def fail_for(case: Case, names: set[str], status: int = 500) -> None:
    """Fail the writes that contain one of these texts."""

    def plan(number: int, method: str, path: str) -> Fault | None:
        (request,) = (request for request in case.standin.requests if request.number == number)
        names_one = any(f'"{name}"'.encode() in request.body for name in names)
        return error(status, "an error occurred") if method != "GET" and names_one else None

    case.standin.faults.plan = plan


@pytest.fixture
def marquez() -> Iterator[MarquezCase]:
    with MarquezCase() as case:
        yield case


def test_items_that_fail_while_others_succeed_are_dead_after_five_failures(marquez: MarquezCase) -> None:
    fail_for(marquez, {"job1", "job2", "job3", "job4"})
    for step in range(12):
        marquez.apply(*runs(6, second=4 * step)[4:] if step else runs(6))
        run_for(marquez, 1)
        marquez.clock.wait(700)
    assert len(marquez.items_by(Outcome.DEAD)) == 4
    assert marquez.reconciler.status().trouble is None


def test_other_items_are_delivered_while_the_first_ones_fail_alone(marquez: MarquezCase) -> None:
    """The failing items pause their kind, but do not block the items behind them."""
    fail_for(marquez, {"job1", "job2", "job3"})
    marquez.apply(*runs(3))
    run_for(marquez, 120)
    assert "run: " in str(marquez.reconciler.status().trouble)
    marquez.apply(*runs(8, second=20)[3:])
    run_for(marquez, 400)
    pushed = [item for item in marquez.items_by_kind("run") if item.outcome == Outcome.PUSHED]
    assert len(pushed) == 5


def test_dead_letter_of_an_outage_is_pushed_again_afterwards(marquez: MarquezCase) -> None:
    """An item that failed before dies in the first minute of an outage."""
    fail_for(marquez, {"job1"})
    marquez.apply(*runs(2))
    for step in range(4):
        run_for(marquez, 1)
        marquez.clock.wait(700)
        marquez.apply(*runs(2, second=5 * (step + 1))[1:])
    marquez.standin.faults.plan = FAULTS["500 on writes"]
    for number in (1, 2, 3):
        run_for(marquez, 1)
        marquez.apply(*runs(number + 4, second=25 + 5 * number)[-1:])
    assert len(marquez.items_by(Outcome.DEAD)) == 1
    run_for(marquez, 60)
    assert marquez.reconciler.status().trouble
    marquez.standin.faults.clear()
    marquez.clock.wait(61)
    marquez.converge()
    assert marquez.items_by(Outcome.DEAD) == []


def test_one_broken_kind_does_not_stop_others() -> None:
    with OpenMetadataCase() as case:
        broken = error(500, "search index read-only")
        case.standin.faults.plan = lambda number, method, path: broken if "/v1/lineage" in path else None
        case.apply(*runs(6))
        run_for(case, 120)
        assert "lineage: " in str(case.reconciler.status().trouble)
        case.apply(*runs(9, second=30))
        run_for(case, 5)
        assert len(case.entities("table")) == 18
        case.standin.faults.clear()
        case.clock.wait(61)
        case.converge()
        assert len(case.edges()) == 9
        assert case.items_by(Outcome.DEAD) == []
