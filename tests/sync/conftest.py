"""A store that is kept alike with a stand-in, and a person who works there."""

from collections.abc import Iterator

import pytest

from tests.sync.openmetadata_harness import Synced
from tests.sync.other_writers import Person


@pytest.fixture
def synced() -> Iterator[Synced]:
    """Nothing is in either yet; they are compared once an hour."""
    made = Synced()
    made.compare_seconds = 3_600.0
    with made:
        yield made


@pytest.fixture
def person(synced: Synced) -> Person:
    return Person(synced.standin)
