"""Other settings, or another server: everything is looked at anew, and nothing is taken for done that is not."""

from collections.abc import Iterator

import httpx
import pytest

from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests.factories import columns, dataset, facet, field, run_event, schema, transformation
from tests.standins.openmetadata import OpenMetadata, error
from tests.sync import model
from tests.sync.openmetadata_harness import LAYOUT, Synced

ELSEWHERE = ServiceLayout((ServiceMapping("db", "moved", "d", "s"), ServiceMapping("jobs", "runs")))


@pytest.fixture
def synced() -> Iterator[Synced]:
    with Synced() as made:
        lines = columns({"k": [field("a", "k", transformation())]})
        made.apply(
            run_event(
                inputs=[dataset("a", schema=schema("k"))],
                outputs=[dataset("t", schema=schema("k"), columnLineage=lines, documentation=facet(description="T"))],
            )
        ).converge()
        yield made


def test_a_changed_mapping_moves_what_it_concerns(synced: Synced) -> None:
    synced.connect(OpenMetadataOptions(ELSEWHERE))
    planned = {(step.action, step.name) for step in synced.reconciler.plan()}
    assert planned >= {("create", "moved"), ("create", "moved.d.s.a"), ("create", "moved.d.s.t")}
    assert synced.reconciler.enable()
    synced.converge()
    assert set(synced.entities("table")) == {"moved.d.s.a", "moved.d.s.t"}
    assert set(synced.edges()) == {("moved.d.s.a", "moved.d.s.t")}
    assert synced.quiet() == {}


def test_what_was_left_out_is_sent_once_it_is_wanted(synced: Synced) -> None:
    synced.connect(OpenMetadataOptions(LAYOUT, track_lineage=False))
    assert synced.reconciler.enable()
    synced.converge()
    synced.connect(OpenMetadataOptions(LAYOUT, create="nothing"))
    synced.reconciler.enable()
    synced.apply(run_event(second=9, run=9, outputs=[dataset("n")])).converge()
    assert len(synced.items_by(Outcome.UNRESOLVED)) > 0
    synced.connect(OpenMetadataOptions(LAYOUT))
    assert synced.reconciler.enable()
    synced.converge()
    assert synced.items_by(Outcome.UNRESOLVED) == []
    assert "warehouse.d.s.n" in synced.entities("table")


def test_the_same_settings_change_nothing(synced: Synced) -> None:
    synced.connect(OpenMetadataOptions(LAYOUT, concurrency=3, batch_size=7))
    assert not synced.reconciler.enable()
    assert synced.quiet() == {}


def test_another_server_gets_everything(synced: Synced) -> None:
    with OpenMetadata() as other:
        synced.connect(url=other.url, token=other.bot_token)
        assert synced.reconciler.enable()
        synced.converge()
        there = model.seen(other)
        assert there == model.wanted(synced.store, waits=True, there=there.tables)
        assert synced.quiet() == {}
        synced.target.close()


def test_something_that_is_no_openmetadata_makes_nothing_dead(synced: Synced) -> None:
    synced.apply(run_event(second=9, run=9, outputs=[dataset("n")]))
    synced.connect(url=f"{synced.standin.url}/nonsense")
    synced.reconciler.enable()
    synced.round()
    assert "is it OpenMetadata?" in (synced.reconciler.breaker.pause_reason or "")
    assert synced.items_by(Outcome.DEAD) == []
    assert httpx.get(f"{synced.standin.url}/nonsense/api/v1/system/version").status_code == 404


def test_a_server_that_was_busy_is_not_held_against_what_it_fails_at_later(synced: Synced) -> None:
    synced.apply(run_event(second=9, run=9, outputs=[dataset("n")]))
    for _ in range(5):
        synced.standin.faults.next(error(429, retry_after=5), method="PUT", path="/tables/bulk")
        synced.round()
        synced.clock.wait(700)
    synced.standin.faults.next(error(500), method="PUT", path="/tables/bulk", times=2)
    synced.round()
    assert synced.items_by(Outcome.DEAD) == []
    synced.converge()
    assert "warehouse.d.s.n" in synced.entities("table")
