"""What holds of all commands: nothing is asked back, JSON is nothing but JSON, help comes at once."""

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.generators.commands import PRINTED
from tests.commands import COMMANDS, Ask, url_of
from tests.factories import run_uuid
from tests.queries.decisions import decide
from tests.queries.sample_store import SAMPLE_EVENTS
from tests.standins.marquez import Marquez
from tests.standins.openmetadata import OpenMetadata

ROOT = Path(__file__).parents[2]
#: Without pydantic: typer itself reads words with it.
HEAVY = (
    "sqlalchemy",
    "fastapi",
    "rich",
    "alembic",
    "uvicorn",
    "httpx",
    "structlog",
    "msgspec",
    "yaml",
    "psycopg",
)
HELP = f"""
import sys
from bridge.cli.main import main
try:
    main()
finally:
    print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)
"""
_ASKS = re.compile(r"\b(prompt|confirm|getpass|input)\(")

#: For each command with --output: words that make it answer, of the estate.
ASSETS = str(ROOT / "configs" / "assets")
DATA = ROOT / "tests" / "data"
#: Asked with Spark, in tests/system/process/test_command.py.
WITH_SPARK = {("process", "run")}
#: What commands are asked that print JSON, and those that end otherwise than with 0.
ENDS = {("governance", "diff"): 5, ("governance", "push"): 1}
ANSWERED = {
    ("version",): [],
    ("lineage",): ["db", "clean", "--columns"],
    ("impact",): ["db", "raw"],
    ("runs",): ["jobs", "app2", "--steps"],
    ("show",): ["db", "clean"],
    ("search",): ["clean"],
    ("explain",): ["db", "clean"],
    ("events",): ["--limit", "3"],
    ("doctor",): [],
    ("config", "show"): ["--origin"],
    ("openmetadata", "check"): [],
    ("governance", "validate"): [ASSETS],
    ("governance", "plan"): [ASSETS],
    ("governance", "push"): [ASSETS],
    ("governance", "diff"): [ASSETS],
    ("governance", "violations"): [],
    ("process", "validate"): [str(ROOT / "configs" / "processes" / "daily_positions.yaml")],
    ("process", "plan"): [str(DATA / "process.yaml"), "--lake", str(DATA / "lake")],
    ("process", "clean"): ["customers", "--lake", str(DATA / "lake"), "--days", "0", "--dry-run"],
    ("process", "list"): [],
    ("autosys", "scan"): [str(DATA / "estate.jil"), "--dry-run"],
    ("autosys", "lint"): [str(DATA / "estate.jil")],
    ("autosys", "diff"): [str(DATA / "estate.jil"), str(DATA / "estate.jil")],
    ("autosys", "history"): [str(DATA / "autorep.txt")],
    ("process", "dag"): [],
    ("sync",): ["--once"],
    ("sync", "status"): [],
    ("sync", "explain"): ["db", "clean"],
    ("dead", "list"): [],
    ("dataset", "versions"): ["db", "clean"],
    ("dataset", "resolve"): ["db", "clean", "--pin", "latest"],
    ("dataset", "history"): ["db", "clean"],
    ("dataset", "pins"): [],
    ("dataset", "publish"): ["db/clean", "latest"],
    ("dataset", "rollback"): ["db/clean", "--to", "latest"],
    ("dataset", "pin"): ["p", "db/clean", "latest"],
    ("dataset", "unpin"): ["january"],
    ("dataset", "invalidate"): ["db/clean", run_uuid(1), "--reason", "x"],
    ("verify",): [],
    ("verify", "openmetadata"): [],
    ("verify", "marquez"): [],
}


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let there be an OpenMetadata and a Marquez that the settings name."""
    with OpenMetadata() as standin, Marquez() as marquez:
        monkeypatch.setenv("LINEAGE_BRIDGE__MARQUEZ__ENABLED", "true")
        monkeypatch.setenv("LINEAGE_BRIDGE__MARQUEZ__URL", marquez.url)
        monkeypatch.setenv("LINEAGE_BRIDGE__OPENMETADATA__ENABLED", "true")
        monkeypatch.setenv("LINEAGE_BRIDGE__OPENMETADATA__SERVER__HOST", standin.url)
        monkeypatch.setenv("LINEAGE_BRIDGE__OPENMETADATA__AUTH__JWT_TOKEN", standin.bot_token)
        yield


def takes_json(words: tuple[str, ...]) -> bool:
    return any("--output" in one.words and "json" in one.choices for one in COMMANDS[words].parameters)


def test_every_command_that_prints_json_is_asked_here() -> None:
    assert {words for words in COMMANDS if takes_json(words)} == ANSWERED.keys() | WITH_SPARK


def test_what_every_command_prints_as_json_is_documented() -> None:
    assert PRINTED.keys() == {" ".join(words) for words in (*ANSWERED, *WITH_SPARK)}


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("words", ANSWERED, ids=" ".join)
def test_json_is_nothing_but_json(ask: Ask, words: tuple[str, ...]) -> None:
    done = ask([*words, *ANSWERED[words], "--output", "json"], *SAMPLE_EVENTS, then=decide)
    assert (done.exit_code, done.stderr) == (ENDS.get(words, 0), "")
    lines = done.stdout_bytes.decode().splitlines()
    assert lines
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_no_command_asks_back() -> None:
    asking = [
        words for words, one in COMMANDS.items() for each in one.parameters if getattr(each.declared, "prompt", None)
    ]
    sources = [path for path in ROOT.glob("bridge/**/*.py") if _ASKS.search(path.read_text(encoding="utf-8"))]
    governance = ROOT / "bridge" / "cli" / "governance.py"  # `push --policy ask` is told to ask
    assert (asking, sources) == ([], [governance])


@pytest.mark.system
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    run = functools.partial(subprocess.run, capture_output=True, cwd=ROOT, env=environment, timeout=60, check=True)
    said = run([sys.executable, "-c", HELP, *words, "--help"])
    assert said.stderr.decode() == "[]\n"
    assert said.stdout.decode().startswith(" ".join(["Usage: lineage-bridge", *words]))


@pytest.mark.parametrize("args", [["version"], ["dataset", "pins"]], ids=" ".join)
def test_light_commands_import_neither_sync_nor_spark(tmp_path: Path, args: list[str]) -> None:
    script = f"""
import sys
from bridge.cli.main import app
app({args}, standalone_mode=False)
print([name for name in sys.modules if name.startswith(("bridge.sync", "pyspark"))], file=sys.stderr)
"""
    store = {"LINEAGE_BRIDGE__STORE__URL": url_of(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, cwd=ROOT, env=os.environ | store, timeout=60, check=True
    )
    assert done.stderr.decode() == "[]\n"
