"""What each question is answered, on both stores."""

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
from tests.queries.sample_store import ESTATE, EVERY, OF_APP, OF_CLEAN
from tests.stores import Store


def plain(answer: Any) -> Any:
    return msgspec.to_builtins(answer, enc_hook=msgspec.json.decode)


def names(things: list[Any]) -> list[str]:
    return [one.name for one in things]


def pairs(edges: list[EdgeResult]) -> set[tuple[str, str, str]]:
    return {(e.source.name if e.source else "?", e.job.name if e.job else "?", e.target.name) for e in edges}


@pytest.fixture
def estate(store: Store) -> Store:
    return store.apply_each(*ESTATE)


def test_every_question_is_asked_here() -> None:
    assert {type(question) for question in EVERY} == set(QUERIES)


@pytest.mark.parametrize("name", ["clean", "lake.clean"])
def test_a_dataset_is_known_under_all_of_its_names(estate: Store, name: str) -> None:
    found = estate.ask(DatasetQuery(namespace="db", name=name))
    assert (found.name, names(found.aliases), found.description, found.owners) == (
        "lake.clean", ["clean"], "Cleaned.", ["data"],
    )  # fmt: skip
    assert [(one.name, one.type, one.description) for one in found.fields] == [
        ("mail", "string", None), ("id", "string", "who it is"),
    ]  # fmt: skip
    assert msgspec.json.decode(found.facets["documentation"])["description"] == "Cleaned."
    assert [(one.rows, one.bytes, one.files, one.latest, one.run_id) for one in found.versions] == [
        (3, 30, 1, True, run_uuid(1))
    ]
    assert estate.ask(DatasetQuery(id=found.id)) == found
    assert estate.ask(DatasetQuery(name=f"db/{name}")) == found


def test_a_rename_is_told_from_both_ends(store: Store) -> None:
    moved = dataset("new", lifecycleStateChange=lifecycle("RENAME", "old"))
    store.apply(run_event(outputs=[moved]))
    old, new = (store.ask(DatasetQuery(namespace="db", name=name)) for name in ("old", "new"))
    assert (names(old.renamed_to), names(new.renamed_from), old.renamed_from, new.renamed_to) == (
        ["new"],
        ["old"],
        [],
        [],
    )
    assert (old.status, new.status) == ("DEPRECATED", "ACTIVE")


def test_the_last_success_is_of_the_run_that_ended_last(store: Store) -> None:
    for number, kind, second in ((1, "COMPLETE", 1), (2, "COMPLETE", 2), (3, "FAIL", 3)):
        store.apply(run_event(kind, second, run=number, outputs=[dataset("t")]))
    found = store.ask(LastSuccessQuery(namespace="db", name="t"))
    assert (found.run_id, found.ended_at, found.version and found.version.latest) == (run_uuid(2), at(2), True)
    store.apply(run_event("START", run=4, outputs=[dataset("never")]))
    assert store.ask(LastSuccessQuery(namespace="db", name="never")).run_id is None


def test_lineage_goes_both_ways(estate: Store) -> None:
    found = estate.ask(LineageQuery(**OF_CLEAN, direction="both", columns=True))
    up, down = ("raw", "clean", "lake.clean"), ("lake.clean", "app2", "report")
    assert pairs(found.edges) == {up, down, ("report", "nightly", "mail")}
    assert {hop.target.column for hop in found.columns} == {"mail"}
    assert pairs(estate.ask(LineageQuery(**OF_CLEAN)).edges) == {up}
    assert found.cut is None
    assert estate.ask(LineageQuery(**OF_CLEAN, direction="both", depth=1)).cut == "depth"


def test_a_run_tells_which_version_it_read_and_wrote(estate: Store) -> None:
    (edge,) = estate.ask(LineageQuery(**OF_CLEAN, granularity="run")).edges
    assert (edge.run_id, edge.source_version, edge.target_version) == (run_uuid(1), "v7", run_uuid(1))


def test_a_column_is_followed_both_ways(estate: Store) -> None:
    found = estate.ask(ColumnLineageQuery(**OF_CLEAN, field="mail", direction="both"))
    assert [(hop.source.column, hop.target.column, hop.masking) for hop in found.hops] == [("email", "mail", True)]


def test_consumers_are_the_jobs_that_people_know(estate: Store) -> None:
    (reader,) = estate.ask(ConsumersQuery(**OF_CLEAN)).items
    assert (reader.name, reader.evidence, reader.first_seen, reader.last_seen) == ("app2", "observed", at(12), at(12))
    (declared,) = estate.ask(ConsumersQuery(namespace="db", name="report")).items
    assert (declared.name, declared.evidence) == ("nightly", "declared")


def test_an_action_is_shown_under_what_started_its_application(store: Store) -> None:
    task = run_event(run=2, job="app", run_facets={"parent": parent(1, "task")})
    store.apply(task, *(event | {"inputs": [dataset("t")]} for event in ESTATE[3:4]))
    store.apply(run_event(run=2, job="app2", run_facets={"parent": parent(1, "task")}))
    asked = ConsumersQuery(namespace="db", name="t")
    assert names(store.ask(asked).items) == ["task"]
    assert names(store.ask(asked, FoldingRule("application")).items) == ["app2"]


def test_quality_is_the_newest_result_of_each_check(estate: Store) -> None:
    found = estate.ask(QualityQuery(**OF_CLEAN))
    assert {(one.column, one.check, one.status) for one in found.checks} == {
        ("mail", "not_null", "PASS"), ("id", "unique", "FAIL"),
    }  # fmt: skip
    assert found.counts == {"PASS": 1, "WARN": 0, "FAIL": 1, "SKIP": 0}


def test_a_process_tells_what_its_steps_read_and_wrote(estate: Store) -> None:
    found = estate.ask(JobQuery(**OF_APP))
    assert (names(found.inputs), names(found.outputs)) == (["lake.clean"], ["report"])
    assert [(run.status, run.error_message) for run in found.runs] == [("FAILED", "boom")]
    assert estate.ask(JobQuery(id=found.id)) == found


def test_runs_have_steps(estate: Store) -> None:
    (run,) = estate.ask(JobRunsQuery(**OF_APP, steps=1)).items
    assert ([step.step for step in run.steps], run.more_steps) == (["app1.4"], True)
    assert [run.job for run in estate.ask(RunsQuery()).items] == ["app2", "clean"]
    assert [run.job for run in estate.ask(RunsQuery(failed=True)).items] == ["app2"]


def test_a_run_tells_what_it_touched(estate: Store) -> None:
    found = estate.ask(RunQuery(id=run_uuid(1).upper()))
    assert plain([*found.inputs, *found.outputs])[0]["version"] == "v7"
    (output,) = found.outputs
    assert (output.dataset.name, output.rows, output.bytes, output.files) == ("lake.clean", 3, 30, 1)
    assert {(check.column, check.status) for check in found.quality} == {("mail", "PASS"), ("id", "FAIL")}
    action = estate.ask(RunQuery(id=run_uuid(3)))
    assert (action.parent_run_id, action.parent_job and action.parent_job.name) == (run_uuid(2), "app2")


def test_processes_depend_on_what_others_made_and_on_what_was_declared(estate: Store) -> None:
    found = estate.ask(DagQuery())
    called = {one.id: one.name for one in found.processes}
    assert {
        (called[d.before], called[d.after], d.kind, d.dataset.name if d.dataset else None, d.observed)
        for d in found.dependencies
    } == {
        ("clean", "app2", "inferred", "lake.clean", True),
        ("app2", "nightly", "inferred", "report", False),
        ("nightly", "mailer", "declared", None, True),
    }
    assert [d.declared for d in found.dependencies if d.declared] == [{"dependency_type": "IMPLICIT_DEPENDENCY"}]
    assert estate.ask(DagQuery(most=1)).cut == "size"
    assert estate.ask(DagQuery(namespace="elsewhere")).processes == []


PAGED: list[tuple[str, Callable[[Any], Query[Any]]]] = [
    ("versions", lambda after: VersionsQuery(namespace="db", name="t", limit=2, after=after)),
    ("runs", lambda after: RunsQuery(limit=2, after=after)),
    ("runs of a job", lambda after: JobRunsQuery(namespace="jobs", name="job", limit=2, after=after)),
    ("consumers", lambda after: ConsumersQuery(namespace="db", name="s", limit=2, after=after)),
    ("namespaces", lambda after: NamespacesQuery(limit=2, after=after)),
]


@pytest.mark.parametrize("make_question", [case[1] for case in PAGED], ids=[case[0] for case in PAGED])
def test_pages_follow_each_other_without_gap_or_repeat(
    store: Store, make_question: Callable[[Any], Query[Any]]
) -> None:
    for number in range(1, 6):  # two begin together
        store.apply(run_event("COMPLETE", number // 2, run=number, inputs=[dataset("s")], outputs=[dataset("t")]))
        store.apply(
            run_event("RUNNING", run=9, job=f"j{number}", inputs=[dataset("s")], outputs=[dataset("x", f"n{number}")])
        )
    found, after = [], None
    for _ in range(9):
        page = store.ask(make_question(after))
        found += page.items
        after = page.next
        assert len(page.items) == 2 or after is None
        if after is None:
            break
    whole = store.ask(msgspec.structs.replace(make_question(None), limit=100))  # type: ignore[type-var]
    assert found == whole.items
    assert len(found) >= 5
    assert whole.next is None


@pytest.mark.parametrize(
    ("question", "error", "said"),
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
def test_what_cannot_be_answered_says_why(
    estate: Store, question: Query[Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        estate.ask(question)


def test_nobody_sees_what_is_of_another_organisation(store: Store) -> None:
    Store("other", db=store.db).apply_each(*ESTATE)
    decide(store.db, "other")
    for question in EVERY:
        try:
            answer = store.ask(question)
        except NotFound:
            continue
        assert not next(getattr(answer, name) for name in ("items", "processes", "outcomes") if hasattr(answer, name))


def steps(store: Store, question: Query[Any]) -> int:
    """Count what SQLite does for an answer, in hundreds of the steps of its machine."""
    assert isinstance(store.db, SqliteDatabase)
    done = itertools.count()
    store.db.connection.set_progress_handler(lambda: next(done) < 0, 100)
    store.ask(question)
    store.db.connection.set_progress_handler(None, 0)
    return next(done)


@pytest.fixture(scope="module")
def estates() -> Iterator[tuple[Store, Store]]:
    """The estate alone, and among much that has nothing to do with it."""
    with Store() as small, Store() as large:
        for store in (small, large):
            store.apply_each(*ESTATE)
            decide(store.db)
        large.apply(*(
            run_event("COMPLETE", n % 60, run=1000 + n, job=f"other{n}", inputs=[dataset(f"s{n}")], outputs=[dataset(f"t{n}", schema=make.schema("a"))])
            for n in range(500)
        ))  # fmt: skip
        yield small, large


@pytest.mark.parametrize(
    "question", [one for one in EVERY if one.subject is not None], ids=lambda question: type(question).__name__
)
def test_what_is_asked_of_one_thing_costs_no_more_among_many(
    estates: tuple[Store, Store], question: Query[Any]
) -> None:
    small, large = (steps(store, question) for store in estates)
    assert large <= small * 1.3 + 3
