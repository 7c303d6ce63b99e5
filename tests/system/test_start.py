"""Starting on an incomplete, newer or foreign store."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bridge.store.migrations import HEAD
from bridge.store.schema import upgrade_sqlite
from bridge.store.sqlite import SqliteDatabase
from bridge.store.writer import Writer
from tests import factories as make
from tests.stores import Store
from tests.system.service import (
    canonical_export,
    expected_export,
    inject_fault,
    new_store,
    run,
    stored_payloads,
    write_events,
)

_EXIT_STORE = 4
_EXIT_DAMAGED = 65
_MAX_KILLS = 40
_EVENTS = [make.run_event(run=i, outputs=[make.dataset(f"d{i}")]) for i in range(3)]


@pytest.mark.system("strace")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("call", "factor"), [("fdatasync", 1), ("pwrite64", 4)])
def test_killed_first_start_is_completed_by_next_start(tmp_path: Path, call: str, factor: int) -> None:
    """Every flush is tested; of the many writes, growing steps cover every phase."""
    kills, number = 0, 0
    while kills < _MAX_KILLS:
        number = number * factor + 1
        folder = tmp_path / f"{number}"
        folder.mkdir()
        store, file = folder / "store.db", write_events(folder / "events.ndjson", _EVENTS)
        code, output = run(store, "ingest", str(file), wrap=inject_fault(f"{call}:signal=KILL:when={number}"))
        if code == 0:
            break
        assert code == -9, output
        kills += 1
        upgrade_sqlite(store)
        assert canonical_export(store) == expected_export(stored_payloads(store))
        with Store() as reference, closing(SqliteDatabase.for_writing(store)) as connection:
            Writer(connection).write([reference.read(event) for event in _EVENTS])
            assert canonical_export(store) == reference.apply(*_EVENTS).export()
    else:
        pytest.fail("the first start never completed")
    print(f"{kills} kills")
    assert kills >= 3


@pytest.mark.system
@pytest.mark.parametrize(
    "arguments", [["serve"], ["ingest", "/dev/null"], ["export", "--canonical"]], ids=lambda w: w[0]
)
def test_newer_store_is_rejected_and_not_modified(tmp_path: Path, arguments: list[str]) -> None:
    store = new_store(tmp_path)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = store.read_bytes()
    code, output = run(store, *arguments)
    assert code == _EXIT_STORE, output
    assert "9999" in output
    assert HEAD in output
    assert "Traceback" not in output
    assert store.read_bytes() == before


@pytest.mark.system
def test_foreign_file_is_rejected_and_not_modified(tmp_path: Path) -> None:
    notes, database = tmp_path / "notes.txt", tmp_path / "other.db"
    notes.write_text("these are notes, and no database at all\n" * 100)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE somebody (elses)")
    for path, expected_code in ((notes, _EXIT_DAMAGED), (database, _EXIT_STORE)):
        before = path.read_bytes()
        code, output = run(path, "export", "--canonical")
        assert code == expected_code, output
        assert "Traceback" not in output
        assert path.read_bytes() == before
