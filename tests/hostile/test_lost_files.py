"""The store file is deleted, moved, replaced or truncated under the running service: no event is acknowledged."""

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bridge.cli.main import app as command
from bridge.errors import StoreLost
from bridge.store.file_guard import StoreFileGuard
from bridge.store.sqlite import SqliteDatabase
from tests.api.service import RunningService, create_store_file, settings_for
from tests.factories import dataset, run_event


def store_file(running: RunningService) -> Path:
    return Path(running.settings.store.url.removeprefix("sqlite:///"))


def wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def replace(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "deleted": (Path.unlink, "was deleted, moved or replaced"),
    "moved": (lambda path: path.rename(path.with_suffix(".old")), "was deleted, moved or replaced"),
    "folder moved": (lambda path: path.parent.rename(path.parent.with_name("old")), "was deleted, moved or replaced"),
    "replaced": (replace, "was deleted, moved or replaced"),
    "truncated": (lambda path: os.truncate(path, 8192), "was truncated from"),
    "log deleted": (lambda path: wal(path).unlink(), "write-ahead log .* was deleted"),
    "log emptied": (lambda path: os.truncate(wal(path), 0), "write-ahead log .* was truncated"),
    "log truncated": (lambda path: os.truncate(wal(path), 4096), "write-ahead log .* was truncated from"),
    "log overwritten": (lambda path: wal(path).write_bytes(b"x" * 100_000), "write-ahead log .* was truncated"),
}


@pytest.mark.parametrize(("damage", "reason"), DAMAGES.values(), ids=DAMAGES)
def test_no_event_is_acknowledged_after_the_file_is_lost(
    tmp_path: Path, damage: Callable[[Path], object], reason: str
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    with RunningService(settings_for(folder)) as running:
        for number in range(5):
            assert running.post(run_event(run=number)).status_code == 201
        damage(store_file(running))
        response = running.post(run_event(run=9))
        assert response.status_code == 503
        assert re.search(reason, response.text)
        ready = running.get("/readyz")
        assert ready.status_code == 503
        assert re.search(reason, ready.text)


def test_readiness_notices_a_lost_file_without_any_event(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path)) as running:
        assert running.post(run_event()).status_code == 201
        store_file(running).unlink()
        assert running.get("/readyz").status_code == 503


@pytest.mark.parametrize("name", ["deleted", "moved", "replaced"])
def test_acknowledged_events_are_saved_for_import(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    with RunningService(settings_for(folder)) as running:
        for number in range(5):
            assert running.post(run_event(run=number, outputs=[dataset(f"t{number}")])).status_code == 201
        assert running.post(b"{").status_code == 400
        DAMAGES[name][0](store_file(running))
        assert running.post(run_event(run=9)).status_code == 503
    (recovered,) = folder.glob("store.db.recovered-*.ndjson")
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    path = create_store_file(fresh)
    run = CliRunner(env={"LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{path}"}).invoke
    assert run(command, ["import", str(recovered)]).exit_code == 0
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name FROM ol_dataset ORDER BY name").fetchall()
        assert rows == [(f"t{number}",) for number in range(5)]
        assert connection.execute("SELECT count(*) FROM rejected_event").fetchone() == (1,)


def test_service_recovers_when_the_file_is_moved_back(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path)) as running:
        assert running.post(run_event(run=1)).status_code == 201
        path = store_file(running)
        path.rename(path.with_suffix(".old"))
        assert running.post(run_event(run=2)).status_code == 503
        assert running.committer._recovery is not None
        running.run(running.committer._recovery)
        path.with_suffix(".old").rename(path)
        assert running.post(run_event(run=2)).status_code == 201
        assert running.get("/readyz").status_code == 200
        assert running.rows("SELECT count(*) FROM run_event") == [(2,)]


def test_checkpoints_and_other_writers_are_no_loss(tmp_path: Path) -> None:
    path = create_store_file(tmp_path)
    with closing(SqliteDatabase.for_writing(path)) as db, closing(sqlite3.connect(path)) as other:
        for number in range(200):
            with db.transaction():
                db.execute("INSERT INTO store_meta VALUES (?1, ?2)", f"k{number}", "x" * 10_000)
            with other:
                other.execute("INSERT INTO store_meta VALUES (?, 'y')", (f"o{number}",))
            if number % 20 == 0:
                other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        db.check_files()


def test_log_is_truncated_when_no_reader_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.store.checkpointer._MAX_WAL_BYTES", 1 << 20)
    path = create_store_file(tmp_path)
    with closing(SqliteDatabase.for_writing(path)) as db:
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM store_meta").fetchall()
            for number in range(50):
                with db.transaction():
                    db.execute("INSERT INTO store_meta VALUES (?1, ?2)", f"k{number}", "x" * 100_000)
            assert wal(path).stat().st_size > 1 << 20
        deadline = time.monotonic() + 20
        while wal(path).stat().st_size > 1 << 20:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with db.transaction():
            db.execute("INSERT INTO store_meta VALUES ('last', '')")


def test_missing_file_is_no_loss_before_it_exists(tmp_path: Path) -> None:
    guard = StoreFileGuard(tmp_path / "store.db")
    guard.check()
    (tmp_path / "store.db").write_bytes(b"x" * 10)
    guard.check()
    os.truncate(tmp_path / "store.db", 5)
    with pytest.raises(StoreLost, match="truncated from 10 to 5 bytes"):
        guard.check()


def test_truncation_by_the_checkpointer_is_no_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.store.checkpointer._MAX_WAL_BYTES", 1 << 16)
    monkeypatch.setattr("bridge.store.checkpointer._PAUSE_SECONDS", 0.0005)
    with closing(SqliteDatabase.for_writing(create_store_file(tmp_path))) as db:
        db.set_lock_timeout(5)
        for number in range(5_000):
            with db.transaction():
                db.execute("INSERT OR REPLACE INTO store_meta VALUES (?1, ?2)", f"k{number % 50}", "x" * 20_000)
