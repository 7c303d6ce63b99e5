"""Changed settings or another server: all items are evaluated again."""

from collections.abc import Iterator

import httpx
import pytest

from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests.factories import columns, dataset, facet, field, run_event, schema, transformation
from tests.standins.openmetadata import OpenMetadata, error
from tests.sync import model
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness

OTHER_LAYOUT = ServiceLayout((ServiceMapping("db", "moved", "d", "s"), ServiceMapping("jobs", "runs")))


@pytest.fixture
def synced() -> Iterator[OpenMetadataHarness]:
    with OpenMetadataHarness() as harness:
        lines = columns({"k": [field("a", "k", transformation())]})
        harness.apply(
            run_event(
                inputs=[dataset("a", schema=schema("k"))],
                outputs=[dataset("t", schema=schema("k"), columnLineage=lines, documentation=facet(description="T"))],
            )
        ).converge()
        yield harness


def test_changed_mapping_moves_entities(synced: OpenMetadataHarness) -> None:
    synced.connect(OpenMetadataOptions(OTHER_LAYOUT))
    planned = {(step.action, step.name) for step in synced.reconciler.plan()}
    assert planned >= {("create", "moved"), ("create", "moved.d.s.a"), ("create", "moved.d.s.t")}
    assert synced.reconciler.enable()
    synced.converge()
    assert set(synced.entities("table")) == {"moved.d.s.a", "moved.d.s.t"}
    assert set(synced.edges()) == {("moved.d.s.a", "moved.d.s.t")}
    assert synced.calls_of_next_round() == {}


def test_sends_items_enabled_by_new_settings(synced: OpenMetadataHarness) -> None:
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


def test_same_settings_cause_no_calls(synced: OpenMetadataHarness) -> None:
    synced.connect(OpenMetadataOptions(LAYOUT, concurrency=3, batch_size=7))
    assert not synced.reconciler.enable()
    assert synced.calls_of_next_round() == {}


def test_other_server_receives_everything(synced: OpenMetadataHarness) -> None:
    with OpenMetadata() as other_server:
        synced.connect(url=other_server.url, token=other_server.bot_token)
        assert synced.reconciler.enable()
        synced.converge()
        actual = model.actual_state(other_server)
        assert actual == model.expected_state(
            synced.store, register_on_completion=True, existing_tables=actual.tables
        )
        assert synced.calls_of_next_round() == {}
        synced.target.close()


def test_wrong_url_creates_no_dead_letters(synced: OpenMetadataHarness) -> None:
    synced.apply(run_event(second=9, run=9, outputs=[dataset("n")]))
    synced.connect(url=f"{synced.standin.url}/nonsense")
    synced.reconciler.enable()
    synced.round()
    assert "is it OpenMetadata?" in (synced.reconciler.breaker.pause_reason or "")
    assert synced.items_by(Outcome.DEAD) == []
    assert httpx.get(f"{synced.standin.url}/nonsense/api/v1/system/version").status_code == 404


def test_throttled_attempts_do_not_count_as_failures(synced: OpenMetadataHarness) -> None:
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
