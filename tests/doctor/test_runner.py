"""`lineage-bridge doctor` as a whole: what it says of sound and of spoiled installations, and that it changes nothing."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app as command
from bridge.store.migrations import HEAD
from tests.commands import create_store
from tests.factories import run_event

THINGS = {"versions", "config", "disk", "permissions", "store", "schema", "clock", "sync", "conservation"}
NEEDS_STORE = {"schema", "clock", "sync", "conservation"}


def doctor(url: str, *words: str, **settings: str) -> Result:
    given = {f"LINEAGE_BRIDGE__{name}": value for name, value in ({"STORE__URL": url} | settings).items()}
    return CliRunner(env=given).invoke(command, ["doctor", *words], catch_exceptions=False)


def findings(done: Result, level: str = "") -> dict[str, str]:
    """Give what is said of each thing at a level, or at all."""
    said: dict[str, str] = {}
    for line in done.stdout.splitlines():
        found, thing, rest = line.split(": ", 2)
        if level in {"", found}:
            said[thing] = said.get(thing, "") + rest + "\n"
    return said


def spoil(url: str, *statements: str) -> Path:
    path = Path(url.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(path)) as store:
        for statement in statements:
            store.execute(statement)
        store.commit()
    return path


def test_a_sound_installation_is_called_so(tmp_path: Path) -> None:
    done = doctor(create_store(tmp_path, run_event()))
    assert (done.exit_code, set(findings(done)), findings(done, "error")) == (0, THINGS, {})
    assert done.stdout.endswith("\nok: conservation: every received event is accounted for\n")


def test_json_is_one_object_of_what_text_says(tmp_path: Path) -> None:
    url = create_store(tmp_path, run_event())
    told: dict[str, Any] = json.loads(doctor(url, "--output", "json").stdout)
    assert set(told) == {"level", "findings"}
    assert told["level"] in {"ok", "warning"}  # a small disk is a warning
    assert {tuple(found) for found in told["findings"]} == {("level", "thing", "found", "remedy")}
    assert {found["thing"] for found in told["findings"]} == THINGS
    assert all((found["level"] == "ok") == (found["remedy"] is None) for found in told["findings"])


def _text(path: Path) -> None:
    path.write_text("These are my notes, and they are long enough to be no header of a database at all. " * 10)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _running(sql: str) -> Callable[[Path], None]:
    return lambda path: spoil(f"sqlite:///{path}", sql) and None


@pytest.mark.parametrize(
    ("harm", "level", "thing", "said"),
    [
        (Path.unlink, "error", "store", "no store at"),
        (_text, "error", "store", "file is not a database"),
        (_folder, "error", "store", "cannot be used: "),
        (lambda path: path.write_bytes(b""), "warning", "schema", "the store has no tables yet"),
        (_running("UPDATE alembic_version SET version_num = '9999'"), "error", "schema", "is at version 9999"),
        (_running("DROP TABLE alembic_version"), "error", "schema", "a database of another application"),
        (_running("DELETE FROM run_event"), "error", "conservation", "1 events were received, but the log counts 0"),
        (_running("UPDATE run_event SET failure = 'x'"), "warning", "conservation", "rejected list` shows why"),
        (_running("UPDATE run_event SET event_time = 9e15"), "warning", "clock", "days in the future"),
        (_running("DROP TABLE sync_target"), "error", "sync", "no such table: sync_target"),
        (_running("DROP TABLE intake_ledger"), "error", "conservation", "no such table: intake_ledger"),
    ],
)
def test_what_is_wrong_with_a_store_is_found_and_nothing_is_changed(
    tmp_path: Path, harm: Callable[[Path], None], level: str, thing: str, said: str
) -> None:
    url = create_store(tmp_path, run_event())
    path = Path(url.removeprefix("sqlite:///"))
    harm(path)
    before = path.read_bytes() if path.is_file() else path.exists()
    done = doctor(url)
    assert done.exit_code == (level == "error")
    assert said in findings(done, level)[thing]
    assert set(findings(done)) == THINGS
    assert (path.read_bytes() if path.is_file() else path.exists()) == before


def test_an_older_store_is_named_and_left_at_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.doctor.store.HEAD", "9000")
    url = create_store(tmp_path, run_event())
    done = doctor(url)
    assert f"the store is at version {HEAD}, this lineage-bridge at 9000: back it up" in findings(done)["schema"]
    assert "not checked: the schema version differs" in findings(done, "warning")["conservation"]
    assert done.exit_code == 0


def test_a_damaged_file_is_found(tmp_path: Path) -> None:
    url = create_store(tmp_path, *(run_event(run=number) for number in range(50)))
    path = spoil(url, "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA journal_mode = DELETE")
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :: 512] = b"\xff" * len(content[len(content) // 2 :: 512])
    path.write_bytes(content)
    done = doctor(url)
    assert (done.exit_code, "store" in findings(done, "error")) == (1, True)


def test_every_mistake_of_a_configuration_is_told_and_what_needs_none_is_still_checked(tmp_path: Path) -> None:
    path = tmp_path / "bridge.yaml"
    path.write_text("server:\n  port: many\nlog:\n  level: loud\n")
    done = doctor(create_store(tmp_path), "--config", str(path))
    assert done.exit_code == 1
    wrong = findings(done, "error")["config"]
    assert [wrong.count(f"{path}:{line}: ") for line in (2, 4)] == [1, 1]
    assert "Python" in findings(done, "ok")["versions"]
    assert set(findings(done, "warning")) == THINGS - {"versions", "config"}


def test_a_server_that_others_reach_without_keys_is_an_error(tmp_path: Path) -> None:
    done = doctor(create_store(tmp_path), SERVER__HOST="0.0.0.0")  # noqa: S104 - it is refused
    assert (done.exit_code, "server.api_keys is empty" in findings(done, "error")["config"]) == (1, True)


def test_a_store_of_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    done = doctor("mysql://somewhere")
    assert (done.exit_code, "must start with sqlite:///" in findings(done, "error")["config"]) == (1, True)
    assert set(findings(done, "warning")) >= NEEDS_STORE


def test_a_check_that_fails_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Iterator[None]:
        raise OSError("the device is gone")

    monkeypatch.setattr("bridge.doctor.storage.check", fail)
    done = doctor(create_store(tmp_path))
    assert "check failed: OSError: the device is gone" in findings(done, "error")["disk"]
    assert (done.exit_code, set(findings(done))) == (1, THINGS)


def test_a_name_of_a_stranger_stays_within_its_line(tmp_path: Path) -> None:
    url = create_store(tmp_path, run_event())
    spoil(url, "UPDATE run_event SET source = 'a' || char(10, 27) || 'b'")
    assert "a\\n\\x1bb: 0 received" in doctor(url).stdout
