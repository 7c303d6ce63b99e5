"""`lineage-bridge doctor`: findings on sound and damaged installations, without changes."""

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

SUBJECTS = {
    "versions",
    "config",
    "disk",
    "permissions",
    "store",
    "schema",
    "clock",
    "identity",
    "sync",
    "conservation",
}
NEEDS_STORE = {"schema", "clock", "identity", "sync", "conservation"}


def doctor(url: str, *args: str, **settings: str) -> Result:
    env = {f"LINEAGE_BRIDGE__{name}": value for name, value in ({"STORE__URL": url} | settings).items()}
    return CliRunner(env=env).invoke(command, ["doctor", *args], catch_exceptions=False)


def findings(result: Result, level: str = "") -> dict[str, str]:
    """Messages by subject, of one level or of all."""
    messages: dict[str, str] = {}
    for line in result.stdout.splitlines():
        found_level, subject, rest = line.split(": ", 2)
        if level in {"", found_level}:
            messages[subject] = messages.get(subject, "") + rest + "\n"
    return messages


def modify_store(url: str, *statements: str) -> Path:
    path = Path(url.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(path)) as store:
        for statement in statements:
            store.execute(statement)
        store.commit()
    return path


def test_sound_installation(tmp_path: Path) -> None:
    result = doctor(create_store(tmp_path, run_event()))
    assert (result.exit_code, set(findings(result)), findings(result, "error")) == (0, SUBJECTS, {})
    assert result.stdout.endswith("\nok: conservation: every received event is accounted for\n")


def test_json_output(tmp_path: Path) -> None:
    url = create_store(tmp_path, run_event())
    output: dict[str, Any] = json.loads(doctor(url, "--output", "json").stdout)
    assert set(output) == {"level", "findings"}
    assert output["level"] in {"ok", "warning"}  # a small disk is a warning
    assert {tuple(finding) for finding in output["findings"]} == {("level", "thing", "found", "remedy")}
    assert {finding["thing"] for finding in output["findings"]} == SUBJECTS
    assert all((finding["level"] == "ok") == (finding["remedy"] is None) for finding in output["findings"])


def _replace_by_text(path: Path) -> None:
    path.write_text("These are my notes, and they are long enough to be no header of a database at all. " * 10)


def _replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _execute_sql(sql: str) -> Callable[[Path], None]:
    return lambda path: modify_store(f"sqlite:///{path}", sql) and None


@pytest.mark.parametrize(
    ("damage", "level", "subject", "message"),
    [
        (Path.unlink, "error", "store", "no store at"),
        (_replace_by_text, "error", "store", "file is not a database"),
        (_replace_by_folder, "error", "store", "cannot be used: "),
        (lambda path: path.write_bytes(b""), "warning", "schema", "the store has no tables yet"),
        (_execute_sql("UPDATE alembic_version SET version_num = '9999'"), "error", "schema", "is at version 9999"),
        (_execute_sql("DROP TABLE alembic_version"), "error", "schema", "a database of another application"),
        (
            _execute_sql("DELETE FROM run_event"),
            "error",
            "conservation",
            "received 1 event, but the log counts 0",
        ),
        (_execute_sql("UPDATE run_event SET failure = 'x'"), "warning", "conservation", "rejected list` shows why"),
        (_execute_sql("UPDATE run_event SET event_time = 9e15"), "warning", "clock", "days in the future"),
        (_execute_sql("DROP TABLE sync_target"), "error", "sync", "no such table: sync_target"),
        (_execute_sql("DROP TABLE intake_ledger"), "error", "conservation", "no such table: intake_ledger"),
    ],
)
def test_damaged_store_is_reported_and_not_changed(
    tmp_path: Path, damage: Callable[[Path], None], level: str, subject: str, message: str
) -> None:
    url = create_store(tmp_path, run_event())
    path = Path(url.removeprefix("sqlite:///"))
    damage(path)
    before = path.read_bytes() if path.is_file() else path.exists()
    result = doctor(url)
    assert result.exit_code == (level == "error")
    assert message in findings(result, level)[subject]
    assert set(findings(result)) == SUBJECTS
    assert (path.read_bytes() if path.is_file() else path.exists()) == before


def test_older_store_is_reported_and_not_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.doctor.store.HEAD", "9000")
    url = create_store(tmp_path, run_event())
    result = doctor(url)
    assert f"the store is at version {HEAD}, this lineage-bridge at 9000: back it up" in findings(result)["schema"]
    assert "not checked: the schema version differs" in findings(result, "warning")["conservation"]
    assert result.exit_code == 0


def test_corrupt_file_is_reported(tmp_path: Path) -> None:
    url = create_store(tmp_path, *(run_event(run=number) for number in range(50)))
    path = modify_store(url, "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA journal_mode = DELETE")
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :: 512] = b"\xff" * len(content[len(content) // 2 :: 512])
    path.write_bytes(content)
    result = doctor(url)
    assert (result.exit_code, "store" in findings(result, "error")) == (1, True)


def test_configuration_errors_do_not_stop_other_checks(tmp_path: Path) -> None:
    path = tmp_path / "bridge.yaml"
    path.write_text("server:\n  port: many\nlog:\n  level: loud\n")
    result = doctor(create_store(tmp_path), "--config", str(path))
    assert result.exit_code == 1
    errors = findings(result, "error")["config"]
    assert [errors.count(f"{path}:{line}: ") for line in (2, 4)] == [1, 1]
    assert "Python" in findings(result, "ok")["versions"]
    assert set(findings(result, "warning")) == SUBJECTS - {"versions", "config"}


def test_reachable_server_without_keys_is_an_error(tmp_path: Path) -> None:
    result = doctor(create_store(tmp_path), SERVER__HOST="0.0.0.0")  # noqa: S104 - it is refused
    assert (result.exit_code, "server.api_keys is empty" in findings(result, "error")["config"]) == (1, True)


def test_unknown_store_url_is_an_error(tmp_path: Path) -> None:
    result = doctor("mysql://somewhere")
    assert (result.exit_code, "must start with sqlite:///" in findings(result, "error")["config"]) == (1, True)
    assert set(findings(result, "warning")) >= NEEDS_STORE


def test_failed_check_does_not_stop_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Iterator[None]:
        raise OSError("the device is gone")

    monkeypatch.setattr("bridge.doctor.storage.check", fail)
    result = doctor(create_store(tmp_path))
    assert "check failed: OSError: the device is gone" in findings(result, "error")["disk"]
    assert (result.exit_code, set(findings(result))) == (1, SUBJECTS)


def test_control_characters_in_names_are_escaped(tmp_path: Path) -> None:
    url = create_store(tmp_path, run_event())
    modify_store(url, "UPDATE run_event SET source = 'a' || char(10, 27) || 'b'")
    assert "a\\n\\x1bb: 0 received" in doctor(url).stdout
