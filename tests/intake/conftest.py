"""Followers of one file and of a folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.intake.follower_harness import FollowerHarness
from tests.stores import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.ndjson"


@pytest.fixture
def follower(store: Store, path: Path) -> Iterator[FollowerHarness]:
    harness = FollowerHarness(store, path)
    yield harness
    harness.close()


@pytest.fixture
def folder_follower(store: Store, tmp_path: Path) -> Iterator[FollowerHarness]:
    harness = FollowerHarness(store, tmp_path)
    yield harness
    harness.close()
