"""Run statuses: one per run, at its start time, on the pipeline of the logical job."""

import json
from datetime import datetime
from typing import Any

import pytest

from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.logical_job import FoldingRule
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests import factories as make
from tests.factories import at, dataset, facet, parent, run_event, run_uuid
from tests.standins.openmetadata import error, reset
from tests.sync.crashes import Crash
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness
from tests.sync.other_writers import Person

Json = dict[str, Any]


def millis(second: float) -> int:
    return int(datetime.fromisoformat(at(second)).timestamp() * 1_000)


def statuses(synced: OpenMetadataHarness, pipeline: str = "runs.job") -> list[Json]:
    return synced.standin.state()["statuses"].get(pipeline, [])


def run_results(synced: OpenMetadataHarness, pipeline: str = "runs.job") -> list[tuple[str, str]]:
    return [(status["executionId"][-1], status["executionStatus"]) for status in statuses(synced, pipeline)]


@pytest.mark.parametrize(
    ("kinds", "expected", "error_type"),
    [
        (["START"], "Pending", None),
        (["START", "RUNNING"], "Pending", None),
        (["START", "COMPLETE"], "Successful", None),
        (["COMPLETE", "START"], "Successful", None),
        (["START", "FAIL", "COMPLETE"], "Failed", "FAIL"),
        (["START", "ABORT"], "Skipped", "ABORT"),
    ],
)
def test_status_follows_run_events(kinds: list[str], expected: str, error_type: str | None) -> None:
    with OpenMetadataHarness() as synced:
        for number, kind in enumerate(kinds):
            synced.apply(run_event(kind, 0 if kind == "START" else number + 1)).round()
        (status,) = statuses(synced)
        assert (status["timestamp"], status["executionStatus"]) == (millis(0), expected)
        assert status["executionId"] == run_uuid(1)
        assert (status.get("error") or {}).get("errorType") == error_type
        assert ("endTime" in status) == (expected != "Pending")


def test_status_has_inputs_outputs_and_error() -> None:
    with OpenMetadataHarness() as synced:
        input_ = dataset("a", input_facets={"inputStatistics": facet(rowCount=7, size=70)})
        output_dataset = dataset("t", output_facets={"outputStatistics": facet(rowCount=3, size=30)})
        synced.apply(
            run_event(
                "FAIL",
                4,
                inputs=[input_],
                outputs=[output_dataset],
                run_facets={
                    "errorMessage": facet(message="boom\nat line 7", programmingLanguage="python"),
                    "nominalTime": facet(nominalStartTime="2026-01-01T00:00:00Z"),
                },
            ),
            run_event("COMPLETE", 5, run=2, inputs=[input_], outputs=[output_dataset]),
        ).converge()
        (status, _) = statuses(synced)
        assert status["error"] == {"errorType": "FAIL", "errorMessage": "boom", "stackTrace": "boom\nat line 7"}
        assert status["inputs"][0] | {"columns": []} == {
            "datasetFQN": "warehouse.d.s.a", "rowCount": 7, "sizeBytes": 70, "columns": [],
        }  # fmt: skip
        (output,) = status["outputs"]
        assert (output["datasetFQN"], output["rowCount"], output["sizeBytes"]) == ("warehouse.d.s.t", 3, 30)
        assert status["parameters"] == {"nominalStartTime": "2026-01-01T00:00:00+00:00"}


def test_runs_of_same_millisecond_keep_distinct_times() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event("START", 0, run=2), run_event("START", 0, run=1)).converge()
        before = {status["executionId"]: status["timestamp"] for status in statuses(synced)}
        assert sorted(before.values()) == [millis(0), millis(0) + 1]
        synced.connect()
        synced.apply(run_event("COMPLETE", 5, run=1), run_event("FAIL", 6, run=2)).converge()
        assert {status["executionId"]: status["timestamp"] for status in statuses(synced)} == before
        assert sorted(run_results(synced)) == [("1", "Successful"), ("2", "Failed")]


def test_late_start_event_moves_status() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event("COMPLETE", 9)).converge()
        assert [status["timestamp"] for status in statuses(synced)] == [millis(9)]
        synced.apply(run_event("START", 2)).converge()
        assert [status["timestamp"] for status in statuses(synced)] == [millis(2)]


def test_latest_status_is_of_run_started_last() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event("COMPLETE", 30, run=3)).round()
        synced.apply(run_event("FAIL", 10, run=1)).round()
        synced.apply(run_event("COMPLETE", 20, run=2)).converge()
        pipeline = Person(synced.standin).request("GET", "pipelines/name/runs.job?fields=pipelineStatus")
        assert pipeline["pipelineStatus"]["timestamp"] == millis(30)


def action_event(kind: str, second: float, run: int, job: str, target: str) -> Json:
    return run_event(
        kind,
        second,
        run=run,
        job=job,
        run_facets={"parent": parent(12, "app")},
        job_facets={"jobType": make.spark_type()},
        outputs=[dataset(target)],
    )


SPARK_EVENTS = (
    run_event("START", 0, run=1, job="dag.load"),
    run_event(
        "START",
        1,
        run=12,
        job="app",
        run_facets={"parent": parent(1, "dag.load")},
        job_facets={"jobType": make.spark_type("APPLICATION")},
    ),
    action_event("FAIL", 3, 3, "app.step", "t"),
    action_event("COMPLETE", 4, 4, "app.other", "u"),
)


def test_spark_actions_are_tasks_of_parent_run() -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, register_on_completion=False)) as synced:
        synced.apply(*SPARK_EVENTS, run_event("FAIL", 9, run=1, job="dag.load")).converge()
        assert set(synced.standin.state()["statuses"]) == {'runs."dag.load"'}
        (status,) = statuses(synced, 'runs."dag.load"')
        assert {task["name"]: task["executionStatus"] for task in status["taskStatus"]} == {
            "write t": "Failed",
            "write u": "Successful",
        }
        assert status["error"]["failedTask"] == "write t"
        assert sorted(output["datasetFQN"] for output in status["outputs"]) == ["warehouse.d.s.t", "warehouse.d.s.u"]


def test_application_represents_parent_run_until_it_is_reported() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*SPARK_EVENTS[1:]).converge()
        (status,) = statuses(synced, 'runs."dag.load"')
        assert status["executionId"] == run_uuid(12)
        synced.apply(SPARK_EVENTS[0]).converge()
        (status,) = statuses(synced, 'runs."dag.load"')
        assert status["executionId"] == run_uuid(1)
        assert len(status["taskStatus"]) == 2


def test_application_has_own_pipeline_if_configured() -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, folding=FoldingRule("application"))) as synced:
        synced.apply(*SPARK_EVENTS).converge()
        assert set(synced.standin.state()["statuses"]) == {'runs."dag.load"', "runs.app"}
        assert statuses(synced, 'runs."dag.load"')[0]["taskStatus"] == []


def test_rejected_status_does_not_block_other_statuses() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*(run_event("COMPLETE", number, run=number + 1) for number in range(9)))
        synced.converge()
        synced.apply(run_event("COMPLETE", 20, run=50), run_event("COMPLETE", 21, run=51))
        rejected_id = run_uuid(51).encode()
        original = synced.client.put_statuses

        def reject(pipeline: str, rows: list[Json]) -> None:
            if any(row["executionId"].encode() == rejected_id for row in rows):
                synced.standin.faults.next(error(400, "Invalid request format"), path="/status/bulk")
            original(pipeline, rows)

        synced.client.put_statuses = reject
        synced.converge()
        (dead,) = synced.items_by(Outcome.DEAD)
        assert json.loads(dead.record)["request"]["executionId"] == run_uuid(51)
        assert len(statuses(synced)) == 10


@pytest.mark.parametrize("fault", [error(503, applied=True), reset(applied=True), reset(), error(500), error(429)])
def test_failures_neither_lose_nor_duplicate_statuses(fault: Any) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*(run_event("COMPLETE", number, run=number + 1) for number in range(5)))
        synced.standin.faults.next(fault, path="/status/bulk", times=3)
        synced.converge()
        assert run_results(synced) == [(f"{number + 1}", "Successful") for number in range(5)]


def test_recreated_pipeline_gets_all_statuses() -> None:
    with OpenMetadataHarness() as synced:
        synced.compare_seconds = 3_600.0
        synced.connect()
        synced.apply(*(run_event("COMPLETE", number, run=number + 1) for number in range(5))).converge()
        person = Person(synced.standin)
        person.request("DELETE", f"pipelines/{person.find('pipeline', 'runs.job').id}?hardDelete=true")
        synced.compare()
        assert len(statuses(synced)) == 5


def test_pushes_runs_from_before_sync_was_enabled() -> None:
    synced = OpenMetadataHarness()
    synced.store.apply(run_event("COMPLETE", 1), run_event("FAIL", 2, run=2))
    with synced:
        synced.converge()
        assert run_results(synced) == [("1", "Successful"), ("2", "Failed")]


def test_crash_while_status_moves_does_not_duplicate_it() -> None:
    """Crash after each request and transaction of a push, then report an earlier start and a parent."""
    late_events = (run_event("START", 2, run=12, job="app", run_facets={"parent": parent(1, "dag.load")}),)
    for steps in range(1, 60):
        with OpenMetadataHarness() as synced:
            synced.apply(*SPARK_EVENTS[2:], run_event("COMPLETE", 9, run=12, job="app")).converge()
            synced.apply(SPARK_EVENTS[1])
            synced.crash_injector.crash_after(steps)
            try:
                synced.round()
            except Crash:
                synced.connect()
            else:
                break
            synced.apply(*late_events).converge()
            run_ids = [row["executionId"] for rows in synced.standin.state()["statuses"].values() for row in rows]
            assert len(run_ids) == len(set(run_ids))
    assert steps > 5


def test_two_names_of_one_table_appear_once_in_outputs() -> None:
    layout = ServiceLayout(
        (
            ServiceMapping("db", "warehouse", "d", "s"),
            ServiceMapping("other", "warehouse", "d", "s"),
            ServiceMapping("jobs", "runs"),
        )
    )
    with OpenMetadataHarness(OpenMetadataOptions(layout)) as synced:
        written = dataset("t", output_facets={"outputStatistics": facet(rowCount=3)})
        synced.apply(run_event(outputs=[written, dataset("t", "other")])).converge()
        assert [output["datasetFQN"] for output in statuses(synced)[0]["outputs"]] == ["warehouse.d.s.t"]


def test_status_of_removed_task_is_restored_with_task() -> None:
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, register_on_completion=False)) as synced:
        synced.compare_seconds = 3_600.0
        synced.connect()
        synced.apply(*SPARK_EVENTS, run_event("FAIL", 9, run=1, job="dag.load")).converge()
        Person(synced.standin).put("pipeline", name="dag.load", service="runs")
        synced.apply(
            run_event("START", 20, run=21, job="dag.load"), action_event("COMPLETE", 22, 23, "app.step", "t")
        )
        synced.apply(run_event("COMPLETE", 25, run=1, job="dag.load"))
        synced.compare()
        assert synced.items_by(Outcome.DEAD) == []


def test_failed_status_does_not_remove_status_of_other_run() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event("START", 0, run=1, job="etl")).converge()
        synced.apply(run_event("START", 5, run=11))
        synced.standin.faults.next(error(500), path="/status/bulk", times=2)
        synced.round()
        synced.apply(run_event("START", 5, run=12))
        synced.converge()
        assert sorted(run for run, _ in run_results(synced)) == ["b", "c"]


def test_status_is_updated_once_output_table_exists() -> None:
    with OpenMetadataHarness() as synced:
        output_dataset = dataset("t", output_facets={"outputStatistics": facet(rowCount=3)})
        synced.apply(run_event(outputs=[output_dataset]))
        synced.standin.faults.next(error(500), path="/tables/bulk", times=2)
        synced.round()
        assert statuses(synced)[0]["outputs"] == []
        synced.converge()
        assert [output["datasetFQN"] for output in statuses(synced)[0]["outputs"]] == ["warehouse.d.s.t"]
