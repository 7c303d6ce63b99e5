"""Outcomes of Spark runs where the listener reports a wrong one or none (surprises 1 to 3 and 11)."""

from typing import Any

import pytest

from tests import factories as make
from tests.factories import Json, action, app, at, micros, run_event, run_uuid
from tests.laws.test_convergence import captured
from tests.stores import Store

OUTCOME = "SELECT status, status_derived, error_message FROM process_run WHERE run_uuid = ?"
END = "SELECT status, status_derived, end_ts FROM process_run WHERE run_uuid = ?"
APP, OTHER_APP, SCHEDULED = 1, 8, 9


def standard_error(message: Any) -> Json:
    return {"errorMessage": make.facet(message=message, programmingLanguage="JVM")}


LONG = "Job aborted\n\tat " + "x" * 20_000

OUTCOMES: dict[str, tuple[list[Json], tuple[str, bool, str | None]]] = {
    "a failed last action fails its application, with its error": (
        [action("FAIL", 1, "boom"), action("COMPLETE", 2), app("COMPLETE", 3)], ("FAILED", True, "boom"),
    ),
    "known gap: a caught failure of the last action looks the same": (
        [action("COMPLETE", 1), action("FAIL", 2, "caught", run=3), app("COMPLETE", 3)], ("FAILED", True, "caught"),
    ),
    "a failure before a good action was caught": (
        [action("FAIL", 1, "boom"), action("COMPLETE", 2, run=3), app("COMPLETE", 3)], ("SUCCESS", False, None),
    ),
    "an action without an end is ignored": (
        [action("FAIL", 1, "boom"), action("START", 2, run=3), app("COMPLETE", 3)], ("FAILED", True, "boom"),
    ),
    "a failed RDD action is ignored": (
        [action("COMPLETE", 1), action("FAIL", 2, run=3, job_type="RDD_JOB"), app("COMPLETE", 3)],
        ("SUCCESS", False, None),
    ),
    "an application that runs on has not failed": (
        [app("START", 0), action("FAIL", 1, "boom")], ("STARTED", False, None),
    ),
    "an error of the application itself takes precedence": (
        [action("FAIL", 1, "boom"), app("COMPLETE", 3, "driver")], ("FAILED", True, "driver"),
    ),
    "a failure without a message": ([action("FAIL", 1), app("COMPLETE", 3)], ("FAILED", True, None)),
    "FAIL and its error survive a later COMPLETE": (
        [app("FAIL", 1, "boom"), app("COMPLETE", 2)], ("FAILED", False, "boom"),
    ),
    "only COMPLETE": ([app("COMPLETE", 1)], ("SUCCESS", False, None)),
    "an error of a run that did not fail is not shown": ([app("COMPLETE", 1, "warned")], ("SUCCESS", False, None)),
    "a cancelled run shows its error": ([app("ABORT", 1, "killed")], ("CANCELLED", False, "killed")),
    "a long error is not truncated": ([app("FAIL", 1, LONG)], ("FAILED", False, LONG)),
    "the standard facet takes precedence over Spark's": (
        [app("FAIL", 1, "spark", **standard_error("standard"))], ("FAILED", False, "standard"),
    ),
    "an empty message is ignored": ([app("FAIL", 1, "spark", **standard_error(""))], ("FAILED", False, "spark")),
    "a message that is not a text is ignored": (
        [app("FAIL", 1, "spark", **standard_error({"a": [1]}))], ("FAILED", False, "spark"),
    ),
    "a message that is a number is ignored": ([app("FAIL", 1, **standard_error(7))], ("FAILED", False, None)),
}  # fmt: skip


@pytest.mark.parametrize(("events", "outcome"), OUTCOMES.values(), ids=OUTCOMES)
@pytest.mark.parametrize("step", [1, -1], ids=["in order", "backwards"])
def test_outcome_is_derived_where_the_listener_is_wrong(
    store: Store, events: list[Json], outcome: tuple[str, bool, str | None], step: int
) -> None:
    store.apply_each(*events[::step])
    assert store.rows(OUTCOME, run_uuid(APP)) == [outcome]


def test_failed_action_has_its_own_error(store: Store) -> None:
    store.apply(action("FAIL", 1, "boom"), action("COMPLETE", 2))
    assert store.rows(OUTCOME, run_uuid(2)) == [("FAILED", False, "boom")]


UNDER_A_BATCH = make.parent(7, "app1.batch", root=(APP, "app1"))
UNDER_A_TASK = make.parent(SCHEDULED, "task", root=(SCHEDULED, "task"))
TASK_ENDED = run_event("COMPLETE", 9, run=SCHEDULED, job="task")
RUNNING: tuple[Any, ...] = ("STARTED", False, None)

ENDS: dict[str, tuple[list[Json], tuple[Any, ...]]] = {
    "an RDD action of a running application": (
        [app("START", 0), action("START", 1, job_type="RDD_JOB")], RUNNING,
    ),
    "an unfinished RDD action of a completed application": (
        [app("START", 0), action("START", 1, job_type="RDD_JOB"), app("COMPLETE", 5)], ("UNKNOWN", True, at(5)),
    ),
    "an unfinished RDD action of a failed application": ([action("START", 1, job_type="RDD_JOB"), app("FAIL", 5)], ("UNKNOWN", True, at(5))),
    "an unfinished RDD action of a cancelled application": ([action("START", 1, job_type="RDD_JOB"), app("ABORT", 5)], ("UNKNOWN", True, at(5))),
    "a streaming batch cut short": (
        [action("START", 1), action("RUNNING", 2), app("COMPLETE", 5)], ("UNKNOWN", True, at(5)),
    ),
    "an action within a batch that was cut short": (
        [action("START", 1, parent_facet=UNDER_A_BATCH), app("COMPLETE", 5)], ("UNKNOWN", True, at(5)),
    ),
    "the parent takes precedence over the root": (
        [action("START", 1, parent_facet=make.parent(OTHER_APP, "app8", root=(APP, "app1"))), app("COMPLETE", 7),
         app("COMPLETE", 5, run=OTHER_APP)], ("UNKNOWN", True, at(5)),
    ),
    "a finished batch is not changed": (
        [action("START", 1), action("COMPLETE", 2), app("COMPLETE", 5)], ("SUCCESS", False, at(2)),
    ),
    "the end of a parent that is not an application is ignored": (
        [action("START", 1, parent_facet=UNDER_A_TASK), TASK_ENDED], RUNNING,
    ),
    "the end of another application is ignored": ([action("START", 1), app("COMPLETE", 5, run=OTHER_APP)], RUNNING),
}  # fmt: skip


@pytest.mark.parametrize(("events", "end"), ENDS.values(), ids=ENDS)
def test_unfinished_run_ends_with_its_application(store: Store, events: list[Json], end: tuple[Any, ...]) -> None:
    store.apply_each(*events)
    assert store.rows(END, run_uuid(2)) == [end]


@pytest.mark.parametrize("seconds", [(0, 5), (5, 2)], ids=["of its batch", "its own"])
def test_last_activity_of_a_stream(store: Store, seconds: tuple[float, float]) -> None:
    application, batch = seconds
    store.apply(app("START", 0), app("RUNNING", application), action("START", 1))
    orphaned = action("RUNNING", batch)
    del orphaned["run"]["facets"]["parent"]
    store.apply(orphaned)
    query = "SELECT last_activity_ts FROM process_run WHERE run_uuid = ?"
    assert store.value(query, run_uuid(APP)) == at(max(seconds))


BY_TYPE = (
    "SELECT j.job_type, r.status, r.status_derived, count(*) FROM process_run r"
    " JOIN ol_job j ON j.org_id = r.org_id AND j.job_id = r.process_id GROUP BY 1, 2, 3 ORDER BY 1"
)


@pytest.mark.parametrize(
    ("name", "outcomes", "error"),
    [
        (
            "spark-4.1.4/g_failing",
            [("APPLICATION", "FAILED", 1, 1), ("RDD_JOB", "UNKNOWN", 1, 1), ("SQL_JOB", "FAILED", 0, 1)],
            "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times",
        ),
        (
            "spark-4.3.0/g2_failing_uncaught",
            [("APPLICATION", "FAILED", 1, 1), ("RDD_JOB", "UNKNOWN", 1, 1), ("SQL_JOB", "FAILED", 0, 1)],
            "[DIVIDE_BY_ZERO] Division by zero.",
        ),
        ("spark-4.1.4/h_streaming", [("APPLICATION", "SUCCESS", 0, 1), ("SQL_JOB", "SUCCESS", 0, 9)], None),
    ],
)
def test_outcomes_of_captured_spark_events(
    store: Store, name: str, outcomes: list[tuple[Any, ...]], error: str | None
) -> None:
    store.apply(*captured(f"{name}.ndjson"))
    assert store.rows(BY_TYPE) == outcomes
    errors = store.rows("SELECT DISTINCT error_message FROM process_run WHERE status = 'FAILED'")
    assert [text.startswith(error) for (text,) in errors] == [True] * (error is not None)


def test_interrupted_stream_does_not_stay_running(store: Store) -> None:
    *batches, end = captured("spark-4.1.4/h_streaming.ndjson")
    running = "SELECT count(*) FROM process_run WHERE status = 'STARTED'"
    store.apply(*batches[:-1])
    assert store.value(running) == 2  # the application and its last batch
    store.apply(end)
    assert store.value(running) == 0


def test_run_query_does_not_scan_all_runs(sqlite_store: Store) -> None:
    columns = "status, status_derived, error_message, end_ts, last_activity_ts"
    query = f"EXPLAIN QUERY PLAN SELECT {columns} FROM process_run WHERE run_id = ?"
    plan = [step for *_, step in sqlite_store.rows(query, b"")]
    assert [step for step in plan if step.startswith("SCAN") and step != "SCAN CONSTANT ROW"] == []
    assert sum("ix_ol_run__parent_run_id" in step for step in plan) == 3  # twice for the outcome, once for activity


def test_export_contains_outcomes(store: Store) -> None:
    store.apply(action("FAIL", 1, "boom"), app("COMPLETE", 3))
    line = next(line for line in store.export().splitlines() if b'"run_outcome"' in line and b":1," in line)
    for member in (b'"error":"boom"', b'"status":"FAILED"', f'"ended_at":{micros(3)}'.encode()):
        assert member in line
