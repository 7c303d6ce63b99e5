"""Commands asked in this process, on a store of the events that a test names, and the files that a test writes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.intake.follower_harness import Following
from tests.stores import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.ndjson"


@pytest.fixture
def following(store: Store, path: Path) -> Iterator[Following]:
    made = Following(store, path)
    yield made
    made.close()


@pytest.fixture
def folder(store: Store, tmp_path: Path) -> Iterator[Following]:
    made = Following(store, tmp_path)
    yield made
    made.close()
