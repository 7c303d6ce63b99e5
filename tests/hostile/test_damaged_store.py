"""A damaged store file is refused at start, with the remedy, before anything is written to it."""

import os
import random
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import DamagedStore, IncompatibleStore
from bridge.store import file_damage
from bridge.store.connect import StoreUrl
from bridge.store.sqlite import SqliteDatabase
from tests.api.service import create_store_file
from tests.factories import dataset, run_event, schema
from tests.hostile.trials import TIMEOUT, repeat, trial_settings
from tests.stores import Store
from tests.system.service import run

PAGE = 4096
EXIT_DAMAGED = 65


def page_of(path: Path, name: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        ((number,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,))
        return int(number)


def overwrite(path: Path, position: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(content)


def damage_page(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda path: overwrite(path, (page_of(path, name) - 1) * PAGE, content)


def zero_middle(path: Path) -> None:
    middle = path.stat().st_size // PAGE // 2
    overwrite(path, middle * PAGE, bytes(20 * PAGE))


GARBAGE = random.Random(26).randbytes(PAGE)
DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "header overwritten": (lambda path: overwrite(path, 0, GARBAGE), "it has no SQLite header"),
    "header zeroed": (lambda path: overwrite(path, 0, bytes(100)), "it has no SQLite header"),
    "text": (lambda path: overwrite(path, 0, b"notes\n" * 20), "it has no SQLite header"),
    "truncated": (lambda path: os.truncate(path, path.stat().st_size // 2), "bytes, does not match its header"),
    "last page lost": (lambda path: os.truncate(path, path.stat().st_size - PAGE), "does not match its header"),
    "schema damaged": (lambda path: overwrite(path, 100, GARBAGE[100:]), "malformed"),
    "name in the schema damaged": (
        lambda path: overwrite(path, path.read_bytes().index(b"facetfacet"), b"\x80" * 10),
        "not UTF-8",
    ),
    "garbage in an index": (damage_page("ix_lineage_edge__target_id__edge_role", GARBAGE), "malformed|Page"),
    "zeroed table": (damage_page("ol_run", bytes(PAGE)), "malformed|Page"),
}
#: Found only if the whole file is checked, or by luck.
SMALL_DAMAGES = DAMAGES | {"zeros in the middle": (zero_middle, "malformed|Page|store file")}


@pytest.fixture(scope="module")
def sound_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with pages in every table that events fill."""
    path = create_store_file(tmp_path_factory.mktemp("store"))
    with closing(SqliteDatabase.for_writing(path)) as db:
        store = Store(db=db)
        for number in range(100):
            columns = schema(*(f"c{column}" for column in range(20)))
            outputs, inputs = [dataset(f"b{number}", schema=columns)], [dataset(f"a{number}", schema=columns)]
            store.writer.write(
                [store.read(run_event("COMPLETE", run=number, job=f"j{number}", inputs=inputs, outputs=outputs))]
            )
    return path


@pytest.fixture
def file(sound_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound_file, tmp_path / "store.db"))


@pytest.fixture
def _sample_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the file as if it were large."""
    monkeypatch.setattr(file_damage, "_MAX_COMPLETE_CHECK_BYTES", 0)


def open_store(path: Path) -> None:
    StoreUrl(f"sqlite:///{path}").open_for_writing().close()


def assert_refused(path: Path, problem: str) -> None:
    before = path.read_bytes()
    with pytest.raises(DamagedStore, match=problem) as raised:
        open_store(path)
    assert str(path) in str(raised.value)
    assert "restore the last backup (docs/guides/operations.md#restore)" in str(raised.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("damage", "problem"), SMALL_DAMAGES.values(), ids=SMALL_DAMAGES)
def test_damaged_file_is_refused(file: Path, damage: Callable[[Path], None], problem: str) -> None:
    damage(file)
    assert_refused(file, problem)


@pytest.mark.timeout(TIMEOUT)
def test_randomly_damaged_file_is_refused_or_served(sound_file: Path, tmp_path: Path) -> None:
    """SQLite cannot notice a changed value, but no other error may stop the service."""
    size = sound_file.stat().st_size

    @trial_settings(examples=10)
    @given(st.lists(st.tuples(st.integers(0, size), st.binary(min_size=1, max_size=PAGE)), min_size=1, max_size=3))
    def check(writes: list[tuple[int, bytes]]) -> None:
        for leftover in tmp_path.iterdir():
            leftover.unlink()
        path = Path(shutil.copy(sound_file, tmp_path / "store.db"))
        for position, content in writes:
            overwrite(path, position, content)
        with suppress(DamagedStore, IncompatibleStore):
            open_store(path)

    repeat(check)


@pytest.mark.usefixtures("_sample_only")
@pytest.mark.parametrize(("damage", "problem"), DAMAGES.values(), ids=DAMAGES)
def test_sample_of_large_file_finds_damage(file: Path, damage: Callable[[Path], None], problem: str) -> None:
    damage(file)
    assert_refused(file, problem)


@pytest.mark.parametrize("damage", ["truncated", "header overwritten"])
def test_readers_and_background_writers_notice_size_and_header(file: Path, damage: str) -> None:
    DAMAGES[damage][0](file)
    store = StoreUrl(f"sqlite:///{file}")
    for open_ in (store.open_for_reading, store.open_for_background_writes):
        with pytest.raises(DamagedStore):
            open_()


@pytest.mark.parametrize(
    ("pages", "problem"), [(0, "it is empty, but"), (8, "malformed"), (200, r"it has 819200 of \d+ bytes")]
)
def test_file_that_was_truncated_before_a_checkpoint_is_refused(
    file: Path, tmp_path: Path, pages: int, problem: str
) -> None:
    """The write-ahead log is still there, but it does not contain the missing pages."""
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("INSERT INTO store_meta VALUES ('k', 'v')")
        connection.commit()
        for name in ("store.db", "store.db-wal"):
            shutil.copy(tmp_path / name, crashed / name)
    os.truncate(crashed / "store.db", pages * PAGE)
    assert_refused(crashed / "store.db", problem)
    assert (crashed / "store.db-wal").stat().st_size > 0


@pytest.mark.system
@pytest.mark.parametrize("damage", ["header overwritten", "garbage in an index"])
def test_service_exits_with_a_code_that_systemd_does_not_restart(file: Path, damage: str) -> None:
    DAMAGES[damage][0](file)
    code, output = run(file, "serve")
    assert code == EXIT_DAMAGED, output
    assert "is damaged" in output
    assert "Traceback" not in output


@pytest.mark.usefixtures("_sample_only")
def test_sound_large_store_starts(file: Path) -> None:
    open_store(file)


def test_sound_stores_start(file: Path, tmp_path: Path) -> None:
    open_store(file)
    open_store(tmp_path / "new" / "store.db")
    (tmp_path / "empty.db").touch()
    open_store(tmp_path / "empty.db")


def test_database_of_another_application_is_no_damage(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection, connection:
        connection.execute('CREATE TABLE "odd "" name" ("a b")')
    with pytest.raises(IncompatibleStore, match="database of another application"):
        open_store(tmp_path / "other.db")


def test_store_starts_after_a_crash_in_a_checkpoint(file: Path, tmp_path: Path) -> None:
    """The header is already extended, and the last pages are still in the write-ahead log only."""
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    size = file.stat().st_size
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("INSERT INTO store_meta VALUES ('k', ?)", ("x" * 500_000,))
        connection.commit()
        shutil.copy(tmp_path / "store.db-wal", crashed)
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        assert file.stat().st_size > size
        shutil.copy(file, crashed)
    os.truncate(crashed / "store.db", size)
    open_store(crashed / "store.db")
    with closing(sqlite3.connect(crashed / "store.db")) as connection:
        assert connection.execute("SELECT length(value) FROM store_meta WHERE name = 'k'").fetchall() == [(500_000,)]


def test_check_takes_little_time(file: Path) -> None:
    store = StoreUrl(f"sqlite:///{file}")
    started_at = time.perf_counter()
    store._check_content()
    assert time.perf_counter() - started_at < 0.3


def test_service_may_run_while_a_command_checks_the_store(file: Path) -> None:
    with closing(SqliteDatabase.for_writing(file)) as db:
        for number in range(50):
            with db.transaction():
                db.execute("INSERT INTO store_meta VALUES (?1, ?2)", f"k{number}", "x" * 10_000)
            open_store(file)
