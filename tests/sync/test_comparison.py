"""Periodic comparison: repairs damaged entities and edges, and writes nothing else."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bridge.sync.target import ComparedBatch
from tests.factories import columns, dataset, facet, field, parent, run_event, schema, spark_type, transformation
from tests.standins.openmetadata import error
from tests.sync import model
from tests.sync.backup import Backup
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.other_writers import Person

A, T, JOB = "warehouse.d.s.a", "warehouse.d.s.t", "runs.job"
HOUR = 3_600.0


def copy_run(second: float = 0, *fields: str) -> dict[str, Any]:
    """A run of `job` that makes t of a."""
    names = fields or ("k", "v")
    lines = columns({name: [field("a", name, transformation())] for name in names})
    return run_event(
        second=second,
        inputs=[dataset("a", schema=schema(*names))],
        outputs=[dataset("t", schema=schema(*names), columnLineage=lines, documentation=facet(description="a = b"))],
    )


@pytest.fixture
def synced() -> Iterator[OpenMetadataHarness]:
    harness = OpenMetadataHarness()
    harness.compare_seconds = HOUR
    with harness:
        app = run_event(run=2, job="app", job_facets={"jobType": spark_type("APPLICATION")})
        step = run_event(
            run=3,
            job="app.step",
            run_facets={"parent": parent(2, "app")},
            job_facets={"jobType": spark_type()},
            outputs=[dataset("s")],
        )
        harness.apply(copy_run(), app, step).converge()
        yield harness


def matches_store(synced: OpenMetadataHarness) -> bool:
    actual = model.actual_state(synced.standin)
    return actual == model.expected_state(synced.store, register_on_completion=True, existing_tables=actual.tables)


def delete(person: Person, type_: str, name: str, *, hard: bool) -> None:
    path = {"table": "tables", "pipeline": "pipelines"}[type_]
    entity = person.find(type_, name)
    person.request("DELETE", f"{path}/{entity.id}?hardDelete={str(hard).lower()}")


def drop_column(person: Person) -> None:
    person.put("table", name="t", databaseSchema="warehouse.d.s", columns=[{"name": "k", "dataType": "STRING"}])


def drop_edge(person: Person) -> None:
    person.request("DELETE", f"lineage/table/{person.find('table', A).id}/table/{person.find('table', T).id}")


DAMAGE: dict[str, Callable[[Person], Any]] = {
    "a table is deleted": lambda person: delete(person, "table", T, hard=False),
    "a table is deleted for good": lambda person: delete(person, "table", T, hard=True),
    "the source of an edge is deleted for good": lambda person: delete(person, "table", A, hard=True),
    "a pipeline is deleted for good": lambda person: delete(person, "pipeline", JOB, hard=True),
    "a column is removed": drop_column,
    "the tasks of a pipeline are removed": lambda person: person.put("pipeline", name="app", service="runs"),
    "an edge is deleted": drop_edge,
    "the columns of an edge are removed": lambda person: person.put_edge(A, T, pipeline=JOB, source="OpenLineage"),
    "the pipeline of an edge is removed": lambda person: person.put_edge(A, T, source="Manual"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_comparison_repairs_damage(synced: OpenMetadataHarness, person: Person, damage: str) -> None:
    assert matches_store(synced)
    DAMAGE[damage](person)
    assert not matches_store(synced)
    assert synced.calls_of_next_round() == {}
    synced.compare()
    assert matches_store(synced)
    assert synced.calls_of_next_round() == {}


def test_comparison_without_differences_only_reads(synced: OpenMetadataHarness) -> None:
    before, first_request = synced.standin.state(), len(synced.standin.requests)
    synced.compare()
    assert synced.standin.state() == before
    assert {request.method for request in synced.standin.requests[first_request:]} == {"GET"}


def test_updates_server_restored_from_backup(synced: OpenMetadataHarness) -> None:
    backup = Backup(synced.standin)
    synced.apply(copy_run(9, "k", "w"), run_event(run=7, job="new", outputs=[dataset("n")])).converge()
    backup.restore()
    assert not matches_store(synced)
    synced.compare()
    assert matches_store(synced)


def test_refills_server_that_lost_all_entities(synced: OpenMetadataHarness) -> None:
    for service in ("warehouse", "runs"):
        kind = "databaseService" if service == "warehouse" else "pipelineService"
        path = f"services/{kind}s/{synced.standin.store.by_name[kind][service].id}"
        Person(synced.standin).request("DELETE", f"{path}?hardDelete=true&recursive=true")
    assert synced.entities("table") == {}
    synced.compare()
    assert matches_store(synced)


def test_edits_by_people_are_no_difference(synced: OpenMetadataHarness, person: Person) -> None:
    synced.standin.governance.add_tag("PII", "Sensitive")
    tag = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    person.patch("table", T, {"/description": "theirs", "/tags": [tag], "/columns/1/tags": [tag]})
    person.patch("table", T, {"/displayName": "The T", "/columns/0/description": "the key"})
    before = synced.standin.state()
    synced.compare()
    assert synced.standin.state() == before


def test_compares_once_per_interval_and_resumes_after_outage(synced: OpenMetadataHarness, person: Person) -> None:
    synced.clock.wait(HOUR / 2)
    assert synced.calls_of_next_round() == {}
    drop_edge(person)
    synced.clock.wait(HOUR)
    synced.standin.faults.plan = lambda *_: error(503)
    synced.round()
    assert synced.reconciler.breaker.open
    synced.standin.faults.clear()
    synced.clock.wait(120)
    for _ in range(20):
        synced.round()
        synced.clock.wait(10)
    assert matches_store(synced)
    assert synced.calls_of_next_round() == {}


def test_only_one_of_two_daemons_compares(synced: OpenMetadataHarness) -> None:
    other = OpenMetadataHarness(standin=synced.standin, db=synced.store.db)
    other.clock, other.compare_seconds = synced.clock, HOUR
    other.connect()
    synced.clock.wait(HOUR + 60)
    assert synced.round()["compared"] > 0
    assert other.calls_of_next_round() == {}
    other.target.close()


def test_pushes_continue_during_comparison(synced: OpenMetadataHarness) -> None:
    synced.clock.wait(HOUR + 60)
    synced.round()
    synced.apply(run_event(second=30, run=8, outputs=[dataset("late")]))
    assert synced.round()["pushed"] > 0


@pytest.mark.parametrize("daemon", [True, False])
def test_comparison_of_a_daemon_pauses_between_batches(synced: OpenMetadataHarness, daemon: bool) -> None:
    """A batch that takes 10 s is followed by a pause of 90 s."""
    compare = synced.target.compare

    batches = []

    def slow_compare() -> Iterator[Any]:
        for batch in compare():
            synced.clock.wait(10)
            batches.append(batch)
            yield batch

    synced.target.compare = slow_compare
    if not daemon:
        synced.reconciler.ignore_intervals()
    synced.clock.wait(HOUR + 60)
    while not batches:
        synced.round()
    synced.round()
    assert len(batches) == (1 if daemon else 2)
    synced.clock.wait(91)
    synced.round()
    assert len(batches) == (2 if daemon else 3)


def test_item_that_cannot_be_compared_does_not_stop_pushes(
    synced: OpenMetadataHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Iterator[ComparedBatch]:
        yield ComparedBatch("dataset", 0, ())
        raise RecursionError("too deep")

    monkeypatch.setattr(synced.target, "compare", fail)
    synced.clock.wait(HOUR + 60)
    synced.apply(run_event(second=30, run=8, outputs=[dataset("late")]))
    for _ in range(3):
        synced.round()
    assert matches_store(synced)
    monkeypatch.undo()
    synced.clock.wait(HOUR + 60)
    assert synced.round()["compared"] > 0
