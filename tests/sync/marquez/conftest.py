"""A store and a Marquez that are kept alike."""

from collections.abc import Iterator

import pytest

from tests.sync.marquez.marquez_harness import MarquezSynced


@pytest.fixture
def synced() -> Iterator[MarquezSynced]:
    """Nothing is in either yet; they are compared once an hour."""
    made = MarquezSynced()
    made.compare_seconds = 3_600.0
    with made:
        yield made
