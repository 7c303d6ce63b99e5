"""Run history of logical jobs, of one job and of steps, on both stores."""

import pytest

from bridge.store.run_history import find_jobs, recent_runs, recent_steps
from tests import factories as make
from tests.factories import Json, action, app, at, dataset, run_event, run_uuid
from tests.stores import Store

LARGEST = 2**63 - 1


def output(name: str, rows: int) -> Json:
    return dataset(name, output_facets={"outputStatistics": make.facet(rowCount=rows)})


def jobs_and_statuses(
    store: Store, limit: int = 20, job: str | None = None, *, failed: bool = False
) -> list[tuple[str, str]]:
    jobs = find_jobs(store.db, store.org, job) if job else None
    return [(run.job, run.status) for run in recent_runs(store.db, store.org, limit, jobs=jobs, failed=failed)]


@pytest.fixture
def history(store: Store) -> Store:
    """A failed application, a running one, a failed job of another kind, and an action without an application."""
    return store.apply(
        app("START", 0), action("START", 1), action("FAIL", 2, "boom"), app("COMPLETE", 3),
        app("START", 10, run=8), run_event("START", 20, run=9, job="load"), run_event("FAIL", 21, run=9, job="load"),
        run_event("COMPLETE", 30, run=7, job="orphan", job_facets={"jobType": make.spark_type()}),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "job", "failed", "expected"),
    [
        (9, None, False, [("orphan", "SUCCESS"), ("load", "FAILED"), ("app8", "STARTED"), ("app1", "FAILED")]),
        (2, None, False, [("orphan", "SUCCESS"), ("load", "FAILED")]),
        (9, None, True, [("load", "FAILED"), ("app1", "FAILED")]),
        (1, None, True, [("load", "FAILED")]),
        (9, "app1", False, [("app1", "FAILED")]),
        (9, "app8", True, []),
        (9, "app1.2", False, [("app1.2", "FAILED")]),
    ],
)
def test_runs_are_listed_newest_first(
    history: Store, limit: int, job: str | None, failed: bool, expected: list[tuple[str, str]]
) -> None:
    assert jobs_and_statuses(history, limit, job, failed=failed) == expected


def test_run_entry_contains_all_fields(history: Store) -> None:
    run = recent_runs(history.db, history.org, 9, failed=True)[1]
    assert run[1:] == (
        run_uuid(1), "jobs", "app1", "FAILED", True, at(0), at(3), 3_000_000, at(3), None, "boom", None, make.micros(0), None,
    )  # fmt: skip


def test_runs_reported_out_of_order_are_listed_newest_first(store: Store) -> None:
    store.apply(*(run_event("COMPLETE", second, run=run) for run, second in ((1, 5), (2, 9), (3, 1))))
    assert [run.run_uuid for run in recent_runs(store.db, store.org, 2)] == [run_uuid(2), run_uuid(1)]


def test_run_that_was_only_referenced_is_not_listed(store: Store) -> None:
    store.apply(run_event(run_facets={"parent": make.parent(9, "scheduler")}))
    assert jobs_and_statuses(store) == [("job", "SUCCESS")]
    assert jobs_and_statuses(store, job="scheduler") == []


def test_steps_are_actions_of_the_run_newest_first(store: Store) -> None:
    task = run_event("START", 5, run=6, job="task", run_facets={"parent": make.parent(1, "app1")})
    store.apply(app("START", 0), action("START", 1), action("START", 2, run=3, job_type="RDD_JOB"), task)
    (_, application) = recent_runs(store.db, store.org, 9)
    assert [step.job for step in recent_steps(store.db, store.org, 9, application.run_id)] == ["app1.3", "app1.2"]
    assert [step.job for step in recent_steps(store.db, store.org, 1, application.run_id)] == ["app1.3"]


@pytest.mark.parametrize(
    ("events", "rows"),
    [
        ([action("COMPLETE", 1, outputs=[output("a", 3), output("b", 4)])], 7),
        ([action("COMPLETE", second, run=second, outputs=[output("a", 3)]) for second in (2, 3)], 6),
        ([action("START", 1, outputs=[output("a", 1)]), action("COMPLETE", 2, outputs=[output("a", 5)])], 5),
        ([action("COMPLETE", second, run=second, outputs=[output("a", LARGEST)]) for second in (2, 3)], 2 * 2**63),
        ([action("COMPLETE", 1, outputs=[dataset("a")])], None),
        ([action("COMPLETE", 1, outputs=[output("a", 0)])], 0),
        ([], None),
    ],
    ids=["of all outputs", "of all actions", "last event of a run", "too large", "no row count", "zero", "no action"],
)
def test_rows_written_include_application_and_actions(store: Store, events: list[Json], rows: int | None) -> None:
    store.apply(app("START", 0), *events)
    (run,) = recent_runs(store.db, store.org, 9)
    assert run.rows_written == pytest.approx(rows) if rows else run.rows_written == rows


def test_organisations_see_only_their_own_runs(store: Store) -> None:
    store.apply(app("START", 0))
    assert recent_runs(store.db, "other", 9) == []
    assert find_jobs(store.db, "other", "app1") == []


def test_rows_of_nested_actions_are_counted_once(store: Store) -> None:
    store.apply(*make.create_as_select(), run_event("COMPLETE", 9, run=9, job="app"))
    (application,) = recent_runs(store.db, store.org, 9, jobs=find_jobs(store.db, store.org, "app"))
    assert application.rows_written == 2


def test_newest_runs_are_found_without_reading_all_runs(sqlite_store: Store) -> None:
    statements: list[str] = []
    sqlite_store.db.connection.set_trace_callback(statements.append)  # type: ignore[attr-defined]
    recent_runs(sqlite_store.db, sqlite_store.org, 9)
    [query] = [statement for statement in statements if "LIMIT 9" in statement]
    plan = " ".join(detail for *_, detail in sqlite_store.rows(f"EXPLAIN QUERY PLAN {query}"))
    assert "r USING INDEX ix_ol_run__started_at__run_id" in plan


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (10, None, [9, 8]),
        (None, 10, [1]),
        (10, 20, [8]),
        (10.5, 19, []),
    ],
)
def test_runs_are_selected_by_start_time(
    store: Store, since: float | None, until: float | None, expected: list[int]
) -> None:
    store.apply(*(run_event("START", second, run=run) for second, run in ((0, 1), (10, 8), (20, 9))))
    period = {"since": since and make.micros(since), "until": until and make.micros(until)}
    for jobs in (None, find_jobs(store.db, store.org, "job")):
        runs = recent_runs(store.db, store.org, 9, jobs=jobs, **period)
        assert [run.run_uuid for run in runs] == [run_uuid(run) for run in expected]


def test_runs_of_equally_named_jobs_are_merged(store: Store) -> None:
    for run, namespace in enumerate(("a", "b", "a", "c"), 1):
        event = run_event("START", run, run=run)
        store.apply(event | {"job": event["job"] | {"namespace": namespace}})
    runs = recent_runs(store.db, store.org, 3, jobs=find_jobs(store.db, store.org, "job"))
    assert [run.namespace for run in runs] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("facet", "exit_code"),
    [({"value": 0}, 0), ({"value": -9}, -9), ({"value": True}, None), ({"value": "x"}, None), ({}, None)],
)
def test_exit_code_is_read_from_its_facet(store: Store, facet: Json, exit_code: int | None) -> None:
    store.apply(app("COMPLETE", 0, exitCode=make.facet(**facet)))
    (run,) = recent_runs(store.db, store.org, 1)
    assert run.exit_code == exit_code
