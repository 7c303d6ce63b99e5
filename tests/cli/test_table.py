"""Lists on a pseudo-terminal are tables that fit its width; in pipes they are plain lines."""

import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_sync import Shell
from tests.commands import create_store
from tests.factories import app, dataset, facet, run_event, run_uuid, schema
from tests.queries.decisions import decide
from tests.queries.sample_store import SAMPLE_EVENTS
from tests.standins.openmetadata import OpenMetadata, failing_rows

pytestmark = pytest.mark.system
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
LONG_NAME = "/data/lake/" + "/".join(f"folder{number}" for number in range(12))
FAILED = app("FAIL", 8, "x" * 500, run=7, exitCode=facet(value=3))
LONG_RUN = run_event(run=8, job=LONG_NAME, outputs=[dataset(LONG_NAME)])


def screen(args: str, width: int, **environment: str) -> list[str]:
    """Run a command on a pseudo-terminal, and return the lines that it prints."""
    inherited = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR"}}
    controller, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    command = [sys.executable, "-m", "bridge", *args.split()]
    with subprocess.Popen(command, stdout=terminal, env={**inherited, "TERM": "xterm", **environment}) as process:
        os.close(terminal)
        output = b""
        try:
            while chunk := os.read(controller, 1 << 16):
                output += chunk
        except OSError:
            pass  # the command has ended
        os.close(controller)
        assert process.wait(60) == 0
    return output.decode().splitlines()


def plain(lines: list[str]) -> list[str]:
    return [_STYLE.sub("", line).rstrip() for line in lines]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The settings of a store with something to list for every command."""
    folder = tmp_path_factory.mktemp("lists")
    url = create_store(folder, *SAMPLE_EVENTS, FAILED, LONG_RUN, prepare=decide)
    keys = [{"name": "spark", "sha256": "ab" * 32, "scopes": ["ingest", "read"]}]
    (folder / "bad.ndjson").write_text('{"bad": 1}\n' + json.dumps(run_event(run=9)) + "\n", "utf-8")
    settings = {"LINEAGE_BRIDGE__STORE__URL": url, "LINEAGE_BRIDGE__SERVER__API_KEYS": json.dumps(keys)}
    subprocess.run(
        [sys.executable, "-m", "bridge", "ingest", folder / "bad.ndjson"], env={**os.environ, **settings},
        check=False, timeout=60, capture_output=True,
    )  # fmt: skip
    return settings


LISTS = {
    "runs": ("STARTED (UTC)", run_uuid(7)),
    "runs jobs app2 --steps": ("STARTED (UTC)", run_uuid(2)),
    "search --type dataset": ("TYPE", "db lake.clean"),
    "process list": ("VERSION", "FAILED*"),
    "dataset versions db clean": ("VERSION", run_uuid(1)),
    "dataset history db clean": ("PUBLICATION", run_uuid(1)),
    "dataset pins": ("PIN", run_uuid(1)),
    "governance violations": ("TIME (UTC)", "db report"),
    "rejected list": ("HASH", "(line 1)"),
    "keys list": ("NAME", "ingest, read"),
}


@pytest.mark.parametrize(("args", "header", "content"), [(args, *texts) for args, texts in LISTS.items()], ids=LISTS)
def test_list_is_a_table_on_a_terminal(environment: dict[str, str], args: str, header: str, content: str) -> None:
    styled = screen(args, 130, **environment)
    lines = plain(styled)
    assert styled[0].startswith("\x1b[1m")
    assert lines[0].startswith(header)
    assert any(content in line for line in lines)
    assert max(map(len, lines)) <= 130
    uncolored = screen(args, 130, NO_COLOR="1", **environment)
    assert ([line.rstrip() for line in uncolored], "\x1b" in "".join(uncolored)) == (lines, False)


def test_columns_are_aligned(environment: dict[str, str]) -> None:
    header, *rows = plain(screen("runs", 200, **environment))
    assert "EXIT" in header
    assert {row.index("0000", 20) for row in rows if row.startswith("20")} == {header.index("RUN")}


def test_columns_without_values_are_left_out(environment: dict[str, str]) -> None:
    header, *_ = plain(screen("runs jobs clean", 130, **environment))
    assert header.split()[-2:] == ["RUN", "JOB"]
    assert "EXIT" not in header


@pytest.mark.parametrize("width", [80, 100])
def test_ids_and_names_are_complete_on_a_narrow_terminal(environment: dict[str, str], width: int) -> None:
    lines = plain(screen("runs", width, **environment))
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert all(run_uuid(number) in text for number in (1, 2, 7, 8))
    assert LONG_NAME in "".join(line.strip() for line in lines)
    assert "    " + "x" * (width - 5) + "…" in lines, "errors are shortened"


def test_pipe_gets_plain_lines(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "bridge", "runs"]
    output = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, check=True, timeout=60)
    header, first, *_ = output.stdout.decode().splitlines()
    assert header == "STARTED (UTC)        STATUS      DURATION  EXIT  ROWS WRITTEN  " + "RUN".ljust(38) + "JOB"
    assert "\x1b" not in first


@pytest.fixture
def shell(tmp_path: Path, restore_logging: None) -> Iterator[Shell]:
    with OpenMetadata() as standin:
        synced = Shell(tmp_path, standin, run_event(outputs=[dataset("t", schema=schema("k"))]))
        standin.faults.next(failing_rows("t", message="Too odd"), path="/tables/bulk")
        synced("sync --once")
        yield synced


def test_sync_items_are_tables(shell: Shell) -> None:
    lines = plain(screen("sync status", 80, **shell.env))
    assert lines[0] == "openmetadata responding"
    header = next(line.split() for line in lines if line.startswith("KIND"))
    (dataset_line,) = (line.split() for line in lines if line.startswith("dataset"))
    assert (header[:2], dataset_line) == (["KIND", "DEAD"], ["dataset", "1"])
    lines = plain(screen("dead list", 80, **shell.env))
    assert lines[0].split()[:2] == ["ID", "OUTCOME"]
    assert (lines[1].startswith("dataset-"), "Too odd" in lines[1]) == (True, True)
