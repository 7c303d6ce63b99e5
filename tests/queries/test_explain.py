"""Explanations: the events behind facts, edges and columns."""

import pytest

from bridge.errors import NotFound
from bridge.queries.explain import ExplainQuery
from tests import factories as make
from tests.factories import (
    at,
    columns,
    dataset,
    dataset_event,
    facet,
    field,
    job_event,
    lifecycle,
    run_event,
    run_uuid,
    transformation,
)
from tests.queries.sample_store import CLEAN_DATASET, SAMPLE_EVENTS
from tests.stores import Json, Store


def documented(text: str) -> Json:
    return {"documentation": facet(description=text)}


@pytest.fixture
def sample(store: Store) -> Store:
    return store.apply_each(*SAMPLE_EVENTS)


def test_fact_is_traced_to_the_winning_assertion(store: Store) -> None:
    store.apply_each(
        dataset_event(1, dataset("t", **documented("old"))),
        dataset_event(3, dataset("t", **documented("new"))),
        run_event("COMPLETE", 3, inputs=[dataset("t", **documented("read"))]),
        dataset_event(2, dataset("t", **documented("between"))),
    )
    facts = {fact.fact: fact for fact in store.ask(ExplainQuery(namespace="db", name="t")).facts}
    fact = facts["description"]
    assert (fact.value, fact.rank, fact.said_at) == ("new", "output", at(3))
    assert [(event.event_type, event.run_id) for event in fact.events] == [(None, None)]  # not the run of that time
    assert facts["facet documentation"].events == fact.events


def test_deleted_fact_is_traced_to_its_deletion(store: Store) -> None:
    store.apply(
        dataset_event(1, dataset("t", **documented("x"))), dataset_event(2, dataset("t", documentation=make.DELETED))
    )
    (fact,) = (
        candidate
        for candidate in store.ask(ExplainQuery(namespace="db", name="t")).facts
        if candidate.fact == "description"
    )
    assert (fact.value, fact.said_at, len(fact.events)) == (None, at(2), 1)


def test_schema_is_traced_under_any_name_of_the_dataset(sample: Store) -> None:
    facts = {fact.fact: fact for fact in sample.ask(ExplainQuery(namespace="db", name="lake.clean")).facts}
    assert facts["schema"].events[0].run_id == run_uuid(1)
    assert facts["owners"].value == "data"


RENAMED = run_event(
    "COMPLETE", 9, run=5, job="mover", outputs=[dataset("new", lifecycleStateChange=lifecycle("RENAME", "clean"))]
)
DECLARED = job_event(8, job="declarer", lineage=facet(entries=[
    {"type": "DATASET", "namespace": "db", "name": "z", "inputs": [{"type": "DATASET", "namespace": "db", "name": "clean"}]},
]))  # fmt: skip


@pytest.mark.parametrize(
    ("source", "target", "evidence", "reasons"),
    [
        ("raw", "clean", "column", {("column", "clean", None), ("inferred", "clean", run_uuid(1))}),
        ("clean", "report", "inferred", {("inferred", "app1.3", run_uuid(3))}),
        ("clean", "new", "explicit", {("renamed", None, run_uuid(5))}),
        ("clean", "z", "declared", {("declared", "declarer", None)}),
        ("report", "clean", None, set()),
    ],
)
def test_edge_is_traced_to_all_its_evidence(
    sample: Store, source: str, target: str, evidence: str | None, reasons: set[object]
) -> None:
    sample.apply_each(RENAMED, DECLARED)
    explanation = sample.ask(ExplainQuery(namespace="db", name=target, source_namespace="db", source_name=source))
    assert explanation.shown_as == evidence
    assert {
        (assertion.evidence, assertion.job.name if assertion.job else None, assertion.run_id)
        for assertion in explanation.assertions
    } == reasons
    assert all(assertion.events for assertion in explanation.assertions)


def test_column_is_traced_to_the_first_events_that_report_it(store: Store) -> None:
    def derive(run: int, second: int, source: str) -> Json:
        lineage = columns({"y": [field("a", source, transformation())]})
        return run_event("COMPLETE", second, run=run, outputs=[dataset("b", columnLineage=lineage)])

    store.apply_each(derive(1, 1, "old"), derive(2, 2, "new"), derive(3, 3, "new"))
    derivations = store.ask(ExplainQuery(namespace="db", name="b", field="y")).lines
    assert [(derivation.hop.source.column, derivation.active, derivation.run_id, len(derivation.events)) for derivation in derivations] == [
        ("old", False, run_uuid(1), 1), ("new", True, run_uuid(2), 1),
    ]  # fmt: skip


def test_unknown_column_is_reported_with_known_columns(sample: Store) -> None:
    with pytest.raises(NotFound, match="no column 'nothing' in the dataset; known columns: id, mail"):
        sample.ask(ExplainQuery(**CLEAN_DATASET, field="nothing"))
