"""Checks, how they ended, and figures: each told once, whatever fails on the way."""

from typing import Any

import pytest

from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.openmetadata.locations import ServiceLayout
from tests.factories import dataset, dataset_event, facet, job_event, run_event, schema, symlinks
from tests.standins.openmetadata import Fault, error, reset
from tests.sync.openmetadata_harness import LAYOUT, Synced
from tests.sync.other_writers import Person

Json = dict[str, Any]
T = "warehouse.d.s.t"
ROWS, NOT_NULL = f"{T}.rows", f"{T}.k.not_null"


def checked(second: float, run: int = 1, *, rows: bool = True, name: str = "t", **more: Any) -> Json:
    """A run that writes t and checks it."""
    assertions = [
        {"assertion": "rows", "success": rows, "expected": "> 0", "actual": "3"},
        {"assertion": "not_null", "success": False, "column": "k", "severity": "warn"},
    ]
    figures = {
        "rowCount": 3,
        "bytes": 30,
        "columnMetrics": {"k": {"nullCount": 1, "count": 2}, "ghost": {"count": 1}},
    }
    written = dataset(
        name,
        schema=schema("k", "v"),
        dataQualityAssertions=facet(assertions=assertions),
        output_facets={"dataQualityMetrics": facet(**figures), "outputStatistics": facet(rowCount=3, size=30)},
        **more,
    )
    return run_event("COMPLETE", second, run=run, outputs=[written])


def results(synced: Synced, case: str = ROWS) -> list[str]:
    return [one["testCaseStatus"] for one in synced.standin.state()["results"].get(case, [])]


def profiles(synced: Synced) -> list[Json]:
    return synced.standin.state()["profiles"].get(T, {}).get("table", [])


def test_checks_are_test_cases_with_results() -> None:
    with Synced() as synced:
        synced.apply(checked(0), checked(5, 2, rows=False)).converge()
        assert set(synced.standin.state()["cases"]) == {ROWS, NOT_NULL}
        assert results(synced) == ["Success", "Failed"]
        assert results(synced, NOT_NULL) == ["Aborted", "Aborted"]
        assert synced.quiet() == {}
        synced.connect()
        assert synced.quiet() == {}


def test_figures_are_profiles() -> None:
    with Synced() as synced:
        synced.apply(checked(0)).converge()
        (table,) = profiles(synced)
        assert (table["rowCount"], table["sizeInByte"], table["columnCount"]) == (3, 30, 2)
        of = synced.standin.state()["profiles"][T]
        assert [(name, rows[0]["nullCount"]) for name, rows in of["column"].items()] == [("k", 1)]
        assert [one["rowsAffected"] for one in of["system"]] == [3]
        assert synced.quiet() == {}


FAULTS: list[Fault] = [
    error(503), error(503, applied=True), reset(), reset(applied=True), error(500), error(500, applied=True), error(429),
]  # fmt: skip


@pytest.mark.parametrize("path", ["/testDefinitions", "/testCases", "/testCaseResults", "/tableProfile"])
@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_fails_on_the_way_each_is_told_once(fault: Fault, path: str) -> None:
    with Synced() as synced:
        synced.apply(checked(0), checked(5, 2, rows=False), checked(9, 3))
        synced.standin.faults.next(fault, path=path, times=2)
        synced.converge()
        assert results(synced) == ["Success", "Failed", "Success"]
        assert len(results(synced, NOT_NULL)) == 3
        assert len(profiles(synced)) == 3


def test_an_older_result_that_comes_late_does_not_become_the_newest() -> None:
    with Synced() as synced:
        synced.apply(checked(9, 2)).converge()
        synced.apply(checked(3, 1, rows=False)).converge()
        case = Person(synced.standin).ask("GET", f"dataQuality/testCases/name/{ROWS}?fields=testCaseResult")
        assert case["testCaseStatus"] == "Success"
        assert results(synced) == ["Failed", "Success"]


def test_two_results_of_one_millisecond_are_both_told() -> None:
    with Synced() as synced:
        synced.apply(checked(0, 1), checked(0, 2, rows=False)).converge()
        assert sorted(results(synced)) == ["Failed", "Success"]
        assert len(profiles(synced)) == 2


def test_a_result_that_is_corrected_replaces_what_was_told() -> None:
    with Synced() as synced:
        synced.apply(checked(0)).converge()
        synced.apply(checked(5, rows=False)).converge()
        assert results(synced) == ["Failed"]


def test_what_is_no_table_has_no_tests() -> None:
    with Synced(OpenMetadataOptions(ServiceLayout(files_as="container"))) as synced:
        event = checked(0)
        event["outputs"][0] |= {"namespace": "file", "name": "/out/t"}
        synced.apply(event).converge()
        assert synced.standin.state()["cases"] == {}
        told = {item.reason for item in synced.items_by(Outcome.UNWANTED) if item.kind == "check"}
        assert told == {"OpenMetadata supports tests of tables only; this is a container"}


def test_they_wait_for_their_table() -> None:
    with Synced() as synced:
        event = checked(0)
        event["eventType"] = "START"
        synced.apply(event).converge()
        assert synced.standin.state()["cases"] == {}
        synced.apply(checked(5)).converge()
        assert results(synced) == ["Success"]
        assert len(profiles(synced)) >= 1


@pytest.mark.parametrize(
    ("off", "cases", "profiled"),
    [("publish_quality_results", 0, 1), ("publish_profiling_metrics", 2, 0)],
)
def test_they_can_be_left_out(off: str, cases: int, profiled: int) -> None:
    with Synced(OpenMetadataOptions(LAYOUT, **{off: False})) as synced:
        synced.apply(checked(0)).converge()
        assert (len(synced.standin.state()["cases"]), len(profiles(synced))) == (cases, profiled)


def test_a_table_that_was_made_anew_has_its_cases_again() -> None:
    with Synced() as synced:
        synced.compare_seconds = 3_600.0
        synced.connect()
        synced.apply(checked(0)).converge()
        person = Person(synced.standin)
        person.ask("DELETE", f"tables/{person.find('table', T).id}?hardDelete=true&recursive=true")
        synced.compare()
        assert set(synced.standin.state()["cases"]) == {ROWS, NOT_NULL}
        assert results(synced) == ["Success"]


def test_a_test_of_a_job_is_one_of_the_one_table_that_it_writes() -> None:
    with Synced() as synced:
        tests = {"test": facet(tests=[{"name": "unique", "status": "fail", "type": "unique"}])}
        synced.apply(
            run_event(run_facets=tests, outputs=[dataset("t", schema=schema("k"))]),
            run_event(run=2, job="both", run_facets=tests, outputs=[dataset("t"), dataset("u")]),
        ).converge()
        assert set(synced.standin.state()["cases"]) == {f"{T}.unique"}
        assert results(synced, f"{T}.unique") == ["Failed"]


def test_a_result_in_the_place_of_one_that_nobody_answered_is_told_too() -> None:
    with Synced() as synced:
        synced.apply(checked(0, 1)).converge()
        synced.apply(checked(5, 2))
        synced.standin.faults.next(reset(applied=True), path="/testCaseResults", times=2)
        synced.round()
        synced.apply(checked(5, 3, rows=False))
        synced.converge()
        assert sorted(results(synced)) == ["Failed", "Success", "Success"]
        assert len(results(synced, NOT_NULL)) == 3


def test_figures_are_not_told_again_when_columns_come_or_settings_change() -> None:
    with Synced() as synced:
        synced.apply(checked(0)).converge()
        more = checked(5, 2)
        more["outputs"][0]["facets"]["schema"] = schema("k", "v", "w")
        synced.apply(more, checked(0)).converge()
        assert len(profiles(synced)) == 2
        synced.connect(OpenMetadataOptions(LAYOUT, update_on_schema_change=False))
        synced.reconciler.enable()
        synced.converge()
        synced.queue.retry(
            [("profile", item.key) for item in synced.items_by(Outcome.UNCHANGED) if item.kind == "profile"]
        )
        synced.converge()
        assert len(profiles(synced)) == 2


def test_tests_of_a_job_wait_until_it_is_known_what_it_writes() -> None:
    with Synced() as synced:
        tests = {"test": facet(tests=[{"name": "unique", "status": "pass", "type": "unique"}])}
        synced.apply(run_event("START", run_facets=tests)).converge()
        assert synced.standin.state()["cases"] == {}
        synced.apply(run_event(second=5, outputs=[dataset("t", schema=schema("k"))])).converge()
        assert results(synced, f"{T}.unique") == ["Success"]


def test_two_names_of_one_table_keep_both_results_when_it_is_made_anew() -> None:
    with Synced() as synced:
        synced.compare_seconds = 3_600.0
        synced.connect()
        synced.apply(checked(0), checked(0, 2, name="b")).converge()
        linked = facet(identifiers=[{"namespace": "db", "name": "b", "type": "TABLE"}])
        synced.apply(dataset_event(5, dataset("t", symlinks=linked))).converge()
        person = Person(synced.standin)
        for _ in range(2):
            person.ask(
                "DELETE", f"tables/{person.find('table', 'warehouse.d.s.b').id}?hardDelete=true&recursive=true"
            )
            synced.compare()
            assert len(results(synced, "warehouse.d.s.b.rows")) == 2


def test_figures_are_told_again_of_a_table_that_was_made_anew() -> None:
    with Synced() as synced:
        synced.apply(checked(0), checked(5, 2)).converge()
        person = Person(synced.standin)
        person.ask("DELETE", f"tables/{person.find('table', T).id}?hardDelete=true&recursive=true")
        assert profiles(synced) == []
        synced.apply(checked(9, 3))
        synced.queue.retry(
            [("dataset", item.key) for item in synced.items_by(Outcome.PUSHED) if item.kind == "dataset"]
        )
        synced.converge()
        assert len(profiles(synced)) == 3
        assert synced.quiet() == {}


def test_figures_of_datasets_that_become_one_are_told_of_it() -> None:
    with Synced() as synced:
        synced.apply(checked(0), checked(5, 2, name="other")).converge()
        assert len(profiles(synced)) == 1
        synced.apply(dataset_event(9, dataset("other", symlinks=symlinks("t")))).converge()
        assert len(profiles(synced)) == 2
        assert len(results(synced)) == 2


def test_results_wait_with_a_table_that_has_become_one_that_waits() -> None:
    with Synced() as synced:
        said = facet(assertions=[{"assertion": "rows", "success": True}])
        synced.apply(job_event(0, job="declared", outputs=[dataset("t", dataQualityAssertions=said)])).converge()
        assert results(synced) == ["Success"]
        started = run_event("START", 1, run=5, inputs=[dataset("n")])
        synced.apply(started, dataset_event(2, dataset("t", symlinks=symlinks("n")))).converge()
        synced.apply(job_event(9, job="declared", outputs=[dataset("t", dataQualityAssertions=said)])).converge()
        assert synced.entities("table") == {}
        assert synced.items_by(Outcome.DEAD) == []
        synced.apply(run_event("COMPLETE", 12, run=5, inputs=[dataset("n")])).converge()
        assert results(synced, "warehouse.d.s.n.rows") == ["Success", "Success"]
