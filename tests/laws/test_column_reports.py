"""Law 11: active column lineage is what the newest successful application run reports, in any order of arrival."""

import itertools

import pytest

from bridge.store import active_columns
from bridge.store.lineage.column_walk import ColumnLineageWalker
from bridge.store.writer import Writer
from tests.factories import (
    Json,
    action,
    app,
    columns,
    dataset,
    field,
    job_event,
    micros,
    parent,
    run_event,
    spark_type,
)
from tests.stores import Store

ACTIVE = "SELECT source_dataset FROM ol_column_lineage WHERE is_active ORDER BY 1"


def reporting(source: str, target: str = "t") -> list[Json]:
    return [dataset(target, columnLineage=columns({"k": [field(source, "k")]}))]


def write(
    kind: str,
    second: float,
    run: int,
    source: str,
    *,
    application_run: int = 1,
    name: str = "app1",
    step: str = "insert",
) -> Json:
    """An event of an action that reports column lineage from a source."""
    event = action(kind, second, run=run, outputs=reporting(source), parent_facet=parent(application_run, name))
    event["job"]["name"] = f"{name}.{step}"
    return event


def job_run(kind: str, second: float, run: int, source: str) -> Json:
    return run_event(kind, second, run=run, outputs=reporting(source))


CASES: dict[str, tuple[list[Json], str]] = {
    "two inserts of one application": ([write("COMPLETE", 1, 2, "a"), write("COMPLETE", 2, 3, "b")], "ab"),
    "newer run of the application": (
        [write("COMPLETE", 1, 2, "a"), write("COMPLETE", 2, 3, "b"), write("COMPLETE", 3, 4, "c", application_run=9)],
        "c",
    ),
    "renamed action": (
        [write("COMPLETE", 1, 2, "a"), write("COMPLETE", 3, 4, "b", application_run=9, step="append")],
        "b",
    ),
    "failed newer action": ([write("COMPLETE", 1, 2, "a"), write("FAIL", 3, 4, "c", application_run=9)], "a"),
    "running newer action": ([write("COMPLETE", 1, 2, "a"), write("START", 3, 4, "c", application_run=9)], "a"),
    "failed action beside a successful one": ([write("FAIL", 1, 2, "a"), write("COMPLETE", 2, 3, "b")], "b"),
    "no successful run": ([write("FAIL", 1, 2, "a"), write("FAIL", 2, 4, "b", application_run=9)], "b"),
    "no successful action": ([write("FAIL", 1, 2, "a"), write("START", 2, 3, "b")], "ab"),
    "application that fails later": (
        [write("COMPLETE", 1, 2, "a"), app("FAIL", 3), write("FAIL", 4, 4, "b", application_run=9)],
        "a",
    ),
    "two applications": (
        [write("COMPLETE", 1, 2, "a"), write("COMPLETE", 2, 3, "b", application_run=9, name="app9")],
        "ab",
    ),
    "first run of one action ended last": (
        [write("START", 1, 2, "a"), write("COMPLETE", 2, 4, "b", application_run=9), write("COMPLETE", 5, 2, "a")],
        "b",
    ),
    "failed newer run of a job": ([job_run("COMPLETE", 1, 2, "a"), job_run("FAIL", 2, 3, "b")], "a"),
    "newer run of a job": ([job_run("COMPLETE", 1, 2, "a"), job_run("COMPLETE", 2, 3, "b")], "b"),
    "run of a declared job": ([job_event(5, outputs=reporting("a")), job_run("FAIL", 2, 3, "b")], "b"),
    "late type of a job": (
        [
            run_event("COMPLETE", 1, run=2, job="x", outputs=reporting("a"), run_facets={"parent": parent(1, "app1")}),
            run_event("COMPLETE", 2, run=3, job="x", outputs=reporting("b"), run_facets={"parent": parent(1, "app1")}),
            run_event("OTHER", 3, run=3, job="x", job_facets={"jobType": spark_type()}),
        ],
        "ab",
    ),
    "late parent": (
        [
            write("COMPLETE", 1, 2, "a"),
            run_event("COMPLETE", 2, run=3, job="x", outputs=reporting("b"), job_facets={"jobType": spark_type()}),
            run_event("OTHER", 3, run=3, job="x", run_facets={"parent": parent(9, "app1")}),
        ],
        "b",
    ),
}  # fmt: skip


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "together"])
@pytest.mark.parametrize(("events", "sources"), CASES.values(), ids=CASES)
def test_11_active_sources(events: list[Json], sources: str, together: bool) -> None:
    for order in itertools.permutations(events):
        with Store() as store:
            if together:
                store.apply(*order)
            else:
                store.apply_each(*order)
            assert "".join(source for (source,) in store.rows(ACTIVE)) == sources


@pytest.mark.parametrize(("events", "sources"), CASES.values(), ids=CASES)
def test_11_store_of_an_earlier_version_is_derived_again(
    store: Store, events: list[Json], sources: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.apply(*events)
    for sql in (
        "UPDATE column_lineage SET is_active = NOT is_active",
        "DELETE FROM column_head",
        "DELETE FROM column_report",
        "DELETE FROM store_meta WHERE name LIKE 'column_rules%'",
    ):
        store.db.execute(sql)
    monkeypatch.setattr(active_columns, "_BATCH", 1)
    Writer(store.db, store.org)
    assert "".join(source for (source,) in store.rows(ACTIVE)) == sources


def test_11_micro_batches_of_one_run_add_columns(store: Store) -> None:
    for number, source in enumerate("aabac"):
        store.apply(write("COMPLETE", number, 10 + number, source))
    assert store.rows(ACTIVE) == [("a",), ("b",), ("c",)]
    assert store.value("SELECT count(*) FROM column_head") == 3


def test_11_earlier_time_selects_the_runs_that_had_started(store: Store) -> None:
    store.apply(
        write("COMPLETE", 1, 2, "a"), write("COMPLETE", 2, 3, "b"),
        write("FAIL", 3, 4, "c", application_run=8), write("COMPLETE", 5, 5, "d", application_run=9),
    )  # fmt: skip
    target = store.graph().find_dataset("db", "t")
    assert target is not None
    names = store.graph().dataset_names
    sources = []
    for second in (1, 2, 4, 6):
        hops = ColumnLineageWalker(store.db, store.org, micros(second)).walk((target, "k"), "upstream", 1).hops
        sources.append("".join(sorted(names([source])[source].name for source, _ in (hop.datasets for hop in hops))))
    assert sources == ["a", "ab", "ab", "d"]
