"""Retirement of edges that the last complete runs of their job did not report."""

from datetime import UTC, datetime

import pytest

from bridge.queries.lineage import LineageQuery
from mappers.logical_job import FoldingRule
from tests.factories import Json, columns, dataset, field, job_event, parent, run_event, spark_type
from tests.stores import Store

RULE = FoldingRule(retire_after=3)
SPARK = {"jobType": spark_type()}
APPLICATION = {"jobType": spark_type("APPLICATION")}


def job_run(
    run: int, *input_names: str, output_name: str = "t", kind: str = "COMPLETE", job: str = "job", **options: object
) -> Json:
    outputs = [dataset(output_name)] if output_name else []
    return run_event(
        kind, run, run=run, job=job, inputs=[dataset(name) for name in input_names], outputs=outputs, **options
    )


def sources(store: Store, name: str = "t", *, rule: FoldingRule = RULE, **parameters: object) -> set[str]:
    result = store.ask(LineageQuery(namespace="db", name=name, depth=1, **parameters), rule)
    return {edge.source.name + (" (retired)" if edge.retired else "") for edge in result.edges if edge.source}


NEWER = {
    "two newer runs do not retire": ([job_run(2, "b"), job_run(3, "b")], {"a", "b"}),
    "three newer runs retire": ([job_run(2, "b"), job_run(3, "b"), job_run(4, "b")], {"b"}),
    "in any order": ([job_run(4, "b"), job_run(2, "b"), job_run(3, "b")], {"b"}),
    "runs of another job do not count": ([job_run(n, "b", job="other") for n in (2, 3, 4)], {"a", "b"}),
    "failed runs do not count": (
        [job_run(2, "b"), job_run(3, "b", kind="FAIL"), job_run(4, "b", kind="ABORT")],
        {"a", "b"},
    ),
    "running runs do not count": ([job_run(n, "b", kind="START") for n in (2, 3, 4)], {"a", "b"}),
    "runs without inputs and outputs do not count": ([job_run(n, output_name="") for n in (2, 3, 4)], {"a"}),
    "runs that only read count": ([job_run(n, "b", output_name="") for n in (2, 3, 4)], set()),
    "runs that wrote another dataset count": ([job_run(n, "b", output_name="u") for n in (2, 3, 4)], set()),
    "an edge that a failed run reports is current": (
        [job_run(2, "b"), job_run(3, "b"), job_run(4, "b"), job_run(5, "a", kind="FAIL")],
        {"a", "b"},
    ),
}


@pytest.mark.parametrize(("newer", "expected"), NEWER.values(), ids=NEWER)
def test_edges_missing_from_last_complete_runs_are_retired(
    store: Store, newer: list[Json], expected: set[str]
) -> None:
    with store:
        store.apply_each(job_run(1, "a"), *newer)
        assert sources(store) == expected
        assert sources(store, rule=FoldingRule()) >= {"a"}


def test_retired_edges_are_shown_on_request_and_as_of_earlier_times(store: Store) -> None:
    with store:
        store.apply_each(job_run(1, "a"), *(job_run(n, "b") for n in (2, 3, 4)))
        assert sources(store, retired=True) == {"a (retired)", "b"}
        as_of = datetime(2026, 1, 1, 0, 0, 3, tzinfo=UTC)
        assert sources(store, as_of=as_of) == {"a", "b"}
        assert sources(store, granularity="run") == {"a", "b"}
        assert sources(store, granularity="step") == {"b"}


def test_downstream_omits_retired_edges(store: Store) -> None:
    with store:
        store.apply_each(job_run(1, "a"), *(job_run(n, "b") for n in (2, 3, 4)))
        assert store.ask(LineageQuery(namespace="db", name="a", direction="downstream"), RULE).edges == []


def test_retired_column_evidence_leaves_weaker_evidence(store: Store) -> None:
    def by_columns(run: int, source: str) -> Json:
        lineage = columns({"k": [field(source, "k")]})
        inputs = [dataset("a"), dataset("b")]
        return run_event("COMPLETE", run, run=run, inputs=inputs, outputs=[dataset("t", columnLineage=lineage)])

    with store:
        store.apply_each(by_columns(1, "a"), *(by_columns(n, "b") for n in (2, 3, 4)))
        assert sources(store) == {"a", "b"}, "all inputs count as weaker evidence"
        evidence = {
            edge.source.name: edge.evidence for edge in store.ask(LineageQuery(namespace="db", name="t"), RULE).edges
        }
        assert evidence == {"a": "inferred", "b": "column"}


def test_declared_edges_are_not_retired(store: Store) -> None:
    with store:
        store.apply(job_event(1, job="job", inputs=[dataset("a")], outputs=[dataset("t")]))
        store.apply_each(*(job_run(n, "b") for n in (2, 3, 4)))
        assert sources(store) == {"a", "b"}


def application(
    run: int, source: str, kind: str = "COMPLETE", action: str = "app.write", starter: str = "dag"
) -> list[Json]:
    """An application with the run that started it, and one action, each a separate run."""
    run_facets = {"parent": parent(100 + run, starter)}
    return [
        run_event(kind, run, run=200 + run, job="app", run_facets=run_facets, job_facets=APPLICATION),
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


@pytest.mark.parametrize("reported", [False, True], ids=["starter without events", "starter with events"])
def test_application_runs_count_instead_of_action_runs(store: Store, reported: bool) -> None:
    with store:
        for run in range(1, 5):
            action, source = ("app.old", "a") if run == 1 else ("app.new", "b")
            store.apply(*application(run, source, action=action))
            if reported:
                store.apply(run_event("COMPLETE", run - 0.1, run=100 + run, job="dag"))
            assert ("a" in sources(store)) == (run < 4)


def test_application_shown_as_itself_retires_edges(store: Store) -> None:
    with store:
        for run in range(1, 5):
            store.apply(*application(run, "a" if run == 1 else "b"))
        rule = RULE._replace(job="application")
        assert sources(store, rule=rule) == {"b"}
