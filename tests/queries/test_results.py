"""Results of the queries, on both stores."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from bridge.errors import InvalidParameter, NotFound
from bridge.queries.all_queries import QUERIES
from bridge.queries.consumers import ConsumersQuery
from bridge.queries.dag import DagQuery
from bridge.queries.dataset import DatasetQuery
from bridge.queries.lineage import ColumnLineageQuery, EdgeResult, LineageQuery
from bridge.queries.namespaces import NamespacesQuery
from bridge.queries.processes import JobQuery
from bridge.queries.quality import QualityQuery
from bridge.queries.query import Query
from bridge.queries.runs import JobRunsQuery, RunQuery, RunsQuery
from bridge.queries.versions import LastSuccessQuery, VersionsQuery
from bridge.store.sqlite import SqliteDatabase
from mappers.logical_job import FoldingRule
from tests import factories as make
from tests.factories import at, dataset, lifecycle, parent, run_event, run_uuid
from tests.queries.decisions import decide
from tests.queries.sample_store import APP_JOB, CLEAN_DATASET, EXAMPLE_QUERIES, SAMPLE_EVENTS
from tests.stores import Store


def to_builtins(result: Any) -> Any:
    return msgspec.to_builtins(result, enc_hook=msgspec.json.decode)


def names(nodes: list[Any]) -> list[str]:
    return [node.name for node in nodes]


def edge_names(edges: list[EdgeResult]) -> set[tuple[str, str, str]]:
    return {
        (edge.source.name if edge.source else "?", edge.job.name if edge.job else "?", edge.target.name)
        for edge in edges
    }


@pytest.fixture
def sample(store: Store) -> Store:
    return store.apply_each(*SAMPLE_EVENTS)


def test_every_query_has_an_example() -> None:
    assert {type(query) for query in EXAMPLE_QUERIES} == set(QUERIES)


@pytest.mark.parametrize("name", ["clean", "lake.clean"])
def test_dataset_is_found_by_all_of_its_names(sample: Store, name: str) -> None:
    result = sample.ask(DatasetQuery(namespace="db", name=name))
    assert (result.name, names(result.aliases), result.description, result.owners) == (
        "lake.clean", ["clean"], "Cleaned.", ["data"],
    )  # fmt: skip
    assert [(field.name, field.type, field.description) for field in result.fields] == [
        ("mail", "string", None), ("id", "string", "who it is"),
    ]  # fmt: skip
    assert msgspec.json.decode(result.facets["documentation"])["description"] == "Cleaned."
    assert [
        (version.rows, version.bytes, version.files, version.latest, version.run_id) for version in result.versions
    ] == [(3, 30, 1, True, run_uuid(1))]
    assert sample.ask(DatasetQuery(id=result.id)) == result
    assert sample.ask(DatasetQuery(name=f"db/{name}")) == result


def test_rename_is_visible_on_both_datasets(store: Store) -> None:
    renamed = dataset("new", lifecycleStateChange=lifecycle("RENAME", "old"))
    store.apply(run_event(outputs=[renamed]))
    old, new = (store.ask(DatasetQuery(namespace="db", name=name)) for name in ("old", "new"))
    assert (names(old.renamed_to), names(new.renamed_from), old.renamed_from, new.renamed_to) == (
        ["new"],
        ["old"],
        [],
        [],
    )
    assert (old.status, new.status) == ("DEPRECATED", "ACTIVE")


def test_last_success_is_the_run_that_ended_last(store: Store) -> None:
    for number, kind, second in ((1, "COMPLETE", 1), (2, "COMPLETE", 2), (3, "FAIL", 3)):
        store.apply(run_event(kind, second, run=number, outputs=[dataset("t")]))
    result = store.ask(LastSuccessQuery(namespace="db", name="t"))
    assert (result.run_id, result.ended_at, result.version and result.version.latest) == (run_uuid(2), at(2), True)
    store.apply(run_event("START", run=4, outputs=[dataset("never")]))
    assert store.ask(LastSuccessQuery(namespace="db", name="never")).run_id is None


def test_lineage_follows_both_directions(sample: Store) -> None:
    result = sample.ask(LineageQuery(**CLEAN_DATASET, direction="both", columns=True))
    up, down = ("raw", "clean", "lake.clean"), ("lake.clean", "app2", "report")
    assert edge_names(result.edges) == {up, down, ("report", "nightly", "mail")}
    assert {hop.target.column for hop in result.columns} == {"mail"}
    assert edge_names(sample.ask(LineageQuery(**CLEAN_DATASET)).edges) == {up}
    assert result.cut is None
    assert sample.ask(LineageQuery(**CLEAN_DATASET, direction="both", depth=1)).cut == "depth"


def test_run_lineage_contains_versions_read_and_written(sample: Store) -> None:
    (edge,) = sample.ask(LineageQuery(**CLEAN_DATASET, granularity="run")).edges
    assert (edge.run_id, edge.source_version, edge.target_version) == (run_uuid(1), "v7", run_uuid(1))


def test_column_lineage_follows_both_directions(sample: Store) -> None:
    result = sample.ask(ColumnLineageQuery(**CLEAN_DATASET, field="mail", direction="both"))
    assert [(hop.source.column, hop.target.column, hop.masking) for hop in result.hops] == [("email", "mail", True)]


def test_consumers_are_logical_jobs(sample: Store) -> None:
    (reader,) = sample.ask(ConsumersQuery(**CLEAN_DATASET)).items
    assert (reader.name, reader.evidence, reader.first_seen, reader.last_seen) == ("app2", "observed", at(12), at(12))
    (declared,) = sample.ask(ConsumersQuery(namespace="db", name="report")).items
    assert (declared.name, declared.evidence) == ("nightly", "declared")


def test_action_is_shown_as_the_job_that_started_its_application(store: Store) -> None:
    task = run_event(run=2, job="app", run_facets={"parent": parent(1, "task")})
    store.apply(task, *(event | {"inputs": [dataset("t")]} for event in SAMPLE_EVENTS[3:4]))
    store.apply(run_event(run=2, job="app2", run_facets={"parent": parent(1, "task")}))
    query = ConsumersQuery(namespace="db", name="t")
    assert names(store.ask(query).items) == ["task"]
    assert names(store.ask(query, FoldingRule("application")).items) == ["app2"]


def test_quality_contains_the_newest_result_of_each_check(sample: Store) -> None:
    result = sample.ask(QualityQuery(**CLEAN_DATASET))
    assert {(check.column, check.check, check.status) for check in result.checks} == {
        ("mail", "not_null", "PASS"), ("id", "unique", "FAIL"),
    }  # fmt: skip
    assert result.counts == {"PASS": 1, "WARN": 0, "FAIL": 1, "SKIP": 0}


def test_job_lists_inputs_and_outputs_of_its_steps(sample: Store) -> None:
    result = sample.ask(JobQuery(**APP_JOB))
    assert (names(result.inputs), names(result.outputs)) == (["lake.clean"], ["report"])
    assert [(run.status, run.error_message) for run in result.runs] == [("FAILED", "boom")]
    assert sample.ask(JobQuery(id=result.id)) == result


def test_runs_contain_steps(sample: Store) -> None:
    (run,) = sample.ask(JobRunsQuery(**APP_JOB, steps=1)).items
    assert ([step.step for step in run.steps], run.more_steps) == (["app1.4"], True)
    assert [run.job for run in sample.ask(RunsQuery()).items] == ["app2", "clean"]
    assert [run.job for run in sample.ask(RunsQuery(failed=True)).items] == ["app2"]


def test_run_lists_inputs_outputs_and_checks(sample: Store) -> None:
    details = sample.ask(RunQuery(id=run_uuid(1).upper()))
    assert to_builtins([*details.inputs, *details.outputs])[0]["version"] == "v7"
    (output,) = details.outputs
    assert (output.dataset.name, output.rows, output.bytes, output.files) == ("lake.clean", 3, 30, 1)
    assert {(check.column, check.status) for check in details.quality} == {("mail", "PASS"), ("id", "FAIL")}
    action = sample.ask(RunQuery(id=run_uuid(3)))
    assert (action.parent_run_id, action.parent_job and action.parent_job.name) == (run_uuid(2), "app2")


def test_dag_contains_inferred_and_declared_dependencies(sample: Store) -> None:
    result = sample.ask(DagQuery())
    names_by_id = {process.id: process.name for process in result.processes}
    assert {
        (
            names_by_id[dependency.before],
            names_by_id[dependency.after],
            dependency.kind,
            dependency.dataset.name if dependency.dataset else None,
            dependency.observed,
        )
        for dependency in result.dependencies
    } == {
        ("clean", "app2", "inferred", "lake.clean", True),
        ("app2", "nightly", "inferred", "report", False),
        ("nightly", "mailer", "declared", None, True),
    }
    assert [dependency.declared for dependency in result.dependencies if dependency.declared] == [
        {"dependency_type": "IMPLICIT_DEPENDENCY"}
    ]
    assert sample.ask(DagQuery(most=1)).cut == "size"
    assert sample.ask(DagQuery(namespace="elsewhere")).processes == []


PAGED: list[tuple[str, Callable[[Any], Query[Any]]]] = [
    ("versions", lambda after: VersionsQuery(namespace="db", name="t", limit=2, after=after)),
    ("runs", lambda after: RunsQuery(limit=2, after=after)),
    ("runs of a job", lambda after: JobRunsQuery(namespace="jobs", name="job", limit=2, after=after)),
    ("consumers", lambda after: ConsumersQuery(namespace="db", name="s", limit=2, after=after)),
    ("namespaces", lambda after: NamespacesQuery(limit=2, after=after)),
]


@pytest.mark.parametrize("make_query", [case[1] for case in PAGED], ids=[case[0] for case in PAGED])
def test_pages_have_no_gaps_and_no_duplicates(store: Store, make_query: Callable[[Any], Query[Any]]) -> None:
    for number in range(1, 6):  # two of them start at the same time
        store.apply(run_event("COMPLETE", number // 2, run=number, inputs=[dataset("s")], outputs=[dataset("t")]))
        store.apply(
            run_event("RUNNING", run=9, job=f"j{number}", inputs=[dataset("s")], outputs=[dataset("x", f"n{number}")])
        )
    items, after = [], None
    for _ in range(9):
        page = store.ask(make_query(after))
        items += page.items
        after = page.next
        assert len(page.items) == 2 or after is None
        if after is None:
            break
    complete = store.ask(msgspec.structs.replace(make_query(None), limit=100))  # type: ignore[type-var]
    assert items == complete.items
    assert len(items) >= 5
    assert complete.next is None


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        (DatasetQuery(namespace="db", name="no"), NotFound, "no dataset 'no' in namespace 'db' in the store"),
        (DatasetQuery(name="no"), NotFound, "no dataset 'no' in the store"),
        (DatasetQuery(id=run_uuid(1)), NotFound, f"no dataset with the id {run_uuid(1)} in the store"),
        (DatasetQuery(id="x"), InvalidParameter, "id: 'x' is not a UUID"),
        (DatasetQuery(), InvalidParameter, "name: missing dataset"),
        (DatasetQuery(name="a\0b"), InvalidParameter, "name: names cannot contain U\\+0000"),
        (DatasetQuery(name="a\udc80"), InvalidParameter, "name: not valid Unicode"),
        (JobQuery(namespace="jobs", name="no"), NotFound, "no job 'no' in namespace 'jobs' in the store"),
        (JobQuery(name="no"), InvalidParameter, "namespace: missing job"),
        (RunQuery(id=run_uuid(77)), NotFound, "no run"),
        (RunsQuery(after="x"), InvalidParameter, "after: not a cursor"),
        (RunsQuery(after="eyJ9"), InvalidParameter, "after: not a cursor"),
        (RunsQuery(after="WyJ4Il0"), InvalidParameter, "after: not a cursor"),
    ],
)
def test_failed_query_reports_the_reason(
    sample: Store, query: Query[Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        sample.ask(query)


def test_queries_return_nothing_of_other_organisations(store: Store) -> None:
    Store("other", db=store.db).apply_each(*SAMPLE_EVENTS)
    decide(store.db, "other")
    for query in EXAMPLE_QUERIES:
        try:
            result = store.ask(query)
        except NotFound:
            continue
        assert not next(getattr(result, name) for name in ("items", "processes", "outcomes") if hasattr(result, name))


def sqlite_steps(store: Store, query: Query[Any]) -> int:
    """Count the virtual machine steps of SQLite for a query, in hundreds."""
    assert isinstance(store.db, SqliteDatabase)
    calls = itertools.count()
    store.db.connection.set_progress_handler(lambda: next(calls) < 0, 100)
    store.ask(query)
    store.db.connection.set_progress_handler(None, 0)
    return next(calls)


@pytest.fixture(scope="module")
def small_and_large() -> Iterator[tuple[Store, Store]]:
    """The sample store alone, and among many unrelated jobs."""
    with Store() as small, Store() as large:
        for store in (small, large):
            store.apply_each(*SAMPLE_EVENTS)
            decide(store.db)
        large.apply(*(
            run_event("COMPLETE", n % 60, run=1000 + n, job=f"other{n}", inputs=[dataset(f"s{n}")], outputs=[dataset(f"t{n}", schema=make.schema("a"))])
            for n in range(500)
        ))  # fmt: skip
        yield small, large


@pytest.mark.parametrize(
    "query", [query for query in EXAMPLE_QUERIES if query.subject is not None], ids=lambda query: type(query).__name__
)
def test_cost_of_a_query_does_not_depend_on_store_size(
    small_and_large: tuple[Store, Store], query: Query[Any]
) -> None:
    small, large = (sqlite_steps(store, query) for store in small_and_large)
    assert large <= small * 1.3 + 3
