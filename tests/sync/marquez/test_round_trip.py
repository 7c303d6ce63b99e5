"""A second bridge that imports from Marquez reaches the state of the first one."""

from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.intake.marquez_log import MarquezLogSource
from bridge.store.canonical_export import export_canonical
from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient
from connectors.session import ThrottledSession
from tests.factories import Json
from tests.laws.strategies import run_events
from tests.laws.test_convergence import CAPTURED, captured
from tests.stores import Store
from tests.sync.marquez.marquez_harness import MarquezHarness

_NOW = 2_000_000_000_000_000


def export(store: Store) -> list[bytes]:
    """Export the canonical state without times."""
    return list(export_canonical(store.db, "default", without_times=True))


def import_from(url: str, store: Store) -> list[bytes]:
    """Import the event log of a server and export the canonical state."""
    with closing(
        MarquezLogSource(MarquezClient(ThrottledSession(HttpSession(url))), store.reader, store.writer, lambda: _NOW)
    ) as source:
        source.poll()
    return export(store)


@pytest.mark.parametrize("name", CAPTURED)
def test_recorded_runs(name: str) -> None:
    with MarquezHarness() as first, Store() as second:
        first.apply(*captured(name)).converge()
        assert import_from(first.url, second) == export(first.store)
        assert [difference for batch in first.reconciler.compare() for difference in batch.differences] == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(run_events, min_size=1, max_size=4), min_size=1, max_size=3))
def test_generated_runs_in_any_grouping(groups: list[list[Json]]) -> None:
    with MarquezHarness() as first, Store() as second:
        for group in groups:
            first.apply(*group).converge()
        assert import_from(first.url, second) == export(first.store)
