"""Edges that the last complete runs of their job no longer showed are gone, until a run shows them again."""

from datetime import UTC, datetime

import pytest

from bridge.queries.lineage import LineageQuery
from mappers.logical_job import FoldingRule
from tests.factories import Json, columns, dataset, field, job_event, parent, run_event, spark_type
from tests.stores import Store

RULE = FoldingRule(retire_after=3)
SPARK = {"jobType": spark_type()}
APPLICATION = {"jobType": spark_type("APPLICATION")}


def ran(run: int, *read: str, wrote: str = "t", kind: str = "COMPLETE", job: str = "job", **more: object) -> Json:
    outputs = [dataset(wrote)] if wrote else []
    return run_event(kind, run, run=run, job=job, inputs=[dataset(one) for one in read], outputs=outputs, **more)


def sources(store: Store, name: str = "t", *, rule: FoldingRule = RULE, **asked: object) -> set[str]:
    answer = store.ask(LineageQuery(namespace="db", name=name, depth=1, **asked), rule)
    return {edge.source.name + (" (retired)" if edge.retired else "") for edge in answer.edges if edge.source}


NEWER = {
    "two newer runs are not enough": ([ran(2, "b"), ran(3, "b")], {"a", "b"}),
    "three are": ([ran(2, "b"), ran(3, "b"), ran(4, "b")], {"b"}),
    "in any order": ([ran(4, "b"), ran(2, "b"), ran(3, "b")], {"b"}),
    "another job's do not count": ([ran(n, "b", job="other") for n in (2, 3, 4)], {"a", "b"}),
    "failed ones do not count": ([ran(2, "b"), ran(3, "b", kind="FAIL"), ran(4, "b", kind="ABORT")], {"a", "b"}),
    "nor those that have not ended": ([ran(n, "b", kind="START") for n in (2, 3, 4)], {"a", "b"}),
    "nor those that read and wrote nothing": ([ran(n, wrote="") for n in (2, 3, 4)], {"a"}),
    "those that only read do": ([ran(n, "b", wrote="") for n in (2, 3, 4)], set()),
    "those that wrote something else do": ([ran(n, "b", wrote="u") for n in (2, 3, 4)], set()),
    "seen again by one that failed, it stands": (
        [ran(2, "b"), ran(3, "b"), ran(4, "b"), ran(5, "a", kind="FAIL")],
        {"a", "b"},
    ),
}


@pytest.mark.parametrize(("newer", "left"), NEWER.values(), ids=NEWER)
def test_what_the_last_complete_runs_did_not_show_is_gone(store: Store, newer: list[Json], left: set[str]) -> None:
    with store:
        store.apply_each(ran(1, "a"), *newer)
        assert sources(store) == left
        assert sources(store, rule=FoldingRule()) >= {"a"}


def test_it_is_shown_where_it_is_asked_for_and_as_it_was_known_then(store: Store) -> None:
    with store:
        store.apply_each(ran(1, "a"), *(ran(n, "b") for n in (2, 3, 4)))
        assert sources(store, retired=True) == {"a (retired)", "b"}
        then = datetime(2026, 1, 1, 0, 0, 3, tzinfo=UTC)
        assert sources(store, as_of=then) == {"a", "b"}
        assert sources(store, granularity="run") == {"a", "b"}
        assert sources(store, granularity="step") == {"b"}


def test_downstream_and_upstream_agree(store: Store) -> None:
    with store:
        store.apply_each(ran(1, "a"), *(ran(n, "b") for n in (2, 3, 4)))
        assert store.ask(LineageQuery(namespace="db", name="a", direction="downstream"), RULE).edges == []


def test_what_columns_no_longer_name_is_gone_as_far_as_columns_go(store: Store) -> None:
    def by_columns(run: int, source: str) -> Json:
        lines = columns({"k": [field(source, "k")]})
        read = [dataset("a"), dataset("b")]
        return run_event("COMPLETE", run, run=run, inputs=read, outputs=[dataset("t", columnLineage=lines)])

    with store:
        store.apply_each(by_columns(1, "a"), *(by_columns(n, "b") for n in (2, 3, 4)))
        assert sources(store) == {"a", "b"}, "all inputs count, more weakly"
        evidence = {
            edge.source.name: edge.evidence for edge in store.ask(LineageQuery(namespace="db", name="t"), RULE).edges
        }
        assert evidence == {"a": "inferred", "b": "column"}


def test_what_is_declared_stands(store: Store) -> None:
    with store:
        store.apply(job_event(1, job="job", inputs=[dataset("a")], outputs=[dataset("t")]))
        store.apply_each(*(ran(n, "b") for n in (2, 3, 4)))
        assert sources(store) == {"a", "b"}


def application(
    run: int, source: str, kind: str = "COMPLETE", action: str = "app.write", of: str = "dag"
) -> list[Json]:
    """An application that something started, with one action, each a run of its own."""
    above = {"parent": parent(100 + run, of)}
    return [
        run_event(kind, run, run=200 + run, job="app", run_facets=above, job_facets=APPLICATION),
        run_event(
            kind,
            run + 0.5,
            run=300 + run,
            job=action,
            inputs=[dataset(source)],
            outputs=[dataset("t")],
            run_facets={"parent": parent(200 + run, "app")},
            job_facets=SPARK,
        ),
    ]


@pytest.mark.parametrize("reported", [False, True], ids=["what starts it is silent", "what starts it reports"])
def test_of_an_application_its_runs_count_and_not_those_of_its_actions(store: Store, reported: bool) -> None:
    with store:
        for run in range(1, 5):
            action, source = ("app.old", "a") if run == 1 else ("app.new", "b")
            store.apply(*application(run, source, action=action))
            if reported:
                store.apply(run_event("COMPLETE", run - 0.1, run=100 + run, job="dag"))
            assert ("a" in sources(store)) == (run < 4)


def test_an_application_that_stands_for_itself(store: Store) -> None:
    with store:
        for run in range(1, 5):
            store.apply(*application(run, "a" if run == 1 else "b"))
        rule = RULE._replace(job="application")
        assert sources(store, rule=rule) == {"b"}
