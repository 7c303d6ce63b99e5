"""Test cases, test results and profiles; each is sent once, even if requests fail."""

from typing import Any

import pytest

from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.openmetadata.locations import ServiceLayout
from tests.factories import dataset, dataset_event, facet, job_event, run_event, schema, symlinks
from tests.standins.openmetadata import Fault, error, reset
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness
from tests.sync.other_writers import Person

Json = dict[str, Any]
T = "warehouse.d.s.t"
ROWS, NOT_NULL = f"{T}.rows", f"{T}.k.not_null"


def run_with_checks(second: float, run: int = 1, *, rows: bool = True, name: str = "t", **facets: Any) -> Json:
    """A run that writes and checks t."""
    assertions = [
        {"assertion": "rows", "success": rows, "expected": "> 0", "actual": "3"},
        {"assertion": "not_null", "success": False, "column": "k", "severity": "warn"},
    ]
    metrics = {
        "rowCount": 3,
        "bytes": 30,
        "columnMetrics": {"k": {"nullCount": 1, "count": 2}, "ghost": {"count": 1}},
    }
    output = dataset(
        name,
        schema=schema("k", "v"),
        dataQualityAssertions=facet(assertions=assertions),
        output_facets={"dataQualityMetrics": facet(**metrics), "outputStatistics": facet(rowCount=3, size=30)},
        **facets,
    )
    return run_event("COMPLETE", second, run=run, outputs=[output])


def results(synced: OpenMetadataHarness, case: str = ROWS) -> list[str]:
    return [result["testCaseStatus"] for result in synced.standin.state()["results"].get(case, [])]


def profiles(synced: OpenMetadataHarness) -> list[Json]:
    return synced.standin.state()["profiles"].get(T, {}).get("table", [])


def test_checks_become_test_cases_with_results() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_with_checks(0), run_with_checks(5, 2, rows=False)).converge()
        assert set(synced.standin.state()["cases"]) == {ROWS, NOT_NULL}
        assert results(synced) == ["Success", "Failed"]
        assert results(synced, NOT_NULL) == ["Aborted", "Aborted"]
        assert synced.calls_of_next_round() == {}
        synced.connect()
        assert synced.calls_of_next_round() == {}


def definitions(synced: OpenMetadataHarness) -> dict[str, str]:
    return {name: case["testDefinition"] for name, case in synced.standin.state()["cases"].items()}


def test_checks_with_the_same_meaning_use_stock_definitions() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_with_checks(0)).converge()
        assert definitions(synced) == {ROWS: "lineageBridge_rows_table", NOT_NULL: "columnValuesToBeNotNull"}


def test_check_uses_own_definition_if_the_stock_definition_is_rejected() -> None:
    with OpenMetadataHarness() as synced:
        del synced.standin.store.checks.definitions["columnValuesToBeNotNull"]
        synced.apply(run_with_checks(0)).converge()
        assert definitions(synced)[NOT_NULL] == "lineageBridge_not_null_column"


def test_existing_test_case_keeps_its_definition() -> None:
    with OpenMetadataHarness() as synced:
        stock = synced.standin.store.checks.definitions.pop("columnValuesToBeNotNull")
        synced.apply(run_with_checks(0)).converge()
        synced.standin.store.checks.definitions["columnValuesToBeNotNull"] = stock
        synced.reconciler.push_now("check", [item.key for item in synced.items_by_kind("check")])
        assert definitions(synced)[NOT_NULL] == "lineageBridge_not_null_column"


def test_metrics_become_profiles() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_with_checks(0)).converge()
        (table,) = profiles(synced)
        assert (table["rowCount"], table["sizeInByte"], table["columnCount"]) == (3, 30, 2)
        table_profiles = synced.standin.state()["profiles"][T]
        assert [(name, rows[0]["nullCount"]) for name, rows in table_profiles["column"].items()] == [("k", 1)]
        assert [row["rowsAffected"] for row in table_profiles["system"]] == [3]
        assert synced.calls_of_next_round() == {}


FAULTS: list[Fault] = [
    error(503), error(503, applied=True), reset(), reset(applied=True), error(500), error(500, applied=True), error(429),
]  # fmt: skip


@pytest.mark.parametrize("path", ["/testDefinitions", "/testCases", "/testCaseResults", "/tableProfile"])
@pytest.mark.parametrize("fault", FAULTS)
def test_failures_neither_lose_nor_duplicate_results(fault: Fault, path: str) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_with_checks(0), run_with_checks(5, 2, rows=False), run_with_checks(9, 3))
        synced.standin.faults.next(fault, path=path, times=2)
        synced.converge()
        assert results(synced) == ["Success", "Failed", "Success"]
        assert len(results(synced, NOT_NULL)) == 3
        assert len(profiles(synced)) == 3


def test_late_older_result_is_not_latest() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_with_checks(9, 2)).converge()
        synced.apply(run_with_checks(3, 1, rows=False)).converge()
        case = Person(synced.standin).request("GET", f"dataQuality/testCases/name/{ROWS}?fields=testCaseResult")
        assert case["testCaseStatus"] == "Success"
        assert results(synced) == ["Failed", "Success"]


def test_pushes_both_results_of_same_millisecond() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_with_checks(0, 1), run_with_checks(0, 2, rows=False)).converge()
        assert sorted(results(synced)) == ["Failed", "Success"]
        assert len(profiles(synced)) == 2


def test_corrected_result_replaces_previous() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_with_checks(0)).converge()
        synced.apply(run_with_checks(5, rows=False)).converge()
        assert results(synced) == ["Failed"]


def test_containers_have_no_test_cases() -> None:
    with OpenMetadataHarness(OpenMetadataOptions(ServiceLayout(files_as="container"))) as synced:
        event = run_with_checks(0)
        event["outputs"][0] |= {"namespace": "file", "name": "/out/t"}
        synced.apply(event).converge()
        assert synced.standin.state()["cases"] == {}
        reasons = {item.reason for item in synced.items_by(Outcome.UNWANTED) if item.kind == "check"}
        assert reasons == {"OpenMetadata supports tests of tables only; this is a container"}


def test_results_and_profiles_wait_for_table() -> None:
    with OpenMetadataHarness() as synced:
        event = run_with_checks(0)
        event["eventType"] = "START"
        synced.apply(event).converge()
        assert synced.standin.state()["cases"] == {}
        synced.apply(run_with_checks(5)).converge()
        assert results(synced) == ["Success"]
        assert len(profiles(synced)) >= 1


@pytest.mark.parametrize(
    ("option", "case_count", "profile_count"),
    [("publish_quality_results", 0, 1), ("publish_profiling_metrics", 2, 0)],
)
def test_results_and_profiles_are_optional(option: str, case_count: int, profile_count: int) -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, **{option: False})) as synced:
        synced.apply(run_with_checks(0)).converge()
        assert (len(synced.standin.state()["cases"]), len(profiles(synced))) == (case_count, profile_count)


def test_recreated_table_gets_its_test_cases() -> None:
    with OpenMetadataHarness() as synced:
        synced.compare_seconds = 3_600.0
        synced.connect()
        synced.apply(run_with_checks(0)).converge()
        person = Person(synced.standin)
        person.request("DELETE", f"tables/{person.find('table', T).id}?hardDelete=true&recursive=true")
        synced.compare()
        assert set(synced.standin.state()["cases"]) == {ROWS, NOT_NULL}
        assert results(synced) == ["Success"]


def test_job_tests_belong_to_its_only_output() -> None:
    with OpenMetadataHarness() as synced:
        tests = {"test": facet(tests=[{"name": "unique", "status": "fail", "type": "unique"}])}
        synced.apply(
            run_event(run_facets=tests, outputs=[dataset("t", schema=schema("k"))]),
            run_event(run=2, job="both", run_facets=tests, outputs=[dataset("t"), dataset("u")]),
        ).converge()
        assert set(synced.standin.state()["cases"]) == {f"{T}.unique"}
        assert results(synced, f"{T}.unique") == ["Failed"]


def test_pushes_result_in_same_millisecond_as_lost_response() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_with_checks(0, 1)).converge()
        synced.apply(run_with_checks(5, 2))
        synced.standin.faults.next(reset(applied=True), path="/testCaseResults", times=2)
        synced.round()
        synced.apply(run_with_checks(5, 3, rows=False))
        synced.converge()
        assert sorted(results(synced)) == ["Failed", "Success", "Success"]
        assert len(results(synced, NOT_NULL)) == 3


def test_profiles_are_not_resent_after_column_or_settings_change() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_with_checks(0)).converge()
        event = run_with_checks(5, 2)
        event["outputs"][0]["facets"]["schema"] = schema("k", "v", "w")
        synced.apply(event, run_with_checks(0)).converge()
        assert len(profiles(synced)) == 2
        synced.connect(OpenMetadataOptions(LAYOUT, update_on_schema_change=False))
        synced.reconciler.enable()
        synced.converge()
        synced.queue.retry(
            [("profile", item.key) for item in synced.items_by(Outcome.UNCHANGED) if item.kind == "profile"]
        )
        synced.converge()
        assert len(profiles(synced)) == 2


def test_job_tests_wait_until_output_is_known() -> None:
    with OpenMetadataHarness() as synced:
        tests = {"test": facet(tests=[{"name": "unique", "status": "pass", "type": "unique"}])}
        synced.apply(run_event("START", run_facets=tests)).converge()
        assert synced.standin.state()["cases"] == {}
        synced.apply(run_event(second=5, outputs=[dataset("t", schema=schema("k"))])).converge()
        assert results(synced, f"{T}.unique") == ["Success"]


def test_recreated_table_keeps_results_of_both_names() -> None:
    with OpenMetadataHarness() as synced:
        synced.compare_seconds = 3_600.0
        synced.connect()
        synced.apply(run_with_checks(0), run_with_checks(0, 2, name="b")).converge()
        linked = facet(identifiers=[{"namespace": "db", "name": "b", "type": "TABLE"}])
        synced.apply(dataset_event(5, dataset("t", symlinks=linked))).converge()
        person = Person(synced.standin)
        for _ in range(2):
            person.request(
                "DELETE", f"tables/{person.find('table', 'warehouse.d.s.b').id}?hardDelete=true&recursive=true"
            )
            synced.compare()
            assert len(results(synced, "warehouse.d.s.b.rows")) == 2


def test_profiles_are_resent_after_table_was_recreated() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_with_checks(0), run_with_checks(5, 2)).converge()
        person = Person(synced.standin)
        person.request("DELETE", f"tables/{person.find('table', T).id}?hardDelete=true&recursive=true")
        assert profiles(synced) == []
        synced.apply(run_with_checks(9, 3))
        synced.queue.retry(
            [("dataset", item.key) for item in synced.items_by(Outcome.PUSHED) if item.kind == "dataset"]
        )
        synced.converge()
        assert len(profiles(synced)) == 3
        assert synced.calls_of_next_round() == {}


def test_profiles_and_results_follow_new_alias() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_with_checks(0), run_with_checks(5, 2, name="other")).converge()
        assert len(profiles(synced)) == 1
        synced.apply(dataset_event(9, dataset("other", symlinks=symlinks("t")))).converge()
        assert len(profiles(synced)) == 2
        assert len(results(synced)) == 2


def test_results_wait_after_alias_to_waiting_dataset() -> None:
    with OpenMetadataHarness() as synced:
        assertions = facet(assertions=[{"assertion": "rows", "success": True}])
        synced.apply(
            job_event(0, job="declared", outputs=[dataset("t", dataQualityAssertions=assertions)])
        ).converge()
        assert results(synced) == ["Success"]
        started = run_event("START", 1, run=5, inputs=[dataset("n")])
        synced.apply(started, dataset_event(2, dataset("t", symlinks=symlinks("n")))).converge()
        synced.apply(
            job_event(9, job="declared", outputs=[dataset("t", dataQualityAssertions=assertions)])
        ).converge()
        assert synced.entities("table") == {}
        assert synced.items_by(Outcome.DEAD) == []
        synced.apply(run_event("COMPLETE", 12, run=5, inputs=[dataset("n")])).converge()
        assert results(synced, "warehouse.d.s.n.rows") == ["Success", "Success"]
