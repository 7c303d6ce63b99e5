"""`export --events` and `import`."""

import gzip
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from bridge.store.sqlite import SqliteDatabase
from tests.api.service import create_store_file
from tests.factories import run_event
from tests.stores import Store


def command(folder: Path, *args: str | Path, stdin: bytes | None = None) -> Result:
    environment = {"LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{folder}/store.db"}
    return CliRunner(env=environment).invoke(app, [*map(str, args)], input=stdin, catch_exceptions=False)


@pytest.fixture(autouse=True)
def _keep_process_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep logging and garbage collection of this process unchanged."""
    monkeypatch.setattr("bridge.log.configure_log", lambda _: None)
    monkeypatch.setattr("bridge.bootstrap.intake.tune_garbage_collector", lambda: None)


@pytest.fixture
def lines(tmp_path: Path) -> bytes:
    """Export of a store with a merged event, a rejected input and an unmerged event."""
    folder = tmp_path / "old"
    folder.mkdir()
    with closing(SqliteDatabase.for_writing(create_store_file(folder))) as db:
        store = Store(db=db).apply(run_event())
        failed = store.read(run_event(second=1, run=2))
        store.writer.write([store.read(b"{"), failed._replace(rows=(), failure="a fault of ours")])  # type: ignore[call-arg]
    result = command(folder, "export", "--events")
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout_bytes


@pytest.mark.parametrize("form", ["a file", "gzipped", "-"])
def test_import_restores_exported_events(tmp_path: Path, lines: bytes, form: str) -> None:
    file = tmp_path / "lines"
    file.write_bytes(gzip.compress(lines) if form == "gzipped" else lines)
    source = "-" if form == "-" else file
    for message in (
        "imported 2 events and 1 rejected input; already stored: 0\n",
        "imported 0 events and 0 rejected inputs; already stored: 3\n",
    ):
        result = command(tmp_path, "import", source, stdin=lines)
        assert (result.exit_code, result.stdout, result.stderr) == (0, message, "")
    assert command(tmp_path, "export", "--events").stdout_bytes.splitlines() == lines.splitlines()
    listed = command(tmp_path, "rejected", "list").stdout
    columns = sorted((row[1], row[-1][:8]) for row in (line.split("  ") for line in listed.splitlines()[1:]))
    assert columns == [("rejected", "not JSON"), ("unmerged", "a fault ")]
    assert command(tmp_path, "rejected", "retry").stdout == "1 ingested, 1 still rejected\n"


def test_import_reports_first_20_damaged_lines(tmp_path: Path, lines: bytes) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"\x1b[31m\n" * 30 + lines)
    result = command(tmp_path, "import", file)
    assert (result.exit_code, result.stdout) == (
        1,
        "imported 2 events and 1 rejected input; already stored: 0\n",
    )
    *reported, last = result.stderr.splitlines()
    assert [line.split(": ")[:3] for line in reported] == [
        ["error", str(file), f"line {number}"] for number in range(1, 21)
    ]
    assert last == "skipped 30 damaged lines"
    assert "\x1b" not in result.stderr


def test_import_reports_truncated_gzip_file(tmp_path: Path, lines: bytes) -> None:
    file = tmp_path / "lines.gz"
    file.write_bytes(gzip.compress(lines)[:-10])
    result = command(tmp_path, "import", file)
    assert result.exit_code == 1
    assert f"error: {file}: cannot continue reading: " in result.stderr


def test_import_of_missing_file_creates_no_store(tmp_path: Path) -> None:
    result = command(tmp_path, "import", tmp_path / "absent")
    assert (result.exit_code, result.stdout) == (2, "")
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize(
    "args", [["--events", "--canonical"], ["--events", "--dialect", "sqlite"], ["--events", "-o"]]
)
def test_export_rejects_conflicting_options(tmp_path: Path, args: list[str]) -> None:
    result = command(tmp_path, "export", *args)
    assert (result.exit_code, result.stdout) == (2, "")
