"""Contract checks of dataset versions: once per version, in any order of events."""

from typing import Any

import msgspec
import pytest

from bridge.queries.quality import QualityQuery
from tests.factories import Json, dataset, facet, run_event
from tests.governance.asset_harness import asset, contract_checker, make_applier
from tests.stores import Store, empty_postgres
from tests.sync.openmetadata_harness import OpenMetadataHarness

REQUIRED_COLUMNS = [{"name": "k", "type": "bigint", "required": True}, {"name": "v", "type": "string"}]
NOW = 1_767_225_600_000_000


def write_event(second: float, run: int, *columns: Json, kind: str = "COMPLETE", name: str = "t") -> Json:
    schema = facet(fields=list(columns))
    return run_event(kind, second, run=run, outputs=[dataset(name, schema=schema)])


K, V = {"name": "k", "type": "bigint"}, {"name": "v", "type": "string"}
RETYPED, NULLABLE = {"name": "k", "type": "string"}, K | {"nullable": True}


def check_results(store: Store) -> list[tuple[str, Any]]:
    rows = store.rows(
        "SELECT r.status, r.detail_json FROM quality_check_result r JOIN quality_check_def q ON q.qdef_id = r.qdef_id "
        "WHERE q.name = 'contract' ORDER BY r.executed_at"
    )
    return [(status, msgspec.json.decode(detail)["actual"].get("broken")) for status, detail in rows]


def apply_contract(store: Store, time: int = NOW - 10, columns: list[Json] = REQUIRED_COLUMNS) -> None:
    make_applier(store, lambda: time).apply([asset(schema=columns)])


BREAKS = {
    "satisfied": ([K, V], ("PASS", [])),
    "additional column": ([K, V, {"name": "w"}], ("PASS", [])),
    "missing column": ([K], ("FAIL", ["v is missing"])),
    "other type": ([RETYPED, V], ("FAIL", ["k is string, not bigint"])),
    "nullable": ([NULLABLE, V], ("FAIL", ["k is nullable but required"])),
}


@pytest.mark.parametrize(("columns", "result"), BREAKS.values(), ids=BREAKS)
def test_version_is_checked_once(store: Store, columns: list[Json], result: tuple[str, list[str]]) -> None:
    with store:
        apply_contract(store)
        store.apply(write_event(1, 1, *columns))
        checked = contract_checker(store).check_new_versions()
        assert [(status, broken or []) for status, broken in check_results(store)] == [result]
        assert [check.violations for check in checked] == [result[1]]
        assert contract_checker(store).check_new_versions() == []


def test_check_history_is_stored(store: Store) -> None:
    with store:
        apply_contract(store)
        for run, columns in enumerate(([K, V], [K], [K, V]), 1):
            store.apply(write_event(run, run, *columns))
            contract_checker(store).check_new_versions()
        assert [status for status, _ in check_results(store)] == ["PASS", "FAIL", "PASS"]
        assert store.ask(QualityQuery(namespace="db", name="t")).score == 100


def test_late_versions_are_checked(store: Store) -> None:
    with store:
        apply_contract(store)
        store.apply(write_event(5, 5, K, V))
        contract_checker(store).check_new_versions()
        store.apply(write_event(1, 1, K), write_event(3, 3, K, kind="RUNNING"))
        contract_checker(store).check_new_versions()
        assert [status for status, _ in check_results(store)] == ["FAIL", "PASS"]


def test_incomplete_runs_are_not_checked(store: Store) -> None:
    with store:
        apply_contract(store)
        store.apply(write_event(1, 1, K, kind="START"))
        assert contract_checker(store).check_new_versions() == []
        store.apply(write_event(2, 1, K, kind="COMPLETE"))
        assert len(contract_checker(store).check_new_versions()) == 1


def test_new_contract_is_checked_for_latest_version_only(store: Store) -> None:
    with store:
        store.apply(write_event(1, 1, K), write_event(2, 2, K, V))
        apply_contract(store, NOW + 30_000_000)
        contract_checker(store).check_new_versions()
        assert [status for status, _ in check_results(store)] == ["PASS"]
        apply_contract(store, NOW + 40_000_000, [*REQUIRED_COLUMNS, {"name": "w"}])
        contract_checker(store).check_new_versions()
        assert check_results(store) == [("PASS", []), ("FAIL", ["w is missing"])]


def test_contract_does_not_change_dataset_schema(store: Store) -> None:
    with store:
        store.apply(write_event(1, 1, K, V, {"name": "w", "type": "int"}))
        apply_contract(store, NOW + 30_000_000)
        assert [name for (name,) in store.rows("SELECT name FROM class_field ORDER BY ordinal")] == ["k", "v", "w"]


def test_violated_contract_is_a_failed_test_in_openmetadata() -> None:
    with OpenMetadataHarness() as synced:
        apply_contract(synced.store)
        synced.apply(write_event(1, 1, K)).converge()
        contract_checker(synced.store).check_new_versions()
        synced.converge()
        (results,) = [
            case_results
            for case, case_results in synced.standin.state()["results"].items()
            if case.endswith(".contract")
        ]
        assert [result["testCaseStatus"] for result in results] == ["Failed"]
        assert "v is missing" in results[0]["result"]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_many_versions_are_checked_together(kind: str) -> None:
    with Store(db=empty_postgres() if kind == "postgres" else None) as store:
        make_applier(store, lambda: NOW - 10).apply([asset(f"t{i}", schema=REQUIRED_COLUMNS) for i in range(4)])
        store.apply(*(write_event(i, i + 1, *([K] if i % 2 else [K, V]), name=f"t{i}") for i in range(3)))
        checks = sorted((check.name, check.violations) for check in contract_checker(store).check_new_versions())
        assert checks == [("t0", []), ("t1", ["v is missing"]), ("t2", [])]
        store.apply(
            write_event(9, 19, K, V, name="t1"), write_event(8, 18, K, name="t1"), write_event(9, 29, K, V, name="t3")
        )
        checks = sorted((check.name, check.violations) for check in contract_checker(store).check_new_versions())
        assert checks == [("t1", []), ("t1", ["v is missing"]), ("t3", [])]
        assert contract_checker(store).check_new_versions() == []


MALFORMED = [{}, {"columns": 5}, {"columns": [3]}, {"columns": [{"type": "x"}]}, {"columns": [{"name": 1}]}]


@pytest.mark.parametrize("content", MALFORMED)
def test_malformed_contract_facet_does_not_affect_others(content: Json) -> None:
    with Store() as store:
        apply_contract(store)
        store.apply(write_event(1, 1, K, V))
        store.apply(run_event("COMPLETE", 2, run=2, outputs=[dataset("u", lineageBridge_contract=facet(**content))]))
        assert [check.name for check in contract_checker(store).check_new_versions()] == ["t"]
