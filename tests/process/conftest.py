"""Fixtures of the process tests."""

from pathlib import Path

import pytest

from tests.process.process_lake import ProcessHarness
from tests.stores import Store


@pytest.fixture
def harness(tmp_path: Path, sqlite_store: Store) -> ProcessHarness:
    return ProcessHarness(tmp_path, sqlite_store)
