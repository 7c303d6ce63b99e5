"""A comparison of everything, once a period, puts right what somebody broke, and leaves alone what is right."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.factories import columns, dataset, facet, field, run_event, schema, spark_type, transformation
from tests.factories import parent as above
from tests.standins.openmetadata import error
from tests.sync import model
from tests.sync.backup import Backup
from tests.sync.openmetadata_harness import Synced
from tests.sync.other_writers import Person

A, T, JOB = "warehouse.d.s.a", "warehouse.d.s.t", "runs.job"
HOUR = 3_600.0


def copied(second: float = 0, *fields: str) -> dict[str, Any]:
    """A run of `job` that makes t of a."""
    names = fields or ("k", "v")
    lines = columns({name: [field("a", name, transformation())] for name in names})
    return run_event(
        second=second,
        inputs=[dataset("a", schema=schema(*names))],
        outputs=[dataset("t", schema=schema(*names), columnLineage=lines, documentation=facet(description="a = b"))],
    )


@pytest.fixture
def synced() -> Iterator[Synced]:
    made = Synced()
    made.compare_seconds = HOUR
    with made:
        app = run_event(run=2, job="app", job_facets={"jobType": spark_type("APPLICATION")})
        step = run_event(
            run=3,
            job="app.step",
            run_facets={"parent": above(2, "app")},
            job_facets={"jobType": spark_type()},
            outputs=[dataset("s")],
        )
        made.apply(copied(), app, step).converge()
        yield made


def as_modelled(synced: Synced) -> bool:
    there = model.seen(synced.standin)
    return there == model.wanted(synced.store, waits=True, there=there.tables)


def delete(person: Person, type_: str, name: str, *, hard: bool) -> None:
    path = {"table": "tables", "pipeline": "pipelines"}[type_]
    found = person.find(type_, name)
    person.ask("DELETE", f"{path}/{found.id}?hardDelete={str(hard).lower()}")


def drop_column(person: Person) -> None:
    person.put("table", name="t", databaseSchema="warehouse.d.s", columns=[{"name": "k", "dataType": "STRING"}])


def drop_edge(person: Person) -> None:
    person.ask("DELETE", f"lineage/table/{person.find('table', A).id}/table/{person.find('table', T).id}")


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
def test_what_somebody_broke_is_put_right(synced: Synced, person: Person, damage: str) -> None:
    assert as_modelled(synced)
    DAMAGE[damage](person)
    assert not as_modelled(synced)
    assert synced.quiet() == {}
    synced.compare()
    assert as_modelled(synced)
    assert synced.quiet() == {}


def test_what_is_right_is_looked_at_and_left_alone(synced: Synced) -> None:
    before, asked = synced.standin.state(), len(synced.standin.requests)
    synced.compare()
    assert synced.standin.state() == before
    assert {seen.method for seen in synced.standin.requests[asked:]} == {"GET"}


def test_a_server_that_was_restored_from_a_backup_is_brought_up_to_date(synced: Synced) -> None:
    backup = Backup(synced.standin)
    synced.apply(copied(9, "k", "w"), run_event(run=7, job="new", outputs=[dataset("n")])).converge()
    backup.restore()
    assert not as_modelled(synced)
    synced.compare()
    assert as_modelled(synced)


def test_a_server_that_lost_everything_is_filled_again(synced: Synced) -> None:
    for service in ("warehouse", "runs"):
        kind = "databaseService" if service == "warehouse" else "pipelineService"
        path = f"services/{kind}s/{synced.standin.store.by_name[kind][service].id}"
        Person(synced.standin).ask("DELETE", f"{path}?hardDelete=true&recursive=true")
    assert synced.entities("table") == {}
    synced.compare()
    assert as_modelled(synced)


def test_what_people_wrote_is_no_difference(synced: Synced, person: Person) -> None:
    synced.standin.governance.add_tag("PII", "Sensitive")
    tag = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    person.patch("table", T, {"/description": "theirs", "/tags": [tag], "/columns/1/tags": [tag]})
    person.patch("table", T, {"/displayName": "The T", "/columns/0/description": "the key"})
    before = synced.standin.state()
    synced.compare()
    assert synced.standin.state() == before


def test_it_happens_once_a_period_and_goes_on_after_the_server_was_away(synced: Synced, person: Person) -> None:
    synced.clock.wait(HOUR / 2)
    assert synced.quiet() == {}
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
    assert as_modelled(synced)
    assert synced.quiet() == {}


def test_of_two_daemons_one_compares(synced: Synced) -> None:
    other = Synced(standin=synced.standin, db=synced.store.db)
    other.clock, other.compare_seconds = synced.clock, HOUR
    other.connect()
    synced.clock.wait(HOUR + 60)
    assert synced.round()["compared"] > 0
    assert other.quiet() == {}
    other.target.close()


def test_pushes_go_on_meanwhile(synced: Synced) -> None:
    synced.clock.wait(HOUR + 60)
    synced.round()
    synced.apply(run_event(second=30, run=8, outputs=[dataset("late")]))
    assert synced.round()["pushed"] > 0
