"""The CLI and the service as real processes."""

import hashlib
import json
import os
import platform
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self

import httpx
import pytest

from bridge import __version__
from bridge.store.migrations import HEAD
from bridge.store.schema import SPEC_VERSION
from tests.api.service import create_store_file
from tests.factories import columns, dataset, field, run_event
from tests.stores import Store, as_bytes

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
WAIT = 60
COMMAND = [sys.executable, "-m", "bridge"]

EXIT_HANDLED, EXIT_USAGE, EXIT_STORE, EXIT_DAMAGED = 1, 2, 4, 65

EVENT = as_bytes(
    run_event(
        job="make_b",
        inputs=[dataset("a")],
        outputs=[dataset("b", columnLineage=columns({"x": [field("a", "x")]}))],
    )
)


class CommandResult(NamedTuple):
    code: int
    out: str
    err: str


class Cli:
    """Runs commands against one store."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store.db"
        self.environment = {**os.environ, "LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{self.store}", "PYTHONUTF8": "1"}

    def __call__(self, *arguments: str | Path, stdin: bytes = b"") -> CommandResult:
        process = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            input=stdin, capture_output=True, cwd=ROOT, env=self.environment, timeout=WAIT, check=False,
        )  # fmt: skip
        return CommandResult(process.returncode, process.stdout.decode(), process.stderr.decode())

    @contextmanager
    def serve(self, *arguments: str | Path) -> "Iterator[RunningService]":
        """Start the service on a free port; yield it when it is ready."""
        command = [*COMMAND, "serve", "--port", "0", *map(str, arguments)]
        environment = {**self.environment, "LINEAGE_BRIDGE__LOG__FORMAT": "json"}
        with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT, env=environment) as process:
            assert process.stderr is not None
            try:
                url = next((found for line in process.stderr if (found := _listening_url(line))), None)
                assert url is not None, f"the service ended with {process.wait(WAIT)}"
                wait_for(lambda: _is_ready(url))
                yield RunningService(process, url)
            finally:
                process.kill()


class RunningService(NamedTuple):
    process: "subprocess.Popen[bytes]"
    url: str

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def post(self, body: bytes, **headers: str) -> int:
        headers["Content-Type"] = "application/json"
        return httpx.post(f"{self.url}/api/v1/lineage", content=body, headers=headers, timeout=WAIT).status_code

    def rest_of_log(self) -> list[dict[str, str]]:
        assert self.process.stderr is not None
        return [json.loads(line) for line in self.process.stderr if line.startswith(b"{")]


def _listening_url(line: bytes) -> str | None:
    with suppress(ValueError):
        entry: dict[str, str] = json.loads(line)
        return entry.get("url") if entry.get("event") == "listening" else None
    return None


def _is_ready(url: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{url}/readyz").is_success
    return False


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.01)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    create_store_file(tmp_path)
    return Cli(tmp_path)


@pytest.fixture
def cli_without_store(tmp_path: Path) -> Cli:
    """CLI whose store does not exist yet."""
    return Cli(tmp_path / "new" / "folder")


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.ndjson"
    path.write_bytes(EVENT + b"\n")
    return path


# -- ingest, lineage, export


def test_ingest_creates_store_and_lineage(cli_without_store: Cli, events: Path) -> None:
    assert cli_without_store("ingest", events) == CommandResult(0, "ingested 1 event from 1 file\n", "")
    assert cli_without_store("lineage", "db", "b") == CommandResult(
        0, "db b\n└─ <- db a   [jobs make_b, column]\n", ""
    )
    downstream = cli_without_store("lineage", "db", "a", "--direction", "downstream")
    assert downstream.out == "db a\n└─ -> db b   [jobs make_b, column]\n"
    repeated = cli_without_store("ingest", events)
    assert (repeated.code, "ingested earlier (--restart ingests them again)" in repeated.out) == (0, True)


@pytest.mark.parametrize("folders", [[], ["a folder"]], ids=["alone", "with folder"])
def test_ingest_dash_reads_stdin(cli: Cli, tmp_path: Path, folders: list[str]) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    for run in (2, 3):
        (folder / f"{run}.json").write_bytes(as_bytes(run_event(run=run)))
    result = cli("ingest", "-", *(tmp_path / name for name in folders), stdin=EVENT + b"\n")
    count = 1 + 2 * len(folders)
    assert (result.code, result.err) == (0, "")
    noun = "event" if count == 1 else "events"
    assert result.out.startswith(f"ingested {count} {noun} from ")


def test_canonical_export_equals_that_of_in_memory_store(cli: Cli, events_dir: Path) -> None:
    path = events_dir / "spark-4.1.4" / "a_csv_to_parquet.ndjson"
    assert cli("ingest", path).code == 0
    result = cli("export", "--canonical")
    with Store() as store:
        store.apply(*path.read_bytes().splitlines())
        assert (result.code, result.out.encode(), result.err) == (0, store.export(), "")


def test_ingest_historical_marks_events(cli: Cli, events: Path) -> None:
    assert cli("ingest", "--historical", events).code == 0
    with sqlite3.connect(cli.store) as store:
        assert store.execute("SELECT historical FROM run_event").fetchall() == [(1,)]
    store.close()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["ingest", "absent.ndjson"], EXIT_USAGE, "no such file: absent.ndjson"),
        (["ingest"], EXIT_USAGE, "Missing argument"),
        (["ingest", "--nonsense", "-"], EXIT_USAGE, "No such option"),
        (["lineage"], EXIT_USAGE, "Missing argument"),
        (["lineage", "db", "nothing"], EXIT_HANDLED, "error: no dataset 'nothing' in namespace 'db'"),
        (["lineage", "db", "b", "--depth", "0"], EXIT_USAGE, "--depth"),
        (["lineage", "db", "b", "--direction", "sideways"], EXIT_USAGE, "--direction"),
        (["export"], EXIT_USAGE, "--canonical"),
        (["export", "--canonical", "-c", "absent.yaml"], EXIT_USAGE, "cannot read the configuration absent.yaml"),
        (["config", "check", "-c", "absent.yaml"], EXIT_USAGE, "cannot read the configuration absent.yaml"),
        (["config", "show", "-c", "absent.yaml"], EXIT_USAGE, "cannot read the configuration absent.yaml"),
        (["rejected", "show", "abcd"], EXIT_USAGE, "no input with a hash that starts with abcd"),
        (["rejected", "retry", "abcd"], EXIT_USAGE, "no input with a hash that starts with abcd"),
        (["keys", "create", "me"], EXIT_USAGE, "--scope"),
        (["serve", "--port", "80000"], EXIT_USAGE, "Invalid value for '--port'"),
        (["serve", "--host", "0.0.0.0"], EXIT_USAGE, "server.api_keys is empty"),  # noqa: S104 - rejected
        (["serve", "--host", "host.invalid"], EXIT_USAGE, "server.api_keys is empty"),
        (["nonsense"], EXIT_USAGE, "No such command"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)  # fmt: skip
def test_error_is_printed_without_traceback(cli: Cli, arguments: list[str], code: int, message: str) -> None:
    result = cli(*arguments)
    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert "Traceback" not in result.err


def test_invalid_setting_is_reported_with_file_and_line(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "bridge.yaml"
    path.write_text("server:\n  prt: 1\n")
    result = cli("export", "--canonical", "--config", path)
    assert (result.code, result.out) == (EXIT_USAGE, "")
    assert result.err.startswith(f"error: {path}:2: unknown key server.prt; did you mean port?")


def test_ingest_reports_unreadable_file_and_continues(cli: Cli, tmp_path: Path, events: Path) -> None:
    damaged = tmp_path / "a.json.gz"
    damaged.write_bytes(b"\x1f\x8b damaged")
    result = cli("ingest", damaged, events)
    assert (result.code, result.out) == (EXIT_HANDLED, "ingested 1 event from 2 files\n")
    assert result.err.startswith(f"error: cannot continue reading {damaged}: ")
    assert "Traceback" not in result.err


def test_interrupted_ingest_reports_how_far_it_came(tmp_path: Path, events: Path) -> None:
    pipe = tmp_path / "pipe.ndjson"
    os.mkfifo(pipe)
    environment = os.environ | {"LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{tmp_path / 'store.db'}"}
    command = [sys.executable, "-m", "bridge", "ingest", str(events), str(pipe)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as process:
        writer = os.open(pipe, os.O_WRONLY)  # waits until the command opens the pipe, after the first file
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        os.close(writer)
    message = f"interrupted in file 2 of 2 ({pipe}) after 0 bytes; ingested 1 event from earlier files"
    assert (process.returncode, errors.decode().partition(":")[0]) == (130, message)


# -- rejected


def test_rejected_input_is_listed_shown_and_retried(cli: Cli, tmp_path: Path) -> None:
    bad, huge = b"not an event", as_bytes(run_event(inputs=[dataset("a"), dataset("b")]))
    path = tmp_path / "events.ndjson"
    path.write_bytes(b"\n".join((bad, huge, EVENT)) + b"\n")
    strict = tmp_path / "strict.yaml"
    strict.write_text("intake:\n  max_datasets: 1\n")
    result = cli("ingest", path, "-c", strict)
    assert (result.code, result.out) == (EXIT_HANDLED, "ingested 0 events from 1 file\n")
    assert result.err == "3 rejected, 0 stored but not merged: see `lineage-bridge rejected list`\n"

    listed = cli("rejected", "list")
    assert (listed.code, listed.err) == (0, "")
    header, *rows = [re.split("  +", line) for line in listed.out.splitlines()]
    assert header == ["HASH", "KIND", "TIMES", "LAST (UTC)", "SOURCE", "REASON"]
    assert [row[1:3] + row[4:5] for row in rows] == [["rejected", "x1", str(path)]] * 3
    assert sorted(row[5] for row in rows)[:2] == [
        f"2 datasets in one event; the limit is 1 (line {line})" for line in (2, 3)
    ]
    first = next(row[0] for row in rows if row[5].startswith("not JSON: ") and row[5].endswith(" (line 1)"))
    assert cli("rejected", "show", first[:8].upper()).out.encode().strip() == bad

    for arguments, message in (([first], "0 ingested, 1 still rejected\n"), ([], "2 ingested, 1 still rejected\n")):
        code, out, err = cli("rejected", "retry", *arguments)
        assert (code, out) == (EXIT_HANDLED, message)
        assert "not JSON" in err
    assert [line.split()[0] for line in cli("rejected", "list").out.splitlines()] == ["HASH", first]
    dropped = cli("rejected", "drop", first)
    assert (dropped.code, dropped.out) == (0, f"dropped {first} from {path}\n")
    assert cli("rejected", "list").out == ""
    assert cli("doctor").out.count("were ingested later") == 0
    assert "db a" in cli("lineage", "db", "b").out


def test_retry_of_unmerged_event_keeps_historical_flag(cli: Cli, events: Path) -> None:
    assert cli("ingest", "--historical", events).code == 0
    with sqlite3.connect(cli.store) as store:
        store.execute("UPDATE run_event SET failure = 'a fault of ours'")
    store.close()
    assert " unmerged " in cli("rejected", "list").out
    assert cli("rejected", "retry") == CommandResult(0, "1 ingested, 0 still rejected\n", "")
    with sqlite3.connect(cli.store) as store:
        assert store.execute("SELECT historical, failure FROM run_event").fetchall() == [(1, None)]
    store.close()


# -- unusable stores


def _newer_version(path: Path) -> None:
    with sqlite3.connect(path) as store:
        store.execute("UPDATE alembic_version SET version_num = '9999'")
    store.close()


def _foreign_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as store:
        store.execute("CREATE TABLE photos (id INTEGER)")
    store.close()


def _text_file(path: Path) -> None:
    path.write_text("These are my notes, and they are long enough to be no header of a database at all. " * 10)


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


NEWER_VERSION = f"is at version 9999, this lineage-bridge supports up to {HEAD}: upgrade lineage-bridge"
FOREIGN_DATABASE = "a database of another application: choose another store.url"


@pytest.mark.parametrize(
    ("spoil", "message", "arguments"),
    [
        (_newer_version, NEWER_VERSION, ["export", "--canonical"]),
        (_newer_version, NEWER_VERSION, ["ingest", "-"]),
        (_newer_version, NEWER_VERSION, ["serve", "--port", "0"]),
        (_foreign_database, FOREIGN_DATABASE, ["ingest", "-"]),
        (_foreign_database, FOREIGN_DATABASE, ["serve", "--port", "0"]),
        (_text_file, "it has no SQLite header", ["ingest", "-"]),
        (_text_file, "it has no SQLite header", ["serve", "--port", "0"]),
        (_directory, "is a directory", ["ingest", "-"]),
    ],
)
def test_unusable_store_is_rejected_and_not_modified(
    cli: Cli, spoil: Callable[[Path], None], message: str, arguments: list[str]
) -> None:
    spoil(cli.store)
    before = cli.store.read_bytes() if cli.store.is_file() else None
    result = cli(*arguments)
    assert (result.code, result.out) == (EXIT_DAMAGED if spoil is _text_file else EXIT_STORE, "")
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert message in result.err
    assert before is None or cli.store.read_bytes() == before


def test_unsupported_store_url_is_usage_error(cli: Cli) -> None:
    cli.environment["LINEAGE_BRIDGE__STORE__URL"] = "mysql://somewhere"
    result = cli("export", "--canonical")
    assert (result.code, "must start with sqlite:///" in result.err) == (EXIT_USAGE, True)


# -- keys


def test_created_key_is_printed_once_and_accepted_by_service(cli: Cli, tmp_path: Path) -> None:
    created = cli("keys", "create", """Ann's "key" \\ ü""", "--scope", "ingest", "--scope", "ingest")
    key = created.out.strip()
    assert (created.code, created.out, len(key)) == (0, key + "\n", 43)
    assert key not in created.err
    head, _, config = created.err.partition("\n\n")
    assert "not shown again" in head
    assert hashlib.sha256(key.encode()).hexdigest() in config
    path = tmp_path / "keys.yaml"
    path.write_text(config, encoding="utf-8")
    with cli.serve("--config", path) as service:
        statuses = [service.post(EVENT), service.post(EVENT, Authorization="Bearer wrong")]
        assert statuses == [401, 401]
        assert service.post(EVENT, Authorization=f"Bearer {key}") == 201
        metrics = httpx.get(f"{service.url}/metrics", headers={"Authorization": f"Bearer {key}"})
        assert metrics.status_code == 403
        assert 'the key Ann\'s "key" \\ ü lacks the scope operate' in metrics.json()["detail"]


def test_created_keys_are_unique(cli: Cli) -> None:
    assert len({cli("keys", "create", "me", "--scope", "read").out for _ in range(3)}) == 3


# -- help and version


@pytest.mark.parametrize("arguments", [["rejected"], ["keys"], ["schema"], ["config"]])
def test_command_group_without_subcommand_prints_help(cli: Cli, arguments: list[str]) -> None:
    result = cli(*arguments)
    assert re.search("^(Commands|Run):$", result.out + result.err, re.MULTILINE)
    assert result.code == EXIT_USAGE


def test_bare_command_prints_help(cli: Cli) -> None:
    assert cli() == cli("--help") == cli("-h")
    assert cli().code == 0


@pytest.mark.parametrize("command", [["runs"], ["rejected", "list"], ["sync", "status"]], ids=" ".join)
def test_short_help_option_is_accepted(cli: Cli, command: list[str]) -> None:
    assert cli(*command, "-h") == cli(*command, "--help")


def test_version_option_prints_version(cli: Cli) -> None:
    assert cli("--version") == cli("version")


def test_configured_keys_are_listed_without_secrets(cli: Cli, tmp_path: Path) -> None:
    config = tmp_path / "keys.yaml"
    config.write_text(
        f"server:\n  api_keys:\n    - {{name: spark, sha256: {'a' * 64}, scopes: [ingest, read]}}\n", encoding="utf-8"
    )
    assert cli("keys", "list", "-c", config).out.splitlines() == [
        "NAME   SHA256        SCOPES", "spark  aaaaaaaaaaaa  ingest, read",
    ]  # fmt: skip
    assert cli("keys", "list").err.startswith("no API keys")


def test_version_as_text_and_json(cli: Cli) -> None:
    result = cli("version")
    assert result == CommandResult(0, f"lineage-bridge {__version__}\n", "")
    version = json.loads(cli("version", "--output", "json").out)
    assert version == {
        "version": __version__,
        "python": platform.python_version(),
        "store": HEAD,
        "spec": SPEC_VERSION,
    }


# -- serve


def test_port_in_use_is_reported_with_remedy(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        result = cli("serve", "--port", port)
    assert (result.code, result.out) == (EXIT_STORE, "")
    assert f"cannot listen on server.host 127.0.0.1, server.port {port}: Address already in use" in result.err
    assert "choose a different one with --port" in result.err


class PartialRequest:
    """A request that the service has started to read, but whose body is incomplete."""

    def __init__(self, service: RunningService, body: bytes) -> None:
        self._socket = socket.create_connection(service.address, timeout=WAIT)
        self._rest = body[10:]
        head = (
            "POST /api/v1/lineage HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        )
        self._socket.sendall(head.encode() + body[:10])
        assert self._socket.recv(1000).startswith(b"HTTP/1.1 100 ")

    def finish(self) -> bytes:
        self._socket.sendall(self._rest)
        return self._socket.recv(1000)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def is_listening(service: RunningService) -> bool:
    with suppress(OSError):
        socket.create_connection(service.address, timeout=WAIT).close()
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_service_completes_requests_before_it_stops(cli: Cli, number: signal.Signals) -> None:
    with cli.serve() as service, PartialRequest(service, EVENT) as request:
        service.process.send_signal(number)
        wait_for(lambda: not is_listening(service))
        assert service.process.poll() is None
        assert request.finish().startswith(b"HTTP/1.1 201 ")
        assert service.process.wait(WAIT) == 0
        assert "stopped" in [line["event"] for line in service.rest_of_log()]
    assert "db a" in cli("lineage", "db", "b").out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_stops_service_immediately(cli: Cli, number: signal.Signals) -> None:
    cli.environment["LINEAGE_BRIDGE__SERVER__DRAIN_SECONDS"] = "1000"
    with cli.serve() as service, PartialRequest(service, EVENT):
        service.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not is_listening(service))
        assert service.process.poll() is None
        service.process.send_signal(number)
        assert service.process.wait(WAIT) == -number


def test_unfinished_request_delays_stop_until_drain_timeout(cli: Cli) -> None:
    cli.environment["LINEAGE_BRIDGE__SERVER__DRAIN_SECONDS"] = "1"
    with cli.serve() as service, PartialRequest(service, EVENT):
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(WAIT) == 0


def test_commands_use_store_of_running_service(cli: Cli) -> None:
    with cli.serve() as service:
        assert service.post(EVENT) == 201
        assert "db a" in cli("lineage", "db", "b").out
        assert cli("ingest", "-", stdin=as_bytes(run_event(run=7)) + b"\n").code == 0
        assert service.post(as_bytes(run_event(run=8))) == 201


# -- unwritable output


@pytest.mark.parametrize(
    "arguments", ["version", "runs --output json", "export --canonical", "export --events", "doctor"]
)
def test_unwritable_output_is_one_line_error(cli: Cli, arguments: str) -> None:
    assert cli("ingest", "-", stdin=EVENT + b"\n").code == 0
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [*COMMAND, *arguments.split()], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, env=cli.environment, timeout=WAIT, check=False,
        )  # fmt: skip
    assert process.returncode == 1
    assert process.stderr.decode().endswith("error: cannot write the output: No space left on device\n")
    assert "Traceback" not in process.stderr.decode()


def test_unencodable_characters_are_escaped(cli: Cli) -> None:
    assert cli("ingest", "-", stdin=as_bytes(run_event(inputs=[dataset("ö→")], outputs=[dataset("t")]))).code == 0
    latin = {**cli.environment, "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    process = subprocess.run(
        [*COMMAND, "lineage", "db", "t"], capture_output=True, cwd=ROOT, env=latin, timeout=WAIT, check=True
    )
    assert "\\u2514\\u2500 <- db ö\\u2192" in process.stdout.decode("latin-1")
