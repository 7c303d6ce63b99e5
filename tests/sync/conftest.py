from collections.abc import Iterator

import pytest

from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.other_writers import Person


@pytest.fixture
def synced() -> Iterator[OpenMetadataHarness]:
    """An empty store and an empty OpenMetadata, compared every hour."""
    harness = OpenMetadataHarness()
    harness.compare_seconds = 3_600.0
    with harness:
        yield harness


@pytest.fixture
def person(synced: OpenMetadataHarness) -> Person:
    return Person(synced.standin)
