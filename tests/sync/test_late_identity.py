"""What was pushed before it was known what it is: two datasets that are one, an action whose job is learnt late."""

from collections.abc import Callable
from itertools import count

import pytest

from bridge.sync.sync_item import DELETION
from tests import factories as make
from tests.factories import (
    columns,
    dataset,
    dataset_event,
    facet,
    field,
    parent,
    run_event,
    schema,
    spark_type,
    symlinks,
    transformation,
)
from tests.standins.openmetadata import Fault, error, reset
from tests.sync import model
from tests.sync.crashes import Killed
from tests.sync.openmetadata_harness import Synced
from tests.sync.other_writers import Person

W = "warehouse.d.s."
APART = [
    run_event(
        run=1,
        job="fill",
        inputs=[dataset("x", schema=schema("k"))],
        outputs=[
            dataset("old", schema=schema("k"), columnLineage=columns({"k": [field("x", "k", transformation())]}))
        ],
        job_facets={"sql": make.facet(query="INSERT INTO old")},
    ),
    run_event(run=2, job="use", inputs=[dataset("old")], outputs=[dataset("y", schema=schema("k"))]),
    run_event(run=3, job="other", inputs=[dataset("new", schema=schema("k", "v"))], outputs=[dataset("z")]),
]
FUSED = make.dataset_event(9, dataset("old", symlinks=symlinks("new")))
STEP = run_event(
    run=3,
    job="app.step",
    job_facets={"jobType": spark_type()},
    inputs=[dataset("x", schema=schema("k"))],
    outputs=[dataset("t", schema=schema("k"), columnLineage=columns({"k": [field("x", "k", transformation())]}))],
)
ABOVE = [
    run_event("RUNNING", 8, run=3, job="app.step", run_facets={"parent": parent(2, "app")}),
    run_event("START", 8, run=2, job="app", run_facets={"parent": parent(1, "dag")},
              job_facets={"jobType": spark_type("APPLICATION")}),
]  # fmt: skip


def assert_as_modelled(synced: Synced) -> None:
    found = model.seen(synced.standin)
    assert found == model.wanted(synced.store, waits=True, there=found.tables)
    assert synced.quiet() == {}


def is_deleted(synced: Synced, type_: str, name: str) -> bool:
    return synced.standin.state()["entities"][type_, name]["deleted"]


def test_edges_move_to_the_preferred_entity_and_the_other_is_deleted_softly() -> None:
    with Synced() as synced:
        synced.apply(*APART).converge()
        assert set(synced.edges()) == {(W + "x", W + "old"), (W + "old", W + "y"), (W + "new", W + "z")}
        synced.apply(FUSED).converge()
        assert set(synced.edges()) == {(W + "x", W + "new"), (W + "new", W + "y"), (W + "new", W + "z")}
        moved = synced.edges()[W + "x", W + "new"]
        assert moved["sqlQuery"] == "INSERT INTO old"
        assert [line["toColumn"] for line in moved["columnsLineage"]] == [W + "new.k"]
        assert is_deleted(synced, "table", W + "old")
        assert_as_modelled(synced)


def test_it_gives_way_to_a_preferred_one_that_was_not_there_yet() -> None:
    with Synced() as synced:
        synced.apply(*APART[:2]).converge()
        synced.apply(FUSED).converge()
        assert is_deleted(synced, "table", W + "old")
        assert set(synced.edges()) == {(W + "x", W + "new"), (W + "new", W + "y")}
        assert_as_modelled(synced)


def test_the_other_stays_when_another_connector_made_it() -> None:
    with Synced() as synced:
        Person(synced.standin).put_table("old", "k", description="by hand")
        synced.apply(*APART).converge()
        synced.apply(FUSED).converge()
        assert not is_deleted(synced, "table", W + "old")
        assert synced.entities("table")[W + "old"]["description"] == "by hand"
        assert (W + "x", W + "new") in synced.edges()
        assert (W + "x", W + "old") not in synced.edges()
        assert synced.quiet() == {}


def test_what_another_connector_made_is_used_when_ours_alone_has_the_preferred_name() -> None:
    """Theirs carries owners, tags and columns; ours is taken back, whatever it is called."""
    with Synced() as synced:
        synced.apply(APART[0]).converge()
        Person(synced.standin).put_table("new", "k")
        synced.apply(FUSED).converge()
        assert is_deleted(synced, "table", W + "old")
        assert set(synced.edges()) == {(W + "x", W + "new")}


def test_names_that_part_again_stand_for_themselves_again() -> None:
    with Synced() as synced:
        synced.apply(*APART, FUSED).converge()
        synced.apply(make.dataset_event(20, dataset("old", symlinks=make.DELETED))).converge()
        assert not is_deleted(synced, "table", W + "old")
        assert set(synced.edges()) == {(W + "x", W + "old"), (W + "old", W + "y"), (W + "new", W + "z")}
        assert_as_modelled(synced)


def test_a_leaf_pipeline_is_retired_when_its_parent_is_learnt() -> None:
    with Synced() as synced:
        synced.apply(STEP).converge()
        assert set(synced.entities("pipeline")) == {'runs."app.step"'}
        synced.apply(*ABOVE).converge()
        assert set(synced.entities("pipeline")) == {"runs.dag"}
        assert is_deleted(synced, "pipeline", 'runs."app.step"')
        assert synced.edges()[W + "x", W + "t"]["pipeline"]["fullyQualifiedName"] == "runs.dag"
        assert_as_modelled(synced)


def test_a_leaf_pipeline_that_another_connector_made_stays() -> None:
    with Synced() as synced:
        Person(synced.standin).put_pipeline("app.step", "runs")
        synced.apply(STEP).converge()
        synced.apply(*ABOVE).converge()
        assert set(synced.entities("pipeline")) == {"runs.dag", 'runs."app.step"'}
        assert synced.edges()[W + "x", W + "t"]["pipeline"]["fullyQualifiedName"] == "runs.dag"


def test_tasks_are_named_after_what_datasets_are_called_by_then() -> None:
    with Synced() as synced:
        synced.apply(STEP, *ABOVE).converge()
        assert [task["name"] for task in synced.entities("pipeline")["runs.dag"]["tasks"]] == ["write t"]
        synced.apply(make.dataset_event(9, dataset("t", symlinks=symlinks("best")))).converge()
        assert [task["name"] for task in synced.entities("pipeline")["runs.dag"]["tasks"]] == ["write best"]
        assert_as_modelled(synced)


@pytest.mark.parametrize("fault", [reset(), reset(applied=True), error(503), error(500, applied=True)])
@pytest.mark.parametrize(("before", "after"), [(APART, [FUSED]), ([STEP], ABOVE)], ids=["dataset", "job"])
def test_any_one_call_may_fail(before: list[make.Json], after: list[make.Json], fault: Fault) -> None:
    def fail(synced: Synced, at: int) -> bool:
        asked = len(synced.standin.requests)
        synced.standin.faults.plan = lambda number, *_: fault if number == asked + at else None
        synced.converge()
        synced.standin.faults.clear()
        return len(synced.standin.requests) < asked + at

    assert_same_end(before, after, fail)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("before", "after"), [(APART[:1], [FUSED]), ([STEP], ABOVE)], ids=["dataset", "job"])
def test_it_may_be_killed_at_any_step_before_it_is_learnt(before: list[make.Json], after: list[make.Json]) -> None:
    """What was being made when it died is taken back by whoever learns what it really is."""
    for at in count(1):
        with Synced() as synced:
            synced.apply(*before)
            missed = killed(synced, at)
            synced.apply(*after).converge()
            assert_as_modelled(synced)
            assert synced.items.pending(DELETION) == []
        if missed:
            return


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("before", "after"), [(APART, [FUSED]), ([STEP], ABOVE)], ids=["dataset", "job"])
def test_it_may_be_killed_at_any_step(before: list[make.Json], after: list[make.Json]) -> None:
    assert_same_end(before, after, killed)


def killed(synced: Synced, at: int) -> bool:
    """Let a process die at a step, and another one begin; tells whether there was no such step."""
    synced.mortality.die_after(at)
    try:
        synced.converge()
    except Killed:
        return False
    finally:
        synced.connect()
    return True


def assert_same_end(before: list[make.Json], after: list[make.Json], strike: Callable[[Synced, int], bool]) -> None:
    """Strike at the first step of what follows, at the second, and so on until there is none."""
    for at in count(1):
        with Synced() as synced:
            synced.apply(*before).converge()
            synced.apply(*after)
            missed = strike(synced, at)
            synced.converge()
            assert_as_modelled(synced)
            assert synced.items.pending(DELETION) == []
        if missed:
            return
        assert at < 400


def test_a_table_with_tests_that_is_another_name_of_one_is_removed_with_them() -> None:
    checks = {"dataQualityAssertions": facet(assertions=[{"assertion": "rows", "success": True}])}
    with Synced() as synced:
        synced.apply(run_event(outputs=[dataset("x", **checks)]), run_event(run=2, outputs=[dataset("b")])).converge()
        assert "warehouse.d.s.x.rows" in synced.standin.state()["cases"]
        synced.apply(dataset_event(5, dataset("x", symlinks=symlinks("b")))).converge()
        assert set(synced.entities("table")) == {"warehouse.d.s.b"}
        assert len(synced.standin.state()["results"]["warehouse.d.s.b.rows"]) == 1
        assert synced.quiet() == {}


@pytest.mark.parametrize("late", "abcdef")
def test_what_leads_out_of_one_that_waited_leads_out_of_the_other(late: str) -> None:
    """Nothing stood for it before, so nothing moves; what waited for it is looked at all the same."""
    with Synced() as synced:
        reads = run_event("FAIL", 5, run=2, job="read", inputs=[dataset(late)])
        synced.apply(run_event(run=3, job="read"), reads, run_event(run=4, job="fill", outputs=[dataset("new")]))
        synced.converge()
        assert set(synced.edges()) == {("runs.fill", f"{W}new")}
        synced.apply(make.dataset_event(9, dataset(late, symlinks=symlinks("new")))).converge()
        assert (f"{W}new", "runs.read") in synced.edges()
        assert_as_modelled(synced)
