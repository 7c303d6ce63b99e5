"""Why the store holds what it holds."""

import pytest

from bridge.errors import NotFound
from bridge.queries.explain import ExplainQuery
from tests import factories as make
from tests.factories import (
    at,
    columns,
    dataset,
    dataset_event,
    transformation,
    facet,
    field,
    job_event,
    lifecycle,
    run_event,
    run_uuid,
)
from tests.queries.sample_store import ESTATE, OF_CLEAN
from tests.stores import Json, Store


def described(text: str) -> Json:
    return {"documentation": facet(description=text)}


@pytest.fixture
def estate(store: Store) -> Store:
    return store.apply_each(*ESTATE)


def test_a_fact_is_traced_to_the_statement_that_won(store: Store) -> None:
    store.apply_each(
        dataset_event(1, dataset("t", **described("old"))),
        dataset_event(3, dataset("t", **described("new"))),
        run_event("COMPLETE", 3, inputs=[dataset("t", **described("read"))]),
        dataset_event(2, dataset("t", **described("between"))),
    )
    facts = {fact.fact: fact for fact in store.ask(ExplainQuery(namespace="db", name="t")).facts}
    fact = facts["description"]
    assert (fact.value, fact.rank, fact.said_at) == ("new", "output", at(3))
    assert [(event.event_type, event.run_id) for event in fact.events] == [(None, None)]  # not the run of that time
    assert facts["facet documentation"].events == fact.events


def test_what_was_taken_back_is_told(store: Store) -> None:
    store.apply(
        dataset_event(1, dataset("t", **described("x"))), dataset_event(2, dataset("t", documentation=make.DELETED))
    )
    (fact,) = (one for one in store.ask(ExplainQuery(namespace="db", name="t")).facts if one.fact == "description")
    assert (fact.value, fact.said_at, len(fact.events)) == (None, at(2), 1)


def test_a_schema_is_traced_whichever_name_it_came_by(estate: Store) -> None:
    facts = {fact.fact: fact for fact in estate.ask(ExplainQuery(namespace="db", name="lake.clean")).facts}
    assert facts["schema"].events[0].run_id == run_uuid(1)
    assert facts["owners"].value == "data"


MOVED = run_event(
    "COMPLETE", 9, run=5, job="mover", outputs=[dataset("new", lifecycleStateChange=lifecycle("RENAME", "clean"))]
)
EXPLICIT = job_event(8, job="said", lineage=facet(entries=[
    {"type": "DATASET", "namespace": "db", "name": "z", "inputs": [{"type": "DATASET", "namespace": "db", "name": "clean"}]},
]))  # fmt: skip


@pytest.mark.parametrize(
    ("source", "target", "shown", "reasons"),
    [
        ("raw", "clean", "column", {("column", "clean", None), ("inferred", "clean", run_uuid(1))}),
        ("clean", "report", "inferred", {("inferred", "app1.3", run_uuid(3))}),
        ("clean", "new", "explicit", {("renamed", None, run_uuid(5))}),
        ("clean", "z", "declared", {("declared", "said", None)}),
        ("report", "clean", None, set()),
    ],
)
def test_an_edge_is_traced_to_all_that_speaks_for_it(
    estate: Store, source: str, target: str, shown: str | None, reasons: set[object]
) -> None:
    estate.apply_each(MOVED, EXPLICIT)
    found = estate.ask(ExplainQuery(namespace="db", name=target, source_namespace="db", source_name=source))
    assert found.shown_as == shown
    assert {(one.evidence, one.job.name if one.job else None, one.run_id) for one in found.assertions} == reasons
    assert all(one.events for one in found.assertions)


def test_a_column_is_traced_to_what_first_said_so(store: Store) -> None:
    def made(run: int, second: int, source: str) -> Json:
        line = columns({"y": [field("a", source, transformation())]})
        return run_event("COMPLETE", second, run=run, outputs=[dataset("b", columnLineage=line)])

    store.apply_each(made(1, 1, "old"), made(2, 2, "new"), made(3, 3, "new"))
    lines = store.ask(ExplainQuery(namespace="db", name="b", field="y")).lines
    assert [(line.hop.source.column, line.active, line.run_id, len(line.events)) for line in lines] == [
        ("old", False, run_uuid(1), 1), ("new", True, run_uuid(2), 1),
    ]  # fmt: skip


def test_a_column_that_nothing_is_known_of_says_so(estate: Store) -> None:
    with pytest.raises(NotFound, match="no column 'nothing' in the dataset; known columns: id, mail"):
        estate.ask(ExplainQuery(**OF_CLEAN, field="nothing"))
