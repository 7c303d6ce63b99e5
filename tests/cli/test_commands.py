"""Rules for all commands: no prompts, pure JSON output, light imports."""

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
from tests.commands import COMMANDS, RunCli, create_store
from tests.factories import run_uuid
from tests.queries.decisions import decide
from tests.queries.sample_store import SAMPLE_EVENTS
from tests.standins.marquez import Marquez
from tests.standins.openmetadata import OpenMetadata

ROOT = Path(__file__).parents[2]
#: pydantic is absent because typer imports it.
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
_PROMPT = re.compile(r"\b(prompt|confirm|getpass|input|stdin\.readline)\(")

ASSETS = str(ROOT / "configs" / "assets")
DATA = ROOT / "tests" / "data"
#: Tested with Spark in tests/system/process/test_command.py.
WITH_SPARK = {("process", "run")}
#: Exit codes other than 0.
EXIT_CODES = {("governance", "diff"): 5, ("governance", "push"): 1}
ARGUMENTS = {
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
    ("sync", "relocate"): [],
    ("verify",): [],
    ("verify", "openmetadata"): [],
    ("verify", "marquez"): [],
}


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand-ins of OpenMetadata and Marquez, enabled in the settings."""
    with OpenMetadata() as standin, Marquez() as marquez:
        monkeypatch.setenv("LINEAGE_BRIDGE__MARQUEZ__ENABLED", "true")
        monkeypatch.setenv("LINEAGE_BRIDGE__MARQUEZ__URL", marquez.url)
        monkeypatch.setenv("LINEAGE_BRIDGE__OPENMETADATA__ENABLED", "true")
        monkeypatch.setenv("LINEAGE_BRIDGE__OPENMETADATA__SERVER__HOST", standin.url)
        monkeypatch.setenv("LINEAGE_BRIDGE__OPENMETADATA__AUTH__JWT_TOKEN", standin.bot_token)
        yield


def takes_json(path: tuple[str, ...]) -> bool:
    return any(
        "--output" in parameter.spellings and "json" in parameter.choices for parameter in COMMANDS[path].parameters
    )


def test_every_json_command_is_covered() -> None:
    assert {path for path in COMMANDS if takes_json(path)} == ARGUMENTS.keys() | WITH_SPARK


def test_json_output_of_every_command_is_documented() -> None:
    assert PRINTED.keys() == {" ".join(path) for path in (*ARGUMENTS, *WITH_SPARK)}


@pytest.mark.usefixtures("targets")
@pytest.mark.parametrize("path", ARGUMENTS, ids=" ".join)
def test_json_output_is_pure_json(run_cli: RunCli, path: tuple[str, ...]) -> None:
    result = run_cli([*path, *ARGUMENTS[path], "--output", "json"], *SAMPLE_EVENTS, prepare=decide)
    assert (result.exit_code, result.stderr) == (EXIT_CODES.get(path, 0), "")
    lines = result.stdout_bytes.decode().splitlines()
    assert lines
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_no_command_prompts() -> None:
    prompting = [
        path
        for path, command in COMMANDS.items()
        for parameter in command.parameters
        if getattr(parameter.declared, "prompt", None)
    ]
    sources = [file for file in ROOT.glob("bridge/**/*.py") if _PROMPT.search(file.read_text(encoding="utf-8"))]
    governance = ROOT / "bridge" / "cli" / "governance.py"  # `push --policy ask` prompts on request
    query = ROOT / "bridge" / "cli" / "query.py"  # prompts for one of several datasets, only on a terminal
    assert (prompting, sorted(sources)) == ([], [governance, query])


@pytest.mark.system
@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_imports_no_heavy_modules(path: tuple[str, ...]) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    run = functools.partial(subprocess.run, capture_output=True, cwd=ROOT, env=environment, timeout=60, check=True)
    completed = run([sys.executable, "-c", HELP, *path, "--help"])
    assert completed.stderr.decode() == "[]\n"
    assert completed.stdout.decode().startswith(" ".join(["Usage: lineage-bridge", *path]))


@pytest.mark.parametrize("args", [["version"], ["dataset", "pins"]], ids=" ".join)
def test_light_commands_import_neither_sync_nor_spark(tmp_path: Path, args: list[str]) -> None:
    script = f"""
import sys
from bridge.cli.main import app
app({args}, standalone_mode=False)
print([name for name in sys.modules if name.startswith(("bridge.sync", "pyspark"))], file=sys.stderr)
"""
    store = {"LINEAGE_BRIDGE__STORE__URL": create_store(tmp_path)}
    completed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, cwd=ROOT, env=os.environ | store, timeout=60, check=True
    )
    assert completed.stderr.decode() == "[]\n"
