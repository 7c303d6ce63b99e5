"""An event that a mapper cannot represent affects only its own items, at every target."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from bridge.sync.sync_item import Outcome, SyncItem
from bridge.sync.target import BatchResult
from mappers.timestamps import format_timestamp
from tests.contract.targets import TARGETS, Case, MarquezCase
from tests.factories import dataset, facet, parent, run_event, schema

Json = dict[str, Any]
DEEP_TYPE = "array<" * 3_000 + "int" + ">" * 3_000


def bad_run(run_facets: Json | None = None, time: str | None = None, **facets: Json) -> Json:
    event = run_event(
        "COMPLETE", 1, run=1, job="bad", outputs=[dataset("bad", **facets)], run_facets=run_facets or {}
    )
    return event | ({"eventTime": time} if time else {})


def with_schema(fields: Any) -> Json:
    return bad_run(schema=facet(fields=fields))


def nested_fields(depth: int) -> list[Json]:
    fields: list[Json] = [{"name": "k", "type": "int"}]
    for _ in range(depth):
        fields = [{"name": "s", "type": "struct", "fields": fields}]
    return fields


POISON = {
    "deep type": with_schema([{"name": "k", "type": DEEP_TYPE}]),
    "fields number": with_schema(5),
    "fields text": with_schema(["x"]),
    "deep fields": with_schema(nested_fields(400)),
    "type number": with_schema([{"name": "k", "type": 7}]),
    "root text": bad_run({"parent": parent(7, "p") | {"root": "x"}}),
    "identifiers text": bad_run(symlinks=facet(identifiers=["x"])),
    "identifiers number": bad_run(symlinks=facet(identifiers=5)),
    "owners text": bad_run(ownership=facet(owners="x")),
    "dataset number": bad_run() | {"dataset": 5},
    "dataset list": bad_run() | {"dataset": [{"name": 5}]},
    "digits": bad_run({"sizes": facet(size=int("9" * 400))}),
    "first time": bad_run(time="0001-01-01T00:00:00+14:00", schema=schema("k")),
    "last time": bad_run(time="9999-12-31T23:59:59.999999-12:00", schema=schema("k")),
}
GOOD = run_event("COMPLETE", 9, run=2, job="good", outputs=[dataset("t", schema=schema("k"))])


@pytest.fixture(params=TARGETS, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    with request.param() as case:
        yield case


@pytest.mark.parametrize("event", POISON.values(), ids=POISON)
def test_poison_does_not_stop_a_target(case: Case, event: Json) -> None:
    case.apply(event, GOOD).converge()
    case.apply(later(GOOD)).converge()
    assert "good" in repr(case.target_state()) or case.name == "webhook"
    dead = case.items_by(Outcome.DEAD)
    assert len(dead) <= 1, "only the run of the bad event may be a dead letter"
    reasons = [str(item.reason) for item in dead]
    assert not [reason for reason in reasons if "cannot be mapped" in reason and "RecursionError" not in reason]


def test_number_of_hundreds_of_digits_is_found_in_the_log_of_marquez() -> None:
    """Without a response, the log shows whether Marquez stored the event."""
    with MarquezCase() as case:
        case.apply(POISON["digits"])
        case.lose_response()
        case.converge()
        assert case.items_by(Outcome.DEAD) == []
        assert len(case.standin.state()["log"]) == 1


def later(event: Json) -> Json:
    return event | {"eventTime": "2026-01-01T00:00:30Z"}


def test_item_that_cannot_be_mapped_is_a_dead_letter(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception of a pusher affects only the item that causes it."""
    push = case.target.push
    broken: set[bytes] = set()

    def failing_push(kind: str, items: Sequence[SyncItem]) -> BatchResult:
        if kind == "run" and not broken:
            broken.add(min(item.key for item in items))
        if broken & {item.key for item in items if kind == "run"}:
            raise RecursionError("too deep")
        result: BatchResult = push(kind, items)
        return result

    monkeypatch.setattr(case.target, "push", failing_push)
    runs = [
        run_event("COMPLETE", number, run=number, job=f"job{number}", outputs=[dataset("t", schema=schema("k"))])
        for number in range(1, 6)
    ]
    case.apply(*runs).converge()
    [dead] = case.items_by(Outcome.DEAD)
    assert {dead.key} == broken
    assert "RecursionError: too deep" in str(dead.reason)
    pushed = [item for item in case.items_by_kind("run") if item.outcome == Outcome.PUSHED]
    assert len(pushed) == 4
    monkeypatch.undo()
    case.queue.retry([("run", dead.key)])
    case.converge()
    assert not case.items_by(Outcome.DEAD)


@pytest.mark.parametrize(
    ("micros", "text"),
    [(-(10**18), "0001-01-01T00:00:00.000000Z"), (10**18, "9999-12-31T23:59:59.999999Z")],
)
def test_stored_time_out_of_range_is_displayed_as_the_nearest_time(micros: int, text: str) -> None:
    assert format_timestamp(micros) == text
