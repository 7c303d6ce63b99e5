"""The command line and the service as real processes."""

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

EXIT_HANDLED, EXIT_USAGE, EXIT_STORE = 1, 2, 4

MADE = as_bytes(
    run_event(
        job="make_b",
        inputs=[dataset("a")],
        outputs=[dataset("b", columnLineage=columns({"x": [field("a", "x")]}))],
    )
)


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Cli:
    """Runs commands against one store."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store.db"
        self.environment = {**os.environ, "LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{self.store}", "PYTHONUTF8": "1"}

    def __call__(self, *words: str | Path, given: bytes = b"") -> Done:
        ran = subprocess.run(
            [*COMMAND, *map(str, words)],
            input=given, capture_output=True, cwd=ROOT, env=self.environment, timeout=WAIT, check=False,
        )  # fmt: skip
        return Done(ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    @contextmanager
    def serve(self, *words: str | Path) -> "Iterator[Served]":
        """Start the service on a free port; gives it once it is ready."""
        command = [*COMMAND, "serve", "--port", "0", *map(str, words)]
        environment = {**self.environment, "LINEAGE_BRIDGE__LOG__FORMAT": "json"}
        with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT, env=environment) as process:
            assert process.stderr is not None
            try:
                url = next((found for line in process.stderr if (found := _listening(line))), None)
                assert url is not None, f"the service ended with {process.wait(WAIT)}"
                wait_for(lambda: _answers(url))
                yield Served(process, url)
            finally:
                process.kill()


class Served(NamedTuple):
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


def _listening(line: bytes) -> str | None:
    with suppress(ValueError):
        said: dict[str, str] = json.loads(line)
        return said.get("url") if said.get("event") == "listening" else None
    return None


def _answers(url: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{url}/readyz").is_success
    return False


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    create_store_file(tmp_path)
    return Cli(tmp_path)


@pytest.fixture
def fresh(tmp_path: Path) -> Cli:
    """Give a command line whose store does not exist yet."""
    return Cli(tmp_path / "new" / "folder")


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.ndjson"
    path.write_bytes(MADE + b"\n")
    return path


# -- ingest, lineage, export


def test_events_from_a_file_show_up_as_lineage_in_a_store_made_on_the_way(fresh: Cli, events: Path) -> None:
    assert fresh("ingest", events) == Done(0, "ingested 1 events from 1 file(s)\n", "")
    assert fresh("lineage", "db", "b") == Done(0, "db b\n└─ <- db a   [jobs make_b, column]\n", "")
    downstream = fresh("lineage", "db", "a", "--direction", "downstream")
    assert downstream.out == "db a\n└─ -> db b   [jobs make_b, column]\n"
    again = fresh("ingest", events)
    assert (again.code, "ingested earlier (--restart ingests them again)" in again.out) == (0, True)


@pytest.mark.parametrize("also", [[], ["a folder"]], ids=["alone", "beside a folder"])
def test_a_dash_reads_standard_input(cli: Cli, tmp_path: Path, also: list[str]) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    for run in (2, 3):
        (folder / f"{run}.json").write_bytes(as_bytes(run_event(run=run)))
    done = cli("ingest", "-", *(tmp_path / name for name in also), given=MADE + b"\n")
    count = 1 + 2 * len(also)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"ingested {count} events from ")


def test_the_export_is_what_the_same_events_make_in_any_store(cli: Cli, events_dir: Path) -> None:
    path = events_dir / "spark-4.1.4" / "a_csv_to_parquet.ndjson"
    assert cli("ingest", path).code == 0
    done = cli("export", "--canonical")
    with Store() as store:
        store.apply(*path.read_bytes().splitlines())
        assert (done.code, done.out.encode(), done.err) == (0, store.export(), "")


def test_events_may_be_marked_as_history(cli: Cli, events: Path) -> None:
    assert cli("ingest", "--historical", events).code == 0
    with sqlite3.connect(cli.store) as store:
        assert store.execute("SELECT historical FROM run_event").fetchall() == [(1,)]
    store.close()


@pytest.mark.parametrize(
    ("words", "code", "said"),
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
        (["rejected", "show", "abcd"], EXIT_USAGE, "0 inputs have a hash that starts with abcd"),
        (["rejected", "retry", "abcd"], EXIT_USAGE, "0 inputs have a hash that starts with abcd"),
        (["keys", "create", "me"], EXIT_USAGE, "--scope"),
        (["serve", "--port", "80000"], EXIT_USAGE, "Invalid value for '--port'"),
        (["serve", "--host", "0.0.0.0"], EXIT_USAGE, "server.api_keys is empty"),  # noqa: S104 - it is refused
        (["serve", "--host", "host.invalid"], EXIT_USAGE, "server.api_keys is empty"),
        (["nonsense"], EXIT_USAGE, "No such command"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)  # fmt: skip
def test_a_mistake_is_told_without_a_traceback(cli: Cli, words: list[str], code: int, said: str) -> None:
    done = cli(*words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_wrong_setting_is_one_line_with_its_place(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "bridge.yaml"
    path.write_text("server:\n  prt: 1\n")
    done = cli("export", "--canonical", "--config", path)
    assert (done.code, done.out) == (EXIT_USAGE, "")
    assert done.err.startswith(f"error: {path}:2: unknown key server.prt; did you mean port?")


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_taken(cli: Cli, tmp_path: Path, events: Path) -> None:
    damaged = tmp_path / "a.json.gz"
    damaged.write_bytes(b"\x1f\x8b damaged")
    done = cli("ingest", damaged, events)
    assert (done.code, done.out) == (EXIT_HANDLED, "ingested 1 events from 2 file(s)\n")
    assert done.err.startswith(f"error: cannot continue reading {damaged}: ")
    assert "Traceback" not in done.err


# -- rejected


def test_refused_input_is_listed_shown_and_tried_again(cli: Cli, tmp_path: Path) -> None:
    bad, huge = b"not an event", as_bytes(run_event(inputs=[dataset("a"), dataset("b")]))
    path = tmp_path / "events.ndjson"
    path.write_bytes(b"\n".join((bad, huge, MADE)) + b"\n")
    strict = tmp_path / "strict.yaml"
    strict.write_text("intake:\n  max_datasets: 1\n")
    done = cli("ingest", path, "-c", strict)
    assert (done.code, done.out) == (EXIT_HANDLED, "ingested 0 events from 1 file(s)\n")
    assert done.err == "3 rejected, 0 stored but not merged: see `lineage-bridge rejected list`\n"

    listed = cli("rejected", "list")
    assert (listed.code, listed.err) == (0, "")
    rows = [line.split("  ", 4) for line in listed.out.splitlines()]
    assert [row[1:4] for row in rows] == [["rejected", "x1", str(path)]] * 3
    assert sorted(row[4] for row in rows)[:2] == ["2 datasets in one event; the limit is 1"] * 2
    first = next(row[0] for row in rows if row[4].startswith("not JSON: "))
    assert cli("rejected", "show", first[:8].upper()).out.encode().strip() == bad

    for words, said in (([first], "0 ingested, 1 still rejected\n"), ([], "2 ingested, 1 still rejected\n")):
        code, out, err = cli("rejected", "retry", *words)
        assert (code, out) == (EXIT_HANDLED, said)
        assert "not JSON" in err
    assert [line.split()[0] for line in cli("rejected", "list").out.splitlines()] == [first]
    assert "db a" in cli("lineage", "db", "b").out


def test_retrying_what_was_not_merged_leaves_history_history(cli: Cli, events: Path) -> None:
    assert cli("ingest", "--historical", events).code == 0
    with sqlite3.connect(cli.store) as store:
        store.execute("UPDATE run_event SET failure = 'a fault of ours'")
    store.close()
    assert " unmerged " in cli("rejected", "list").out
    assert cli("rejected", "retry") == Done(0, "1 ingested, 0 still rejected\n", "")
    with sqlite3.connect(cli.store) as store:
        assert store.execute("SELECT historical, failure FROM run_event").fetchall() == [(1, None)]
    store.close()


# -- stores that cannot be used


def _newer(path: Path) -> None:
    with sqlite3.connect(path) as store:
        store.execute("UPDATE alembic_version SET version_num = '9999'")
    store.close()


def _other_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as store:
        store.execute("CREATE TABLE photos (id INTEGER)")
    store.close()


def _text(path: Path) -> None:
    path.write_text("These are my notes, and they are long enough to be no header of a database at all. " * 10)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


NEWER = f"is at version 9999, this lineage-bridge supports up to {HEAD}: upgrade lineage-bridge"
OTHER = "a database of another application: choose another store.url"


@pytest.mark.parametrize(
    ("spoil", "said", "words"),
    [
        (_newer, NEWER, ["export", "--canonical"]),
        (_newer, NEWER, ["ingest", "-"]),
        (_newer, NEWER, ["serve", "--port", "0"]),
        (_other_database, OTHER, ["ingest", "-"]),
        (_other_database, OTHER, ["serve", "--port", "0"]),
        (_text, "file is not a database", ["ingest", "-"]),
        (_text, "file is not a database", ["serve", "--port", "0"]),
        (_folder, "unable to open database file", ["ingest", "-"]),
    ],
)
def test_a_store_that_is_not_ours_is_refused_and_left_alone(
    cli: Cli, spoil: Callable[[Path], None], said: str, words: list[str]
) -> None:
    spoil(cli.store)
    before = cli.store.read_bytes() if cli.store.is_file() else None
    done = cli(*words)
    assert (done.code, done.out) == (EXIT_STORE, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert said in done.err
    assert before is None or cli.store.read_bytes() == before


def test_a_store_of_another_kind_is_a_wrong_setting(cli: Cli) -> None:
    cli.environment["LINEAGE_BRIDGE__STORE__URL"] = "mysql://somewhere"
    done = cli("export", "--canonical")
    assert (done.code, "must start with sqlite:///" in done.err) == (EXIT_USAGE, True)


# -- keys


def test_a_new_key_is_printed_once_and_opens_a_service_that_knows_its_hash(cli: Cli, tmp_path: Path) -> None:
    made = cli("keys", "create", """Ann's "key" \\ ü""", "--scope", "ingest", "--scope", "ingest")
    key = made.out.strip()
    assert (made.code, made.out, len(key)) == (0, key + "\n", 43)
    assert key not in made.err
    head, _, config = made.err.partition("\n\n")
    assert "not shown again" in head
    assert hashlib.sha256(key.encode()).hexdigest() in config
    path = tmp_path / "keys.yaml"
    path.write_text(config, encoding="utf-8")
    with cli.serve("--config", path) as served:
        statuses = [served.post(MADE), served.post(MADE, Authorization="Bearer wrong")]
        assert statuses == [401, 401]
        assert served.post(MADE, Authorization=f"Bearer {key}") == 201
        metrics = httpx.get(f"{served.url}/metrics", headers={"Authorization": f"Bearer {key}"})
        assert metrics.status_code == 403
        assert 'the key Ann\'s "key" \\ ü lacks the scope operate' in metrics.json()["detail"]


def test_no_two_keys_are_the_same(cli: Cli) -> None:
    assert len({cli("keys", "create", "me", "--scope", "read").out for _ in range(3)}) == 3


# -- help and version


@pytest.mark.parametrize("words", [[], ["rejected"], ["keys"], ["schema"], ["config"]])
def test_a_command_without_its_subcommand_shows_help(cli: Cli, words: list[str]) -> None:
    done = cli(*words)
    assert re.search("^(Commands|Run):$", done.out + done.err, re.MULTILINE)
    assert done.code == EXIT_USAGE


def test_the_version_is_told(cli: Cli) -> None:
    done = cli("version")
    assert done == Done(0, f"lineage-bridge {__version__}\n", "")
    told = json.loads(cli("version", "--output", "json").out)
    assert told == {"version": __version__, "python": platform.python_version(), "store": HEAD, "spec": SPEC_VERSION}


# -- serve


def test_a_port_in_use_is_told_with_the_remedy(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = cli("serve", "--port", port)
    assert (done.code, done.out) == (EXIT_STORE, "")
    assert f"cannot listen on server.host 127.0.0.1, server.port {port}: Address already in use" in done.err
    assert "choose a different one with --port" in done.err


class HalfSent:
    """A request whose second half is still to come, known to be under way in the service."""

    def __init__(self, served: Served, body: bytes) -> None:
        self._socket = socket.create_connection(served.address, timeout=WAIT)
        self._rest = body[10:]
        head = (
            "POST /api/v1/lineage HTTP/1.1\r\nHost: bridge\r\nContent-Type: application/json\r\n"
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


def listens(served: Served) -> bool:
    with suppress(OSError):
        socket.create_connection(served.address, timeout=WAIT).close()
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_service_that_is_told_to_stop_answers_what_it_has_begun(cli: Cli, number: signal.Signals) -> None:
    with cli.serve() as served, HalfSent(served, MADE) as request:
        served.process.send_signal(number)
        wait_for(lambda: not listens(served))
        assert served.process.poll() is None
        assert request.finish().startswith(b"HTTP/1.1 201 ")
        assert served.process.wait(WAIT) == 0
        assert "stopped" in [line["event"] for line in served.rest_of_log()]
    assert "db a" in cli("lineage", "db", "b").out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_service_at_once(cli: Cli, number: signal.Signals) -> None:
    cli.environment["LINEAGE_BRIDGE__SERVER__DRAIN_SECONDS"] = "1000"
    with cli.serve() as served, HalfSent(served, MADE):
        served.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not listens(served))
        assert served.process.poll() is None
        served.process.send_signal(number)
        assert served.process.wait(WAIT) == -number


def test_a_request_that_never_ends_does_not_hold_the_service_up(cli: Cli) -> None:
    cli.environment["LINEAGE_BRIDGE__SERVER__DRAIN_SECONDS"] = "1"
    with cli.serve() as served, HalfSent(served, MADE):
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(WAIT) == 0


def test_commands_read_the_store_while_the_service_writes_it(cli: Cli) -> None:
    with cli.serve() as served:
        assert served.post(MADE) == 201
        assert "db a" in cli("lineage", "db", "b").out
        assert cli("ingest", "-", given=as_bytes(run_event(run=7)) + b"\n").code == 0
        assert served.post(as_bytes(run_event(run=8))) == 201


# -- output that cannot be written


@pytest.mark.parametrize(
    "words", ["version", "runs --output json", "export --canonical", "export --events", "doctor"]
)
def test_output_that_cannot_be_written_is_an_error_of_one_line(cli: Cli, words: str) -> None:
    assert cli("ingest", "-", given=MADE + b"\n").code == 0
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [*COMMAND, *words.split()], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, env=cli.environment, timeout=WAIT, check=False,
        )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stderr.decode().endswith("error: cannot write the output: No space left on device\n")
    assert "Traceback" not in ran.stderr.decode()


def test_what_the_terminal_has_no_letters_for_is_spelled_out(cli: Cli) -> None:
    assert cli("ingest", "-", given=as_bytes(run_event(inputs=[dataset("ö→")], outputs=[dataset("t")]))).code == 0
    latin = {**cli.environment, "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    ran = subprocess.run(
        [*COMMAND, "lineage", "db", "t"], capture_output=True, cwd=ROOT, env=latin, timeout=WAIT, check=True
    )
    assert "\\u2514\\u2500 <- db ö\\u2192" in ran.stdout.decode("latin-1")
