"""Audits the stores of every system test: all received events are accounted for."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bridge.store.intake_audit import audit_intake
from bridge.store.migrations import HEAD
from bridge.store.schema import sqlite_schema_version
from bridge.store.sqlite import SqliteDatabase
from mappers.errors import LineageBridgeError


@pytest.fixture(autouse=True)
def _audit_stores(tmp_path: Path) -> Iterator[None]:
    """Audit every readable store that the test created."""
    yield
    for path in tmp_path.rglob("*.db"):
        if _is_store(path):
            with closing(SqliteDatabase.for_reading(path)) as db:
                assert audit_intake(db, "default").discrepancies == [], path


def _is_store(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path)) as connection:
            return sqlite_schema_version(connection) == HEAD
    except (sqlite3.DatabaseError, LineageBridgeError):
        return False
