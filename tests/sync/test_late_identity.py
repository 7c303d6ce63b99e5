"""Identity learned after the push: datasets that turn out to be aliases, actions whose parent job is reported later."""

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
from tests.sync.crashes import Crash
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.other_writers import Person

W = "warehouse.d.s."
SEPARATE_EVENTS = [
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
ALIAS_EVENT = make.dataset_event(9, dataset("old", symlinks=symlinks("new")))
ACTION_EVENT = run_event(
    run=3,
    job="app.step",
    job_facets={"jobType": spark_type()},
    inputs=[dataset("x", schema=schema("k"))],
    outputs=[dataset("t", schema=schema("k"), columnLineage=columns({"k": [field("x", "k", transformation())]}))],
)
PARENT_EVENTS = [
    run_event("RUNNING", 8, run=3, job="app.step", run_facets={"parent": parent(2, "app")}),
    run_event("START", 8, run=2, job="app", run_facets={"parent": parent(1, "dag")},
              job_facets={"jobType": spark_type("APPLICATION")}),
]  # fmt: skip


def assert_matches_store(synced: OpenMetadataHarness) -> None:
    actual = model.actual_state(synced.standin)
    assert actual == model.expected_state(synced.store, register_on_completion=True, existing_tables=actual.tables)
    descriptions = {name: table.get("description") for name, table in synced.entities("table").items()}
    assert descriptions == model.expected_descriptions(synced.store, existing_tables=actual.tables)
    assert synced.calls_of_next_round() == {}


def is_deleted(synced: OpenMetadataHarness, type_: str, name: str) -> bool:
    return synced.standin.state()["entities"][type_, name]["deleted"]


def test_edges_move_to_preferred_entity_and_other_is_soft_deleted() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*SEPARATE_EVENTS).converge()
        assert set(synced.edges()) == {(W + "x", W + "old"), (W + "old", W + "y"), (W + "new", W + "z")}
        synced.apply(ALIAS_EVENT).converge()
        assert set(synced.edges()) == {(W + "x", W + "new"), (W + "new", W + "y"), (W + "new", W + "z")}
        moved = synced.edges()[W + "x", W + "new"]
        assert moved["sqlQuery"] == "INSERT INTO old"
        assert [line["toColumn"] for line in moved["columnsLineage"]] == [W + "new.k"]
        assert is_deleted(synced, "table", W + "old")
        assert_matches_store(synced)


def test_edges_move_to_preferred_entity_created_later() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*SEPARATE_EVENTS[:2]).converge()
        synced.apply(ALIAS_EVENT).converge()
        assert is_deleted(synced, "table", W + "old")
        assert set(synced.edges()) == {(W + "x", W + "new"), (W + "new", W + "y")}
        assert_matches_store(synced)


def test_keeps_redundant_table_of_other_connector() -> None:
    with OpenMetadataHarness() as synced:
        Person(synced.standin).put_table("old", "k", description="by hand")
        synced.apply(*SEPARATE_EVENTS).converge()
        synced.apply(ALIAS_EVENT).converge()
        assert not is_deleted(synced, "table", W + "old")
        assert synced.entities("table")[W + "old"]["description"] == "by hand"
        assert (W + "x", W + "new") in synced.edges()
        assert (W + "x", W + "old") not in synced.edges()
        assert synced.calls_of_next_round() == {}


def test_prefers_entity_of_other_connector_over_own_preferred_name() -> None:
    """The entity of the other connector carries owners, tags and columns; ours is deleted."""
    with OpenMetadataHarness() as synced:
        synced.apply(SEPARATE_EVENTS[0]).converge()
        Person(synced.standin).put_table("new", "k")
        synced.apply(ALIAS_EVENT).converge()
        assert is_deleted(synced, "table", W + "old")
        assert set(synced.edges()) == {(W + "x", W + "new")}


def test_removed_alias_restores_separate_entities() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*SEPARATE_EVENTS, ALIAS_EVENT).converge()
        synced.apply(make.dataset_event(20, dataset("old", symlinks=make.DELETED))).converge()
        assert not is_deleted(synced, "table", W + "old")
        assert set(synced.edges()) == {(W + "x", W + "old"), (W + "old", W + "y"), (W + "new", W + "z")}
        assert_matches_store(synced)


def test_deletes_action_pipeline_once_parent_is_known() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(ACTION_EVENT).converge()
        assert set(synced.entities("pipeline")) == {'runs."app.step"'}
        synced.apply(*PARENT_EVENTS).converge()
        assert set(synced.entities("pipeline")) == {"runs.dag"}
        assert is_deleted(synced, "pipeline", 'runs."app.step"')
        assert synced.edges()[W + "x", W + "t"]["pipeline"]["fullyQualifiedName"] == "runs.dag"
        assert_matches_store(synced)


def test_keeps_action_pipeline_of_other_connector() -> None:
    with OpenMetadataHarness() as synced:
        Person(synced.standin).put_pipeline("app.step", "runs")
        synced.apply(ACTION_EVENT).converge()
        synced.apply(*PARENT_EVENTS).converge()
        assert set(synced.entities("pipeline")) == {"runs.dag", 'runs."app.step"'}
        assert synced.edges()[W + "x", W + "t"]["pipeline"]["fullyQualifiedName"] == "runs.dag"


def test_task_names_follow_preferred_dataset_names() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(ACTION_EVENT, *PARENT_EVENTS).converge()
        assert [task["name"] for task in synced.entities("pipeline")["runs.dag"]["tasks"]] == ["write t"]
        synced.apply(make.dataset_event(9, dataset("t", symlinks=symlinks("best")))).converge()
        assert [task["name"] for task in synced.entities("pipeline")["runs.dag"]["tasks"]] == ["write best"]
        assert_matches_store(synced)


@pytest.mark.parametrize("fault", [reset(), reset(applied=True), error(503), error(500, applied=True)])
@pytest.mark.parametrize(
    ("before", "after"), [(SEPARATE_EVENTS, [ALIAS_EVENT]), ([ACTION_EVENT], PARENT_EVENTS)], ids=["dataset", "job"]
)
def test_converges_if_any_single_request_fails(before: list[make.Json], after: list[make.Json], fault: Fault) -> None:
    def fail(synced: OpenMetadataHarness, at: int) -> bool:
        first = len(synced.standin.requests)
        synced.standin.faults.plan = lambda number, *_: fault if number == first + at else None
        synced.converge()
        synced.standin.faults.clear()
        return len(synced.standin.requests) < first + at

    assert_always_converges(before, after, fail)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("before", "after"),
    [(SEPARATE_EVENTS[:1], [ALIAS_EVENT]), ([ACTION_EVENT], PARENT_EVENTS)],
    ids=["dataset", "job"],
)
def test_converges_after_crash_before_identity_is_learned(before: list[make.Json], after: list[make.Json]) -> None:
    """An entity that was being created during the crash is deleted once the identity is known."""
    for at in count(1):
        with OpenMetadataHarness() as synced:
            synced.apply(*before)
            finished = crash_at(synced, at)
            synced.apply(*after).converge()
            assert_matches_store(synced)
            assert synced.items.pending(DELETION) == []
        if finished:
            return


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("before", "after"), [(SEPARATE_EVENTS, [ALIAS_EVENT]), ([ACTION_EVENT], PARENT_EVENTS)], ids=["dataset", "job"]
)
def test_converges_after_crash_at_any_step(before: list[make.Json], after: list[make.Json]) -> None:
    assert_always_converges(before, after, crash_at)


def crash_at(synced: OpenMetadataHarness, at: int) -> bool:
    """Crash at a step and restart. True if the sync ended before that step."""
    synced.crash_injector.crash_after(at)
    try:
        synced.converge()
    except Crash:
        return False
    finally:
        synced.connect()
    return True


def assert_always_converges(
    before: list[make.Json], after: list[make.Json], disturb: Callable[[OpenMetadataHarness, int], bool]
) -> None:
    """Disturb the sync at its first step, then at its second, and so on until it finishes before that step."""
    for at in count(1):
        with OpenMetadataHarness() as synced:
            synced.apply(*before).converge()
            synced.apply(*after)
            finished = disturb(synced, at)
            synced.converge()
            assert_matches_store(synced)
            assert synced.items.pending(DELETION) == []
        if finished:
            return
        assert at < 400


def test_deleting_redundant_table_moves_its_tests() -> None:
    checks = {"dataQualityAssertions": facet(assertions=[{"assertion": "rows", "success": True}])}
    with OpenMetadataHarness() as synced:
        synced.apply(run_event(outputs=[dataset("x", **checks)]), run_event(run=2, outputs=[dataset("b")])).converge()
        assert "warehouse.d.s.x.rows" in synced.standin.state()["cases"]
        synced.apply(dataset_event(5, dataset("x", symlinks=symlinks("b")))).converge()
        assert set(synced.entities("table")) == {"warehouse.d.s.b"}
        assert len(synced.standin.state()["results"]["warehouse.d.s.b.rows"]) == 1
        assert synced.calls_of_next_round() == {}


@pytest.mark.parametrize("alias", "abcdef")
def test_edges_of_waiting_alias_move_to_preferred_entity(alias: str) -> None:
    """The alias had no entity, so no edges move; items that wait for it are evaluated again."""
    with OpenMetadataHarness() as synced:
        reads = run_event("FAIL", 5, run=2, job="read", inputs=[dataset(alias)])
        synced.apply(run_event(run=3, job="read"), reads, run_event(run=4, job="fill", outputs=[dataset("new")]))
        synced.converge()
        assert set(synced.edges()) == {("runs.fill", f"{W}new")}
        synced.apply(make.dataset_event(9, dataset(alias, symlinks=symlinks("new")))).converge()
        assert (f"{W}new", "runs.read") in synced.edges()
        assert_matches_store(synced)
