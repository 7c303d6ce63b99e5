"""Run history of logical jobs, of one job and of steps, on both stores."""

import pytest

from bridge.store.run_history import FIRST_PAGE, find_jobs, find_run, recent_runs, recent_steps
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
        run_uuid(1), "jobs", "app1", "FAILED", True, at(0), at(3), 3_000_000, at(3), None, "boom", None, make.micros(0), run.run_id, True, None,
    )  # fmt: skip


def test_runs_reported_out_of_order_are_listed_newest_first(store: Store) -> None:
    store.apply(*(run_event("COMPLETE", second, run=run) for run, second in ((1, 5), (2, 9), (3, 1))))
    assert [run.run_uuid for run in recent_runs(store.db, store.org, 2)] == [run_uuid(2), run_uuid(1)]


def test_run_that_was_only_referenced_is_not_listed(store: Store) -> None:
    store.apply(run_event(run_facets={"parent": make.parent(9, "scheduler")}))
    assert jobs_and_statuses(store) == [("job", "SUCCESS")]
    assert jobs_and_statuses(store, job="scheduler") == []


#: Events of actions of an application without events; its status, its duration in seconds, and its error.
MENTIONED: dict[str, tuple[list[Json], tuple[str, float | None, str | None]]] = {
    "running": ([action("START", 2)], ("STARTED", None, None)),
    "complete": ([action("START", 2), action("COMPLETE", 5)], ("SUCCESS", 3, None)),
    "failed": ([action("COMPLETE", 2, run=3), action("FAIL", 5, "boom")], ("FAILED", 3, "boom")),
    "recovered": ([action("FAIL", 2, "boom"), action("COMPLETE", 5, run=3)], ("SUCCESS", 3, None)),
    "cancelled": ([action("START", 2), action("ABORT", 4)], ("CANCELLED", 2, None)),
    "another action still runs": ([action("START", 2), action("COMPLETE", 5, run=3)], ("STARTED", None, None)),
    "RDD action without an end": (
        [action("START", 2, job_type="RDD_JOB"), action("COMPLETE", 5, run=3)],
        ("SUCCESS", 3, None),
    ),
    "RDD action last": (
        [action("COMPLETE", 2), action("START", 5, run=3, job_type="RDD_JOB")],
        ("STARTED", None, None),
    ),
    "unknown state": ([action("OTHER", 2)], ("UNKNOWN", None, None)),
}


@pytest.mark.parametrize(("events", "expected"), MENTIONED.values(), ids=MENTIONED)
def test_mentioned_application_shows_what_its_actions_prove(
    store: Store, events: list[Json], expected: tuple[str, float | None, str | None]
) -> None:
    store.apply(*events)
    (run,) = recent_runs(store.db, store.org, 9)
    assert (run.job, run.run_uuid, run.start_ts, run.started_at) == ("app1", run_uuid(1), at(2), make.micros(2))
    duration = None if run.duration_us is None else run.duration_us / 1_000_000
    assert (run.status, duration, run.error_message, run.reported) == (*expected, False)
    assert [run] == recent_runs(store.db, store.org, 9, jobs=find_jobs(store.db, store.org, "app1"))
    assert run == find_run(store.db, store.org, run.run_id)


def test_application_is_reported_once_its_events_arrive(store: Store) -> None:
    store.apply(action("START", 2), action("FAIL", 5, "boom"))
    for event, status, reported in (
        (app("START", 1), "STARTED", True),
        (app("COMPLETE", 6), "FAILED", True),
    ):
        (run,) = recent_runs(store.apply(event).db, store.org, 9)
        assert (run.job, run.status, run.reported, run.start_ts) == ("app1", status, reported, at(1))


@pytest.fixture
def mixed(store: Store) -> Store:
    """Ten mentioned applications and ten jobs, each pair with the same start, and with several actions each."""
    for number in range(10):
        application, start = make.parent(100 + number, "app"), number / 2
        for step in range(3):
            kind = "FAIL" if number % 2 else "COMPLETE"
            store.apply(action(kind, start + step / 10, run=200 + 10 * number + step, parent_facet=application))
        store.apply(run_event("COMPLETE", start, run=400 + number))
    return store


@pytest.mark.parametrize(("failed", "count"), [(False, 20), (True, 5)])
def test_pages_contain_each_run_once(mixed: Store, failed: bool, count: int) -> None:
    cursor, listed = FIRST_PAGE, []
    while page := recent_runs(mixed.db, mixed.org, 3, failed=failed, cursor=cursor):
        listed += page
        cursor = page[-1].started_at, page[-1].position
    assert len(listed) == len({run.run_id for run in listed}) == count
    assert listed == recent_runs(mixed.db, mixed.org, 99, failed=failed)
    assert [run.started_at for run in listed] == sorted((run.started_at for run in listed), reverse=True)


def test_mentioned_runs_are_selected_by_time_and_job(mixed: Store) -> None:
    period = {"since": make.micros(1), "until": make.micros(2)}
    assert [run.run_uuid for run in recent_runs(mixed.db, mixed.org, 9, jobs=find_jobs(mixed.db, mixed.org, "app"), **period)] == [
        run_uuid(103), run_uuid(102),
    ]  # fmt: skip
    assert {run.run_uuid for run in recent_runs(mixed.db, mixed.org, 9, **period)} == {
        run_uuid(number) for number in (102, 103, 402, 403)
    }


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
