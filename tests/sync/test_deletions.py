"""What was dropped or renamed goes from OpenMetadata, where we made it; too much of it waits for a person."""

from collections.abc import Iterator

import pytest

from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import DELETION
from tests.factories import Json, columns, dataset, facet, field, run_event, schema, transformation
from tests.sync.openmetadata_harness import LAYOUT, Synced
from tests.sync.other_writers import Person

A, T, U = "warehouse.d.s.a", "warehouse.d.s.t", "warehouse.d.s.u"


def copied(second: float, source: str, target: str, run: int = 1) -> Json:
    lines = columns({"k": [field(source, "k", transformation())]})
    return run_event(
        second=second,
        run=run,
        job=f"make {target}",
        inputs=[dataset(source, schema=schema("k"))],
        outputs=[dataset(target, schema=schema("k"), columnLineage=lines)],
    )


def changed(second: float, name: str, change: str, run: int = 9, **more: object) -> Json:
    return run_event(
        second=second,
        run=run,
        job="drop",
        outputs=[dataset(name, lifecycleStateChange=facet(lifecycleStateChange=change, **more))],
    )


@pytest.fixture
def synced() -> Iterator[Synced]:
    with Synced() as made:
        made.apply(copied(0, "a", "t", 1), copied(1, "t", "u", 2)).converge()
        yield made


def test_a_dropped_table_goes_with_its_edges_and_comes_back_when_it_is_written(synced: Synced) -> None:
    assert set(synced.edges()) == {(A, T), (T, U)}
    synced.apply(changed(5, "t", "DROP")).converge()
    assert set(synced.entities("table")) == {A, U}
    assert {pair for pair in synced.edges() if T in pair} == set()
    assert synced.quiet() == {}
    synced.apply(copied(9, "a", "t", 12)).converge()
    assert set(synced.entities("table")) == {A, T, U}
    assert (A, T) in synced.edges()


def test_a_renamed_table_goes_and_the_other_comes(synced: Synced) -> None:
    before = {"name": "t", "namespace": "db"}
    synced.apply(changed(5, "n", "RENAME", previousIdentifier=before)).converge()
    assert T not in synced.entities("table")
    assert "warehouse.d.s.n" in synced.entities("table")


def test_what_others_made_stays() -> None:
    with Synced() as synced:
        Person(synced.standin).put_table("t", "k")
        synced.apply(copied(0, "a", "t", 1)).converge()
        synced.apply(changed(5, "t", "DROP")).converge()
        assert T in synced.entities("table")
        assert synced.edges() == {}


def test_more_than_may_be_deleted_waits_for_a_person() -> None:
    names = [f"x{number}" for number in range(5)]
    with Synced(OpenMetadataOptions(LAYOUT, max_deletions=3)) as synced:
        synced.apply(*(copied(number, "a", name, number + 1) for number, name in enumerate(names))).converge()
        synced.apply(*(changed(20 + number, name, "DROP", 30 + number) for number, name in enumerate(names)))
        for _ in range(3):
            synced.round()
            synced.clock.wait(700)
        assert len(synced.entities("table")) == 6
        (reason,) = {item.reason for item in synced.items.pending(DELETION)}
        assert reason == (
            "5 deletions are pending, openmetadata.most_deletions is 3: check `sync --dry-run`, then run"
            " `sync --once --allow-delete 5`"
        )
        synced.connect(OpenMetadataOptions(LAYOUT, max_deletions=5))
        synced.converge()
        assert set(synced.entities("table")) == {A}
