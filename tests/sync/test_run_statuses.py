"""How runs went: a status each, at the time when the run began, of the pipeline that people know."""

from datetime import datetime
from typing import Any

import pytest

from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.logical_job import FoldingRule
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests import factories as make
from tests.factories import at, dataset, facet, parent, run_event, run_uuid
from tests.standins.openmetadata import error, reset
from tests.sync.crashes import Killed
from tests.sync.openmetadata_harness import LAYOUT, Synced
from tests.sync.other_writers import Person

Json = dict[str, Any]


def millis(second: float) -> int:
    return int(datetime.fromisoformat(at(second)).timestamp() * 1_000)


def statuses(synced: Synced, pipeline: str = "runs.job") -> list[Json]:
    return synced.standin.state()["statuses"].get(pipeline, [])


def told(synced: Synced, pipeline: str = "runs.job") -> list[tuple[str, str]]:
    return [(one["executionId"][-1], one["executionStatus"]) for one in statuses(synced, pipeline)]


@pytest.mark.parametrize(
    ("kinds", "word", "kind_of_error"),
    [
        (["START"], "Pending", None),
        (["START", "RUNNING"], "Pending", None),
        (["START", "COMPLETE"], "Successful", None),
        (["COMPLETE", "START"], "Successful", None),
        (["START", "FAIL", "COMPLETE"], "Failed", "FAIL"),
        (["START", "ABORT"], "Skipped", "ABORT"),
    ],
)
def test_a_run_is_told_as_it_went(kinds: list[str], word: str, kind_of_error: str | None) -> None:
    with Synced() as synced:
        for number, kind in enumerate(kinds):
            synced.apply(run_event(kind, 0 if kind == "START" else number + 1)).round()
        (status,) = statuses(synced)
        assert (status["timestamp"], status["executionStatus"]) == (millis(0), word)
        assert status["executionId"] == run_uuid(1)
        assert (status.get("error") or {}).get("errorType") == kind_of_error
        assert ("endTime" in status) == (word != "Pending")


def test_it_says_what_was_read_and_written_and_what_went_wrong() -> None:
    with Synced() as synced:
        read = dataset("a", input_facets={"inputStatistics": facet(rowCount=7, size=70)})
        written = dataset("t", output_facets={"outputStatistics": facet(rowCount=3, size=30)})
        synced.apply(
            run_event(
                "FAIL",
                4,
                inputs=[read],
                outputs=[written],
                run_facets={
                    "errorMessage": facet(message="boom\nat line 7", programmingLanguage="python"),
                    "nominalTime": facet(nominalStartTime="2026-01-01T00:00:00Z"),
                },
            ),
            run_event("COMPLETE", 5, run=2, inputs=[read], outputs=[written]),
        ).converge()
        (status, _) = statuses(synced)
        assert status["error"] == {"errorType": "FAIL", "errorMessage": "boom", "stackTrace": "boom\nat line 7"}
        assert status["inputs"][0] | {"columns": []} == {
            "datasetFQN": "warehouse.d.s.a", "rowCount": 7, "sizeBytes": 70, "columns": [],
        }  # fmt: skip
        (output,) = status["outputs"]
        assert (output["datasetFQN"], output["rowCount"], output["sizeBytes"]) == ("warehouse.d.s.t", 3, 30)
        assert status["parameters"] == {"nominalStartTime": "2026-01-01T00:00:00+00:00"}


def test_two_runs_of_one_millisecond_are_told_apart_for_ever() -> None:
    with Synced() as synced:
        synced.apply(run_event("START", 0, run=2), run_event("START", 0, run=1)).converge()
        before = {one["executionId"]: one["timestamp"] for one in statuses(synced)}
        assert sorted(before.values()) == [millis(0), millis(0) + 1]
        synced.connect()
        synced.apply(run_event("COMPLETE", 5, run=1), run_event("FAIL", 6, run=2)).converge()
        assert {one["executionId"]: one["timestamp"] for one in statuses(synced)} == before
        assert sorted(told(synced)) == [("1", "Successful"), ("2", "Failed")]


def test_a_start_that_is_learnt_late_moves_the_status() -> None:
    with Synced() as synced:
        synced.apply(run_event("COMPLETE", 9)).converge()
        assert [one["timestamp"] for one in statuses(synced)] == [millis(9)]
        synced.apply(run_event("START", 2)).converge()
        assert [one["timestamp"] for one in statuses(synced)] == [millis(2)]


def test_the_latest_is_the_one_that_began_last_in_whatever_order_they_come() -> None:
    with Synced() as synced:
        synced.apply(run_event("COMPLETE", 30, run=3)).round()
        synced.apply(run_event("FAIL", 10, run=1)).round()
        synced.apply(run_event("COMPLETE", 20, run=2)).converge()
        pipeline = Person(synced.standin).ask("GET", "pipelines/name/runs.job?fields=pipelineStatus")
        assert pipeline["pipelineStatus"]["timestamp"] == millis(30)


def step(kind: str, second: float, run: int, job: str, target: str) -> Json:
    return run_event(
        kind,
        second,
        run=run,
        job=job,
        run_facets={"parent": parent(12, "app")},
        job_facets={"jobType": make.spark_type()},
        outputs=[dataset(target)],
    )


SPARK = (
    run_event("START", 0, run=1, job="dag.load"),
    run_event(
        "START",
        1,
        run=12,
        job="app",
        run_facets={"parent": parent(1, "dag.load")},
        job_facets={"jobType": make.spark_type("APPLICATION")},
    ),
    step("FAIL", 3, 3, "app.step", "t"),
    step("COMPLETE", 4, 4, "app.other", "u"),
)


def test_actions_are_tasks_of_the_run_that_started_their_application() -> None:
    with Synced(OpenMetadataOptions(LAYOUT, register_on_completion=False)) as synced:
        synced.apply(*SPARK, run_event("FAIL", 9, run=1, job="dag.load")).converge()
        assert set(synced.standin.state()["statuses"]) == {'runs."dag.load"'}
        (status,) = statuses(synced, 'runs."dag.load"')
        assert {task["name"]: task["executionStatus"] for task in status["taskStatus"]} == {
            "write t": "Failed",
            "write u": "Successful",
        }
        assert status["error"]["failedTask"] == "write t"
        assert sorted(one["datasetFQN"] for one in status["outputs"]) == ["warehouse.d.s.t", "warehouse.d.s.u"]


def test_an_application_stands_for_a_run_that_nobody_reported_of_until_somebody_does() -> None:
    with Synced() as synced:
        synced.apply(*SPARK[1:]).converge()
        (status,) = statuses(synced, 'runs."dag.load"')
        assert status["executionId"] == run_uuid(12)
        synced.apply(SPARK[0]).converge()
        (status,) = statuses(synced, 'runs."dag.load"')
        assert status["executionId"] == run_uuid(1)
        assert len(status["taskStatus"]) == 2


def test_an_application_is_shown_by_itself_where_the_settings_say_so() -> None:
    with Synced(OpenMetadataOptions(LAYOUT, folding=FoldingRule("application"))) as synced:
        synced.apply(*SPARK).converge()
        assert set(synced.standin.state()["statuses"]) == {'runs."dag.load"', "runs.app"}
        assert statuses(synced, 'runs."dag.load"')[0]["taskStatus"] == []


def test_a_status_that_is_refused_holds_up_no_other() -> None:
    with Synced() as synced:
        synced.apply(*(run_event("COMPLETE", number, run=number + 1) for number in range(9)))
        synced.converge()
        synced.apply(run_event("COMPLETE", 20, run=50), run_event("COMPLETE", 21, run=51))
        refusing = run_uuid(51).encode()
        original = synced.target._client.put_statuses

        def refuse(pipeline: str, rows: list[Json]) -> None:
            if any(row["executionId"].encode() == refusing for row in rows):
                synced.standin.faults.next(error(400, "Invalid request format"), path="/status/bulk")
            original(pipeline, rows)

        synced.target._client.put_statuses = refuse
        synced.converge()
        (dead,) = synced.items_by(Outcome.DEAD)
        assert dead.record["request"]["executionId"] == run_uuid(51)
        assert len(statuses(synced)) == 10


@pytest.mark.parametrize("fault", [error(503, applied=True), reset(applied=True), reset(), error(500), error(429)])
def test_whatever_fails_on_the_way_each_run_is_told_once(fault: Any) -> None:
    with Synced() as synced:
        synced.apply(*(run_event("COMPLETE", number, run=number + 1) for number in range(5)))
        synced.standin.faults.next(fault, path="/status/bulk", times=3)
        synced.converge()
        assert told(synced) == [(f"{number + 1}", "Successful") for number in range(5)]


def test_a_pipeline_that_was_made_anew_has_all_its_runs_again() -> None:
    with Synced() as synced:
        synced.compare_seconds = 3_600.0
        synced.connect()
        synced.apply(*(run_event("COMPLETE", number, run=number + 1) for number in range(5))).converge()
        person = Person(synced.standin)
        person.ask("DELETE", f"pipelines/{person.find('pipeline', 'runs.job').id}?hardDelete=true")
        synced.compare()
        assert len(statuses(synced)) == 5


def test_what_ran_before_it_was_enabled_is_told_too() -> None:
    synced = Synced()
    synced.store.apply(run_event("COMPLETE", 1), run_event("FAIL", 2, run=2))
    with synced:
        synced.converge()
        assert told(synced) == [("1", "Successful"), ("2", "Failed")]


def test_a_run_that_moves_while_the_process_dies_is_told_once() -> None:
    """Dies after each call and transaction of a push, then learns of an earlier start, of a parent, or of neither."""
    later = (run_event("START", 2, run=12, job="app", run_facets={"parent": parent(1, "dag.load")}),)
    for steps in range(1, 60):
        with Synced() as synced:
            synced.apply(*SPARK[2:], run_event("COMPLETE", 9, run=12, job="app")).converge()
            synced.apply(SPARK[1])
            synced.mortality.die_after(steps)
            try:
                synced.round()
            except Killed:
                synced.connect()
            else:
                break
            synced.apply(*later).converge()
            told_runs = [one["executionId"] for of in synced.standin.state()["statuses"].values() for one in of]
            assert len(told_runs) == len(set(told_runs))
    assert steps > 5


def test_two_names_that_are_one_table_are_told_as_one() -> None:
    layout = ServiceLayout(
        (
            ServiceMapping("db", "warehouse", "d", "s"),
            ServiceMapping("other", "warehouse", "d", "s"),
            ServiceMapping("jobs", "runs"),
        )
    )
    with Synced(OpenMetadataOptions(layout)) as synced:
        counted = dataset("t", output_facets={"outputStatistics": facet(rowCount=3)})
        synced.apply(run_event(outputs=[counted, dataset("t", "other")])).converge()
        assert [one["datasetFQN"] for one in statuses(synced)[0]["outputs"]] == ["warehouse.d.s.t"]


def test_a_status_of_a_task_that_somebody_removed_comes_back_with_the_task() -> None:
    with Synced(OpenMetadataOptions(LAYOUT, register_on_completion=False)) as synced:
        synced.compare_seconds = 3_600.0
        synced.connect()
        synced.apply(*SPARK, run_event("FAIL", 9, run=1, job="dag.load")).converge()
        Person(synced.standin).put("pipeline", name="dag.load", service="runs")
        synced.apply(run_event("START", 20, run=21, job="dag.load"), step("COMPLETE", 22, 23, "app.step", "t"))
        synced.apply(run_event("COMPLETE", 25, run=1, job="dag.load"))
        synced.compare()
        assert synced.items_by(Outcome.DEAD) == []


def test_a_run_that_may_have_been_told_where_another_is_takes_nothing_away() -> None:
    with Synced() as synced:
        synced.apply(run_event("START", 0, run=1, job="etl")).converge()
        synced.apply(run_event("START", 5, run=11))
        synced.standin.faults.next(error(500), path="/status/bulk", times=2)
        synced.round()
        synced.apply(run_event("START", 5, run=12))
        synced.converge()
        assert sorted(run for run, _ in told(synced)) == ["b", "c"]


def test_a_run_names_a_dataset_that_came_later_than_its_status() -> None:
    with Synced() as synced:
        written = dataset("t", output_facets={"outputStatistics": facet(rowCount=3)})
        synced.apply(run_event(outputs=[written]))
        synced.standin.faults.next(error(500), path="/tables/bulk", times=2)
        synced.round()
        assert statuses(synced)[0]["outputs"] == []
        synced.converge()
        assert [one["datasetFQN"] for one in statuses(synced)[0]["outputs"]] == ["warehouse.d.s.t"]
