"""The write-ahead log is moved beside the writer; what cannot be trusted any more ends the writing."""

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


def in_the_file(path: Path) -> bool:
    """Look past the log, as a copy of the file alone would."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        return bool(connection.execute("SELECT count(*) FROM store_meta WHERE name = 'k'").fetchone()[0])


def test_what_was_committed_comes_into_the_file_while_the_writer_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    upgrade_sqlite(path)
    with closing(SqliteDatabase.for_writing(path)) as db:
        with db.transaction():
            db.execute(SET)
        until(lambda: in_the_file(path), "the log to be moved")


@pytest.mark.parametrize(("code", "goes_on"), [(sqlite3.SQLITE_IOERR, True), (sqlite3.SQLITE_CORRUPT, False)])
def test_a_disk_that_fails_is_tried_again_and_a_damaged_file_ends_the_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, goes_on: bool
) -> None:
    path = tmp_path / "store.db"
    upgrade_sqlite(path)
    tries: list[int] = []

    class Failing:
        """A connection that cannot move the log."""

        def __init__(self, *_: object, **__: object) -> None: ...

        def execute(self, _: str) -> None:
            tries.append(1)
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = code
            raise error

        def close(self) -> None: ...

    db = SqliteDatabase.for_writing(path)
    monkeypatch.setattr(checkpointer.sqlite3, "connect", Failing)
    with closing(SqliteDatabase(db.connection, Checkpointer(path, lambda _: StorageFailure("damaged")))) as failing:
        failing.execute(SET)
        failing._checkpointer.notify_commit()  # type: ignore[union-attr]
        if goes_on:
            until(lambda: len(tries) > 2, "another try")
            failing._checkpointer.notify_commit()  # type: ignore[union-attr]
        else:
            until(lambda: failing._checkpointer._failure is not None, "the failure")  # type: ignore[union-attr]
            with pytest.raises(StorageFailure, match="damaged"), failing.transaction():
                pass
    db._checkpointer.close()  # type: ignore[union-attr]
