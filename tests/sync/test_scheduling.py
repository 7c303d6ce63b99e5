"""Slow, failing or large batches do not delay other items."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bridge.sync.openmetadata.entity_lookup import EntityLookup
from bridge.sync.openmetadata.target import OpenMetadataTarget
from connectors.http import HttpSession
from connectors.openmetadata.client import OpenMetadataClient
from connectors.session import StaticToken
from tests.factories import dataset, run_event, schema
from tests.standins.client import running_standin, table
from tests.standins.openmetadata import error, reset
from tests.sync.openmetadata_harness import OpenMetadataHarness


def write_run(name: str, second: float = 0) -> dict[str, Any]:
    return run_event(
        "COMPLETE", second, run=int(second) + 1, inputs=[dataset("a")], outputs=[dataset(name, schema=schema("k"))]
    )


def test_lost_response_delays_only_its_batch() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run("t")).converge()
        synced.apply(write_run("u", 5))
        synced.standin.faults.next(reset(), method="PUT", path="/tables/bulk")
        assert synced.round()["postponed"]
        assert not synced.reconciler.breaker.open
        synced.apply(write_run("v", 9)).round()
        assert "warehouse.d.s.v" in synced.entities("table")
        assert "warehouse.d.s.u" not in synced.entities("table")
        synced.converge()
        assert "warehouse.d.s.u" in synced.entities("table")


def test_probes_once_per_batch_and_opens_circuit() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run("t")).converge()
        synced.apply(*(write_run(f"u{number}", 5 + number) for number in range(5)))
        synced.standin.faults.next(reset(), method="PUT", path="/tables/bulk")
        synced.standin.faults.next(error(503), path="/system/version", times=9)
        before = synced.calls["version"]
        synced.round()
        assert synced.reconciler.breaker.open
        assert synced.calls["version"] == before + 1


def test_large_lineage_batches_do_not_delay_new_entities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenMetadataTarget, "batch_sizes", {**OpenMetadataTarget.batch_sizes, "lineage": 2})
    with OpenMetadataHarness() as synced:
        synced.apply(*(write_run(f"t{number}", number) for number in range(6)))
        synced.round()
        assert len(synced.edges()) < 6
        synced.apply(write_run("new", 20)).round()
        assert "warehouse.d.s.new" in synced.entities("table")
        assert len(synced.edges()) < 6
        synced.converge()
        assert len(synced.edges()) == 7


@pytest.mark.parametrize(
    ("table_count", "expected_calls"), [(300, {"list": 2}), (400, {"list": 1, "get": 21, "version": 1})]
)
def test_lookup_lists_schema_unless_it_is_large(table_count: int, expected_calls: dict[str, int]) -> None:
    calls: Counter[str] = Counter()
    with running_standin() as (standin, server), ThreadPoolExecutor(4) as pool:
        server.put("/tables/bulk", json=[table(f"t{number}") for number in range(table_count)])
        client = OpenMetadataClient(
            HttpSession(standin.url), StaticToken(standin.bot_token), lambda kind: calls.update([kind])
        )
        names = [f"svc.d.s.t{number}" for number in range(21)]
        found = EntityLookup(client, pool, "ours", lambda: 0).find("tables", names)
        client.close()
    assert sorted(found) == sorted(names)
    assert calls == expected_calls


def test_lost_response_for_edge_does_not_delay_other_edges() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*(write_run(f"t{number}", number) for number in range(30)))
        synced.standin.faults.next(reset(), method="PUT", path="/v1/lineage", times=2)
        synced.round()
        assert not synced.reconciler.breaker.open
        assert len(synced.edges()) >= 28


def test_many_lost_responses_postpone_batch_and_not_new_entities() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*(write_run(f"t{number}", number) for number in range(60)))
        synced.standin.faults.plan = lambda _, method, path: (
            reset() if (method, path) == ("PUT", "/api/v1/lineage") else None
        )
        synced.round()
        assert not synced.reconciler.breaker.open
        assert synced.calls["put edge"] < 60
        synced.apply(write_run("late", 59)).round()
        assert "warehouse.d.s.late" in synced.entities("table")
        synced.standin.faults.clear()
        synced.converge()
        assert len(synced.edges()) == 61
