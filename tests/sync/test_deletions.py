"""Deletion of dropped and renamed tables that the bridge created, with a limit."""

from collections.abc import Iterator

import pytest

from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import DELETION
from tests.factories import Json, columns, dataset, facet, field, run_event, schema, transformation
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness
from tests.sync.other_writers import Person

A, T, U = "warehouse.d.s.a", "warehouse.d.s.t", "warehouse.d.s.u"


def copy_run(second: float, source: str, target: str, run: int = 1) -> Json:
    lines = columns({"k": [field(source, "k", transformation())]})
    return run_event(
        second=second,
        run=run,
        job=f"make {target}",
        inputs=[dataset(source, schema=schema("k"))],
        outputs=[dataset(target, schema=schema("k"), columnLineage=lines)],
    )


def lifecycle_run(second: float, name: str, change: str, run: int = 9, **attributes: object) -> Json:
    return run_event(
        second=second,
        run=run,
        job="drop",
        outputs=[dataset(name, lifecycleStateChange=facet(lifecycleStateChange=change, **attributes))],
    )


@pytest.fixture
def synced() -> Iterator[OpenMetadataHarness]:
    with OpenMetadataHarness() as harness:
        harness.apply(copy_run(0, "a", "t", 1), copy_run(1, "t", "u", 2)).converge()
        yield harness


def test_dropped_table_is_deleted_and_restored_when_written_again(synced: OpenMetadataHarness) -> None:
    assert set(synced.edges()) == {(A, T), (T, U)}
    synced.apply(lifecycle_run(5, "t", "DROP")).converge()
    assert set(synced.entities("table")) == {A, U}
    assert {pair for pair in synced.edges() if T in pair} == set()
    assert synced.calls_of_next_round() == {}
    synced.apply(copy_run(9, "a", "t", 12)).converge()
    assert set(synced.entities("table")) == {A, T, U}
    assert (A, T) in synced.edges()


def test_renamed_table_is_replaced(synced: OpenMetadataHarness) -> None:
    previous = {"name": "t", "namespace": "db"}
    synced.apply(lifecycle_run(5, "n", "RENAME", previousIdentifier=previous)).converge()
    assert T not in synced.entities("table")
    assert "warehouse.d.s.n" in synced.entities("table")


def test_keeps_tables_created_by_other_connectors() -> None:
    with OpenMetadataHarness() as synced:
        Person(synced.standin).put_table("t", "k")
        synced.apply(copy_run(0, "a", "t", 1)).converge()
        synced.apply(lifecycle_run(5, "t", "DROP")).converge()
        assert T in synced.entities("table")
        assert synced.edges() == {}


def test_deletions_above_limit_wait_for_approval() -> None:
    names = [f"x{number}" for number in range(5)]
    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, max_deletions=3)) as synced:
        synced.apply(*(copy_run(number, "a", name, number + 1) for number, name in enumerate(names))).converge()
        synced.apply(*(lifecycle_run(20 + number, name, "DROP", 30 + number) for number, name in enumerate(names)))
        for _ in range(3):
            synced.round()
            synced.clock.wait(700)
        assert len(synced.entities("table")) == 6
        (reason,) = {item.reason for item in synced.items.pending(DELETION)}
        assert reason == (
            "5 deletions pending, openmetadata.most_deletions is 3: check `sync --dry-run`, then run"
            " `sync --once --allow-delete 5`"
        )
        synced.connect(OpenMetadataOptions(LAYOUT, max_deletions=5))
        synced.converge()
        assert set(synced.entities("table")) == {A}
