"""No output contains characters that control a terminal or reorder its text."""

import hashlib
import json
import logging
import shutil
import unicodedata
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from bridge.cli import main as cli
from bridge.log import configure_log
from bridge.settings.model import LogSettings
from bridge.store.database import Database
from bridge.store.event_log import RejectedInput
from bridge.store.writer import Writer
from bridge.terminal import escape_json
from bridge.versions.publisher import PublicationRequest
from bridge.versions.registry import VersionRegistry
from bridge.versions.selector import parse_selector
from connectors.errors import ConfigError
from mappers.errors import LineageBridgeError
from tests.cli.test_commands import ARGUMENTS, targets
from tests.commands import create_store
from tests.factories import micros
from tests.queries.decisions import FAR_FUTURE
from tests.queries.sample_store import SAMPLE_EVENTS

__all__ = ["targets"]

#: Right-to-left override, a control sequence of 8-bit terminals, and a line separator.
HOSTILE = "\u202e\u009b\u2028"
NAMES = frozenset({"name", "description", "column", "field", "datasetVersion", "message", "category", "asset"})
CHARACTERS = frozenset("\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
#: Words in the arguments that are names in the store.
STORED_NAMES = frozenset({"clean", "raw", "app2", "january", "db/clean"})
TEXT_COMMANDS = (
    ["rejected", "list"],
    ["lineage", "db", "clean", "--output", "mermaid"],
    ["lineage", "db", "clean", "--output", "dot"],
    ["lineage", "db", "clean", "--column", "mail"],
    ["lineage", "db", "nothing" + HOSTILE],
    ["show", "jobs", "app2"],
    ["show", "db", "nothing" + HOSTILE],
    ["runs", "--failed"],
    ["dead", "retry"],
)
FILES = {
    "assets/a.yaml": f"""assets:
  - {{namespace: db, name: "clean{HOSTILE}", description: "d{HOSTILE}", category: "c{HOSTILE}"}}
  - {{namespace: db, name: "b{HOSTILE}", "unknown{HOSTILE}": 1}}
""",
    "a.jil": f"insert_job: a{HOSTILE}  job_type: c\nunknown{HOSTILE}: 1\ncondition: s(b{HOSTILE})\ncommand: x{HOSTILE}\n",
    "b.jil": f"insert_job: a{HOSTILE}  job_type: c\ncommand: y{HOSTILE}\n",
    "p.yaml": f"process: {{name: 'p{HOSTILE}', lake: '/x{HOSTILE}'}}\ninputs: {{'i{HOSTILE}': 1}}\n",
    "c.yaml": f"log: {{level: 'x{HOSTILE}'}}\n'k{HOSTILE}': 1\n",
    "d.yaml": f"legacy: {{autosys_instance: 'x{HOSTILE}'}}\n",
}
FILE_COMMANDS = (
    ["governance", "validate", "assets"],
    ["governance", "plan", "assets"],
    ["governance", "push", "assets"],
    ["governance", "diff", "assets"],
    ["autosys", "scan", "a.jil"],
    ["autosys", "lint", "a.jil"],
    ["autosys", "diff", "a.jil", "b.jil"],
    ["autosys", "history", "a.jil"],
    ["process", "validate", "p.yaml"],
    ["config", "check", "-c", "c.yaml"],
    ["config", "show", "-c", "d.yaml"],
    ["ingest", "a.jil"],
)


def is_hostile(text: str) -> bool:
    return any(char in CHARACTERS or (unicodedata.category(char) == "Cc" and char != "\n") for char in text)


def hostile(value: Any, key: str = "") -> Any:
    """Append hostile characters to all names and descriptions in an event."""
    if isinstance(value, dict):
        return {name: hostile(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [hostile(item, key) for item in value]
    return value + HOSTILE if isinstance(value, str) and key in NAMES else value


EVENTS = [hostile(event) for event in SAMPLE_EVENTS]


def decide(db: Database) -> None:
    registry = VersionRegistry(db, "default", lambda: micros(59))
    clean = registry.find_dataset("db", "clean" + HOSTILE)
    with registry.transaction():
        registry.publisher.publish(
            [PublicationRequest(clean, parse_selector("latest"), None)], f"ann{HOSTILE}", f"x{HOSTILE}"
        )
        (version,) = registry.versions.list_newest(clean)
        registry.pins.pin("january" + HOSTILE, [(clean, version)], FAR_FUTURE, "ann" + HOSTILE, "for" + HOSTILE)
        registry.definitions.register("process", "jobs", "app2" + HOSTILE, {"steps": ["a" + HOSTILE]}, "ann")
    with closing(Writer(db)) as writer:
        rejected = RejectedInput(
            b"{", hashlib.sha256(b"{").digest(), f"bad{HOSTILE}", f"a{HOSTILE}", 1, f"file:{HOSTILE}"
        )
        writer.write([rejected])


def hostile_arguments(arguments: list[str]) -> list[str]:
    return [argument + HOSTILE if argument in STORED_NAMES else argument for argument in arguments]


@pytest.fixture(scope="module")
def hostile_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(create_store(tmp_path_factory.mktemp("store"), *EVENTS, prepare=decide).removeprefix("sqlite:///"))


@pytest.fixture
def run(hostile_store: Path, tmp_path: Path) -> Callable[[list[str]], None]:
    """Run commands on a copy of the store, and check what they print."""
    store = shutil.copy(hostile_store, tmp_path)

    def run_and_check(arguments: list[str]) -> None:
        env = {"LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{store}"}
        result = CliRunner(env=env).invoke(cli.app, arguments)
        assert isinstance(result.exception, SystemExit | LineageBridgeError | None), result.exception
        for stream in (result.stdout, result.stderr):
            assert not is_hostile(stream), ascii(stream)

    return run_and_check


@pytest.mark.usefixtures("targets")
@pytest.mark.parametrize("path", sorted(ARGUMENTS.keys() - {("sync",)}), ids=" ".join)  # it prints only numbers
def test_names_are_escaped_by_every_command(run: Callable[[list[str]], None], path: tuple[str, ...]) -> None:
    arguments = [*path, *hostile_arguments(ARGUMENTS[path])]
    run(arguments)
    run([*arguments, "--output", "json"])


@pytest.mark.usefixtures("targets")
def test_names_are_escaped_in_other_formats(run: Callable[[list[str]], None]) -> None:
    for arguments in TEXT_COMMANDS:
        run(hostile_arguments(arguments))


@pytest.mark.parametrize("arguments", FILE_COMMANDS, ids=" ".join)
def test_contents_of_files_are_escaped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "assets").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL", f"sqlite:///{tmp_path}/a.db")
    monkeypatch.setattr("sys.argv", ["lineage-bridge", *arguments])
    with pytest.raises(SystemExit):
        cli.main()
    streams = capsys.readouterr()
    for stream in streams:
        assert not is_hostile(stream), ascii(stream)
    assert (streams.out + streams.err).strip()


def test_json_output_keeps_its_meaning() -> None:
    text = {"name": "".join(sorted(CHARACTERS)) + "\u0080\u009f\x7f\u00e9\u4e00"}
    encoded = escape_json(json.dumps(text, ensure_ascii=False).encode())
    assert json.loads(encoded) == text
    assert not is_hostile(encoded.decode())
    assert "\u00e9\u4e00" in encoded.decode()


@pytest.mark.parametrize("format_", ["console", "json"])
def test_log_lines_are_escaped(capsys: pytest.CaptureFixture[str], format_: Any) -> None:
    configure_log(LogSettings(format=format_))
    structlog.get_logger().warning(f"event{HOSTILE}", name=f"x{HOSTILE}", names=[f"y{HOSTILE}"])
    error = ConfigError(f"z{HOSTILE}")
    structlog.get_logger().error("failed", exc_info=error)
    logging.getLogger("uvicorn").error("failed %s", f"a{HOSTILE}", exc_info=error)
    logged = capsys.readouterr().err
    assert not is_hostile(logged), ascii(logged)
    assert "ConfigError" in logged
