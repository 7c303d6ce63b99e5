"""Workshops for the tests of processes."""

from pathlib import Path

import pytest

from tests.process.process_lake import Workshop
from tests.stores import Store


@pytest.fixture
def workshop(tmp_path: Path, sqlite_store: Store) -> Workshop:
    return Workshop(tmp_path, sqlite_store)
