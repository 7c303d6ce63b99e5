"""That what is slow, fails now and then, or is much, does not hold up the rest."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bridge.sync.openmetadata.entity_lookup import EntityLookup
from bridge.sync.openmetadata.target import OpenMetadataTarget
from connectors.http import HttpSession
from connectors.openmetadata.auth import StaticToken
from connectors.openmetadata.client import OpenMetadataClient
from tests.factories import dataset, run_event, schema
from tests.standins.client import furnished, table
from tests.standins.openmetadata import error, reset
from tests.sync.openmetadata_harness import Synced


def made(name: str, second: float = 0) -> dict[str, Any]:
    return run_event(
        "COMPLETE", second, run=int(second) + 1, inputs=[dataset("a")], outputs=[dataset(name, schema=schema("k"))]
    )


def test_one_call_without_an_answer_holds_up_its_own_batch_alone() -> None:
    with Synced() as synced:
        synced.apply(made("t")).converge()
        synced.apply(made("u", 5))
        synced.standin.faults.next(reset(), method="PUT", path="/tables/bulk")
        assert synced.round()["postponed"]
        assert not synced.reconciler.breaker.open
        synced.apply(made("v", 9)).round()
        assert "warehouse.d.s.v" in synced.entities("table")
        assert "warehouse.d.s.u" not in synced.entities("table")
        synced.converge()
        assert "warehouse.d.s.u" in synced.entities("table")


def test_a_target_that_answers_nothing_more_is_left_alone_and_asked_once_a_batch() -> None:
    with Synced() as synced:
        synced.apply(made("t")).converge()
        synced.apply(*(made(f"u{number}", 5 + number) for number in range(5)))
        synced.standin.faults.next(reset(), method="PUT", path="/tables/bulk")
        synced.standin.faults.next(error(503), path="/system/version", times=9)
        before = synced.calls["version"]
        synced.round()
        assert synced.reconciler.breaker.open
        assert synced.calls["version"] == before + 1


def test_what_comes_in_is_not_kept_waiting_by_much_lineage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenMetadataTarget, "batch_sizes", {**OpenMetadataTarget.batch_sizes, "lineage": 2})
    with Synced() as synced:
        synced.apply(*(made(f"t{number}", number) for number in range(6)))
        synced.round()
        assert len(synced.edges()) < 6
        synced.apply(made("new", 20)).round()
        assert "warehouse.d.s.new" in synced.entities("table")
        assert len(synced.edges()) < 6
        synced.converge()
        assert len(synced.edges()) == 7


@pytest.mark.parametrize(("there", "asked"), [(300, {"list": 2}), (400, {"list": 1, "get": 21, "version": 1})])
def test_many_are_listed_but_not_among_very_many(there: int, asked: dict[str, int]) -> None:
    calls: Counter[str] = Counter()
    with furnished() as (standin, direct), ThreadPoolExecutor(4) as pool:
        direct.put("/tables/bulk", json=[table(f"t{number}") for number in range(there)])
        client = OpenMetadataClient(
            HttpSession(standin.url), StaticToken(standin.bot_token), lambda kind: calls.update([kind])
        )
        wanted = [f"svc.d.s.t{number}" for number in range(21)]
        found = EntityLookup(client, pool, "ours", lambda: 0).find("tables", wanted)
        client.close()
    assert sorted(found) == sorted(wanted)
    assert calls == asked


def test_an_edge_that_is_never_answered_holds_up_no_other() -> None:
    with Synced() as synced:
        synced.apply(*(made(f"t{number}", number) for number in range(30)))
        synced.standin.faults.next(reset(), method="PUT", path="/v1/lineage", times=2)
        synced.round()
        assert not synced.reconciler.breaker.open
        assert len(synced.edges()) >= 28


def test_when_many_calls_are_not_answered_the_rest_waits_and_others_go_on() -> None:
    with Synced() as synced:
        synced.apply(*(made(f"t{number}", number) for number in range(60)))
        synced.standin.faults.plan = lambda _, method, path: (
            reset() if (method, path) == ("PUT", "/api/v1/lineage") else None
        )
        synced.round()
        assert not synced.reconciler.breaker.open
        assert synced.calls["put edge"] < 60
        synced.apply(made("late", 59)).round()
        assert "warehouse.d.s.late" in synced.entities("table")
        synced.standin.faults.clear()
        synced.converge()
        assert len(synced.edges()) == 61
