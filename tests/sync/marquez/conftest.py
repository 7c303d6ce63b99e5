from collections.abc import Iterator

import pytest

from tests.sync.marquez.marquez_harness import MarquezHarness


@pytest.fixture
def synced() -> Iterator[MarquezHarness]:
    """An empty store and an empty Marquez, compared every hour."""
    harness = MarquezHarness()
    harness.compare_seconds = 3_600.0
    with harness:
        yield harness
