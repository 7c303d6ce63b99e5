"""What one bridge tells Marquez tells another bridge all that the first one knows."""

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
from tests.sync.marquez.marquez_harness import MarquezSynced

_NOW = 2_000_000_000_000_000


def known(store: Store) -> list[bytes]:
    """Give what a store knows, but for when it was said or happened."""
    return list(export_canonical(store.db, "default", without_times=True))


def pulled(url: str, store: Store) -> list[bytes]:
    """Take all that a server has heard; gives what is known then."""
    with closing(
        MarquezLogSource(MarquezClient(ThrottledSession(HttpSession(url))), store.reader, store.writer, lambda: _NOW)
    ) as log:
        log.poll()
    return known(store)


@pytest.mark.parametrize("name", CAPTURED)
def test_of_real_runs(name: str) -> None:
    with MarquezSynced() as first, Store() as second:
        first.apply(*captured(name)).converge()
        assert pulled(first.url, second) == known(first.store)
        assert [one for bit in first.reconciler.compare() for one in bit.differences] == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(run_events, min_size=1, max_size=4), min_size=1, max_size=3))
def test_of_any_runs_however_they_come(groups: list[list[Json]]) -> None:
    with MarquezSynced() as first, Store() as second:
        for group in groups:
            first.apply(*group).converge()
        assert pulled(first.url, second) == known(first.store)
