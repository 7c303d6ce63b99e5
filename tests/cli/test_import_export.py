"""`export --events` and `import` as people type them."""

import gzip
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from bridge.store.sqlite import SqliteDatabase
from tests.api.service import store_file
from tests.factories import run_event
from tests.stores import Store


def command(folder: Path, *words: str | Path, given: bytes | None = None) -> Result:
    environment = {"LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{folder}/store.db"}
    return CliRunner(env=environment).invoke(app, [*map(str, words)], input=given, catch_exceptions=False)


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the log and the collector of this process alone."""
    monkeypatch.setattr("bridge.log.configure_log", lambda _: None)
    monkeypatch.setattr("bridge.bootstrap.intake.tune_garbage_collector", lambda: None)


@pytest.fixture
def lines(tmp_path: Path) -> bytes:
    """Give the export of a store with an event, a refused input and an event that could not be merged."""
    folder = tmp_path / "old"
    folder.mkdir()
    with closing(SqliteDatabase.for_writing(store_file(folder))) as db:
        store = Store(db=db).apply(run_event())
        failed = store.read(run_event(second=1, run=2))
        store.writer.write([store.read(b"{"), failed._replace(rows=(), failure="a fault of ours")])  # type: ignore[call-arg]
    done = command(folder, "export", "--events")
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout_bytes


@pytest.mark.parametrize("form", ["a file", "gzipped", "-"])
def test_what_one_command_prints_the_other_takes(tmp_path: Path, lines: bytes, form: str) -> None:
    file = tmp_path / "lines"
    file.write_bytes(gzip.compress(lines) if form == "gzipped" else lines)
    word = "-" if form == "-" else file
    for said in (
        "imported 2 events and 1 rejected inputs; 0 were already stored\n",
        "imported 0 events and 0 rejected inputs; 3 were already stored\n",
    ):
        done = command(tmp_path, "import", word, given=lines)
        assert (done.exit_code, done.stdout, done.stderr) == (0, said, "")
    assert command(tmp_path, "export", "--events").stdout_bytes.splitlines() == lines.splitlines()
    listed = command(tmp_path, "rejected", "list").stdout
    assert ("  unmerged  x1  test  a fault of ours" in listed, "  rejected  x1  test  not JSON" in listed) == (
        True,
        True,
    )
    assert command(tmp_path, "rejected", "retry").stdout == "1 ingested, 1 still rejected\n"


def test_damaged_lines_are_named_until_there_are_too_many(tmp_path: Path, lines: bytes) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"\x1b[31m\n" * 30 + lines)
    done = command(tmp_path, "import", file)
    assert (done.exit_code, done.stdout) == (1, "imported 2 events and 1 rejected inputs; 0 were already stored\n")
    *named, last = done.stderr.splitlines()
    assert [line.split(": ")[:3] for line in named] == [
        ["error", str(file), f"line {number}"] for number in range(1, 21)
    ]
    assert last == "30 damaged lines were not imported"
    assert "\x1b" not in done.stderr


def test_a_file_that_is_torn_is_told(tmp_path: Path, lines: bytes) -> None:
    file = tmp_path / "lines.gz"
    file.write_bytes(gzip.compress(lines)[:-10])
    done = command(tmp_path, "import", file)
    assert done.exit_code == 1
    assert f"error: {file}: cannot read on: " in done.stderr


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = command(tmp_path, "import", tmp_path / "absent")
    assert (done.exit_code, done.stdout) == (2, "")
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize(
    "words", [["--events", "--canonical"], ["--events", "--dialect", "sqlite"], ["--events", "-o"]]
)
def test_an_export_is_one_of_three(tmp_path: Path, words: list[str]) -> None:
    done = command(tmp_path, "export", *words)
    assert (done.exit_code, done.stdout) == (2, "")
