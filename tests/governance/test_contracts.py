"""Contracts of assets against what arrives: each version once, its history kept, whatever comes in which order."""

from typing import Any

import msgspec
import pytest

from bridge.queries.quality import QualityQuery
from tests.factories import Json, dataset, facet, run_event
from tests.governance.asset_harness import asset, contracts, stewardship
from tests.stores import Store, empty_postgres
from tests.sync.openmetadata_harness import Synced

PROMISED = [{"name": "k", "type": "bigint", "required": True}, {"name": "v", "type": "string"}]
NOW = 1_767_225_600_000_000


def wrote(second: float, run: int, *columns: Json, kind: str = "COMPLETE", name: str = "t") -> Json:
    schema = facet(fields=list(columns))
    return run_event(kind, second, run=run, outputs=[dataset(name, schema=schema)])


K, V = {"name": "k", "type": "bigint"}, {"name": "v", "type": "string"}
RETYPED, EMPTY = {"name": "k", "type": "string"}, K | {"nullable": True}


def told(store: Store) -> list[tuple[str, Any]]:
    rows = store.rows(
        "SELECT r.status, r.detail_json FROM quality_check_result r JOIN quality_check_def q ON q.qdef_id = r.qdef_id "
        "WHERE q.name = 'contract' ORDER BY r.executed_at"
    )
    return [(status, msgspec.json.decode(detail)["actual"].get("broken")) for status, detail in rows]


def promise(store: Store, at: int = NOW - 10, columns: list[Json] = PROMISED) -> None:
    stewardship(store, lambda: at).apply([asset(schema=columns)])


BREAKS = {
    "as promised": ([K, V], ("PASS", [])),
    "more than promised": ([K, V, {"name": "w"}], ("PASS", [])),
    "missing": ([K], ("FAIL", ["v is missing"])),
    "another type": ([RETYPED, V], ("FAIL", ["k is string, not bigint"])),
    "is nullable but required": ([EMPTY, V], ("FAIL", ["k is nullable but required"])),
}


@pytest.mark.parametrize(("columns", "result"), BREAKS.values(), ids=BREAKS)
def test_a_version_is_held_against_the_contract(
    store: Store, columns: list[Json], result: tuple[str, list[str]]
) -> None:
    with store:
        promise(store)
        store.apply(wrote(1, 1, *columns))
        kept = contracts(store).check_new_versions()
        assert [(status, broken or []) for status, broken in told(store)] == [result]
        assert [one.violations for one in kept] == [result[1]]
        assert contracts(store).check_new_versions() == []


def test_the_history_is_kept_and_read(store: Store) -> None:
    with store:
        promise(store)
        for run, columns in enumerate(([K, V], [K], [K, V]), 1):
            store.apply(wrote(run, run, *columns))
            contracts(store).check_new_versions()
        assert [status for status, _ in told(store)] == ["PASS", "FAIL", "PASS"]
        assert store.ask(QualityQuery(namespace="db", name="t")).score == 100


def test_what_comes_late_is_looked_at_too(store: Store) -> None:
    with store:
        promise(store)
        store.apply(wrote(5, 5, K, V))
        contracts(store).check_new_versions()
        store.apply(wrote(1, 1, K), wrote(3, 3, K, kind="RUNNING"))
        contracts(store).check_new_versions()
        assert [status for status, _ in told(store)] == ["FAIL", "PASS"]


def test_a_run_that_is_not_complete_is_not_looked_at(store: Store) -> None:
    with store:
        promise(store)
        store.apply(wrote(1, 1, K, kind="START"))
        assert contracts(store).check_new_versions() == []
        store.apply(wrote(2, 1, K, kind="COMPLETE"))
        assert len(contracts(store).check_new_versions()) == 1


def test_a_new_contract_is_held_against_the_newest_version_and_no_older_one(store: Store) -> None:
    with store:
        store.apply(wrote(1, 1, K), wrote(2, 2, K, V))
        promise(store, NOW + 30_000_000)
        contracts(store).check_new_versions()
        assert [status for status, _ in told(store)] == ["PASS"]
        promise(store, NOW + 40_000_000, [*PROMISED, {"name": "w"}])
        contracts(store).check_new_versions()
        assert told(store) == [("PASS", []), ("FAIL", ["w is missing"])]


def test_what_a_contract_promises_does_not_become_what_is_there(store: Store) -> None:
    with store:
        store.apply(wrote(1, 1, K, V, {"name": "w", "type": "int"}))
        promise(store, NOW + 30_000_000)
        assert [name for (name,) in store.rows("SELECT name FROM class_field ORDER BY ordinal")] == ["k", "v", "w"]


def test_a_broken_contract_is_a_failed_test_in_openmetadata() -> None:
    with Synced() as synced:
        promise(synced.store)
        synced.apply(wrote(1, 1, K)).converge()
        contracts(synced.store).check_new_versions()
        synced.converge()
        (results,) = [
            found for case, found in synced.standin.state()["results"].items() if case.endswith(".contract")
        ]
        assert [one["testCaseStatus"] for one in results] == ["Failed"]
        assert "v is missing" in results[0]["result"]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_many_are_looked_at_together_each_by_itself(kind: str) -> None:
    with Store(db=empty_postgres() if kind == "postgres" else None) as store:
        stewardship(store, lambda: NOW - 10).apply([asset(f"t{i}", schema=PROMISED) for i in range(4)])
        store.apply(*(wrote(i, i + 1, *([K] if i % 2 else [K, V]), name=f"t{i}") for i in range(3)))
        found = sorted((one.name, one.violations) for one in contracts(store).check_new_versions())
        assert found == [("t0", []), ("t1", ["v is missing"]), ("t2", [])]
        store.apply(wrote(9, 19, K, V, name="t1"), wrote(8, 18, K, name="t1"), wrote(9, 29, K, V, name="t3"))
        found = sorted((one.name, one.violations) for one in contracts(store).check_new_versions())
        assert found == [("t1", []), ("t1", ["v is missing"]), ("t3", [])]
        assert contracts(store).check_new_versions() == []


UNSOUND = [{}, {"columns": 5}, {"columns": [3]}, {"columns": [{"type": "x"}]}, {"columns": [{"name": 1}]}]


@pytest.mark.parametrize("said", UNSOUND)
def test_what_anybody_sends_as_a_contract_stops_no_other(said: Json) -> None:
    with Store() as store:
        promise(store)
        store.apply(wrote(1, 1, K, V))
        store.apply(run_event("COMPLETE", 2, run=2, outputs=[dataset("u", lineageBridge_contract=facet(**said))]))
        assert [one.name for one in contracts(store).check_new_versions()] == ["t"]
