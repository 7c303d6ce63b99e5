"""The SQLite checkpointer: background checkpoints, retries and fatal errors."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bridge.errors import StorageFailure
from bridge.store import checkpointer
from bridge.store.checkpointer import Checkpointer
from bridge.store.schema import upgrade_sqlite
from bridge.store.sqlite import SqliteDatabase
from tests.system.service import until

SET = "INSERT INTO store_meta VALUES ('k', '1') ON CONFLICT (name) DO UPDATE SET value = value || '1'"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpointer, "_PAUSE_SECONDS", 0.001)


def is_in_database_file(path: Path) -> bool:
    """Read the database file without its write-ahead log."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        return bool(connection.execute("SELECT count(*) FROM store_meta WHERE name = 'k'").fetchone()[0])


def test_commits_reach_database_file_while_writer_is_open(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    upgrade_sqlite(path)
    with closing(SqliteDatabase.for_writing(path)) as db:
        with db.transaction():
            db.execute(SET)
        until(lambda: is_in_database_file(path), "a checkpoint")


@pytest.mark.parametrize(("code", "continues"), [(sqlite3.SQLITE_IOERR, True), (sqlite3.SQLITE_CORRUPT, False)])
def test_io_error_is_retried_but_corruption_stops_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, continues: bool
) -> None:
    path = tmp_path / "store.db"
    upgrade_sqlite(path)
    attempts: list[int] = []

    class FailingConnection:
        def __init__(self, *_: object, **__: object) -> None: ...

        def execute(self, _: str) -> None:
            attempts.append(1)
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = code
            raise error

        def close(self) -> None: ...

    db = SqliteDatabase.for_writing(path)
    monkeypatch.setattr(checkpointer.sqlite3, "connect", FailingConnection)
    with closing(SqliteDatabase(db.connection, Checkpointer(path, lambda _: StorageFailure("damaged")))) as failing:
        failing.execute(SET)
        failing._checkpointer.notify_commit()  # type: ignore[union-attr]
        if continues:
            until(lambda: len(attempts) > 2, "another attempt")
            failing._checkpointer.notify_commit()  # type: ignore[union-attr]
        else:
            until(lambda: failing._checkpointer._failure is not None, "the failure")  # type: ignore[union-attr]
            with pytest.raises(StorageFailure, match="damaged"), failing.transaction():
                pass
    db._checkpointer.close()  # type: ignore[union-attr]
