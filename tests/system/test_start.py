"""Starting on what an earlier process left behind: a half-made store, a newer one, something else."""

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
from tests.system.service import expected_export, exported, injecting, kept, new_store, run, write_events

_EXIT_STORE = 4
_MAX_KILLS = 40
_EVENTS = [make.run_event(run=i, outputs=[make.dataset(f"d{i}")]) for i in range(3)]


@pytest.mark.system("strace")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("call", "factor"), [("fdatasync", 1), ("pwrite64", 4)])
def test_a_first_start_killed_anywhere_is_finished_by_the_next(tmp_path: Path, call: str, factor: int) -> None:
    """Flushes are few: each is tried. Writes are many: growing steps reach into every stage."""
    kills, number = 0, 0
    while kills < _MAX_KILLS:
        number = number * factor + 1
        folder = tmp_path / f"{number}"
        folder.mkdir()
        store, file = folder / "store.db", write_events(folder / "events.ndjson", _EVENTS)
        code, said = run(store, "ingest", str(file), wrap=injecting(f"{call}:signal=KILL:when={number}"))
        if code == 0:
            break
        assert code == -9, said
        kills += 1
        upgrade_sqlite(store)
        assert exported(store) == expected_export(kept(store))
        with Store() as reference, closing(SqliteDatabase.for_writing(store)) as connection:
            Writer(connection).write([reference.read(event) for event in _EVENTS])
            assert exported(store) == reference.apply(*_EVENTS).export()
    else:
        pytest.fail("the first start has never completed")
    print(f"{kills} kills")
    assert kills >= 3


@pytest.mark.system
@pytest.mark.parametrize("words", [["serve"], ["ingest", "/dev/null"], ["export", "--canonical"]], ids=lambda w: w[0])
def test_a_store_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path, words: list[str]) -> None:
    store = new_store(tmp_path)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = store.read_bytes()
    code, said = run(store, *words)
    assert code == _EXIT_STORE, said
    assert "9999" in said
    assert HEAD in said
    assert "Traceback" not in said
    assert store.read_bytes() == before


@pytest.mark.system
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    notes, database = tmp_path / "notes.txt", tmp_path / "other.db"
    notes.write_text("these are notes, and no database at all\n" * 100)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE somebody (elses)")
    for path in (notes, database):
        before = path.read_bytes()
        code, said = run(path, "export", "--canonical")
        assert code == _EXIT_STORE, said
        assert "Traceback" not in said
        assert path.read_bytes() == before
