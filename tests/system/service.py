"""Runs the service and commands as real processes, optionally under strace."""

import http.client
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Self

import zstandard

from bridge.store.canonical_export import export_canonical
from bridge.store.intake_audit import audit_intake
from bridge.store.schema import upgrade_sqlite
from bridge.store.sqlite import SqliteDatabase
from bridge.store.writer import Writer
from tests.stores import Store, as_bytes

Json = dict[str, object]

ROOT = Path(__file__).parent.parent.parent
START_SECONDS = 40
_STRACE = ("strace", "-D", "-f", "-qq")
_URL = re.compile(r'"url": ?"http://127\.0\.0\.1:(\d+)"')


def environment(store: Path, **settings: str) -> dict[str, str]:
    """Environment of a process on this store; settings are named like STORE__MAX_SIZE_MB."""
    settings = {"STORE__URL": f"sqlite:///{store}", "SERVER__PORT": "0", "LOG__FORMAT": "json", **settings}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LINEAGE_BRIDGE")}
    return inherited | {f"LINEAGE_BRIDGE__{name}": value for name, value in settings.items()}


def inject_fault(fault: str) -> list[str]:
    """Command prefix that injects a fault into a system call, e.g. `fdatasync:error=EIO:when=3`.

    strace counts the calls per thread. The traced command stays the direct child and keeps its exit code.
    """
    return [*_STRACE, "-o", os.devnull, "-e", f"trace={fault.partition(':')[0]}", "-e", f"inject={fault}"]


def trace_syscalls(calls: str, trace: Path) -> list[str]:
    """Command prefix that writes system calls to a file, with the path of each descriptor."""
    # Not usable for faults: with --seccomp-bpf, strace 6.1 injects at the first call only.
    return [*_STRACE, "--seccomp-bpf", "-y", "-o", str(trace), "-e", f"trace={calls}"]


def until(condition: Callable[[], bool], description: str, seconds: float = START_SECONDS) -> None:
    """Wait for a condition; fail with its description after the timeout."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {description}"
        time.sleep(0.01)


class Service:
    """A running `lineage-bridge serve`."""

    def __init__(
        self,
        store: Path,
        *,
        wrap: Sequence[str] = (),
        preexec: Callable[[], None] | None = None,
        **settings: str,
    ) -> None:
        self.log = store.with_name(f"{store.name}-{time.monotonic_ns()}.log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*wrap, sys.executable, "-m", "bridge", "serve"],
                cwd=ROOT,
                env=environment(store, **settings),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=preexec,  # noqa: PLW1509 - affects this child only
            )
        try:
            until(lambda: self._port() is not None, "the service to listen")
            port = self._port()
            assert port is not None
            self.port = port
            until(lambda: self.process.poll() is not None or self.ready() == 200, "the service to be ready")
            assert self.process.poll() is None, self.log.read_text()
        except BaseException:
            self.kill()
            raise

    def _port(self) -> int | None:
        match = _URL.search(self.log.read_text())
        assert match or self.process.poll() is None, self.log.read_text()
        return int(match[1]) if match else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.process.kill()
        self.process.wait(20)

    def exit_code(self) -> int:
        """Wait until the process exits by itself; return its exit code."""
        return self.process.wait(20)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)

    def ready(self) -> int:
        """Status of /readyz, or 0 without a response."""
        with closing(self.connect()) as connection:
            try:
                connection.request("GET", "/readyz")
                with connection.getresponse() as response:
                    return response.status
            except (OSError, http.client.HTTPException):
                return 0

    def post(self, event: Json | bytes) -> "Response":
        """Send an event over a new connection."""
        with closing(self.connect()) as connection:
            return post_event(connection, as_bytes(event))

    def send(self, event: Json | bytes) -> int:
        """Send an event over a new connection; return the status (0 without a response)."""
        return self.post(event).status


class Response(NamedTuple):
    """A response; the status is 0 if the service closed the connection without one."""

    status: int
    headers: dict[str, str]
    body: str


def post_event(connection: http.client.HTTPConnection, payload: bytes) -> Response:
    try:
        connection.request("POST", "/api/v1/lineage", payload, {"Content-Type": "application/json"})
        with connection.getresponse() as response:
            body = response.read().decode()
    except (OSError, http.client.HTTPException):
        return Response(0, {}, "")
    return Response(response.status, {name.lower(): value for name, value in response.getheaders()}, body)


def start(store: Path, *arguments: str, wrap: Sequence[str] = (), **settings: str) -> "subprocess.Popen[str]":
    """Start a lineage-bridge command."""
    return subprocess.Popen(
        [*wrap, sys.executable, "-m", "bridge", *arguments],
        cwd=ROOT,
        env=environment(store, **settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: "subprocess.Popen[str]", seconds: float = 60) -> tuple[int, str]:
    """Wait for a command; return its exit code and output."""
    try:
        output, _ = process.communicate(timeout=seconds)
    finally:
        process.kill()
        process.wait(20)
    return process.returncode, output


def run(store: Path, *arguments: str, wrap: Sequence[str] = (), **settings: str) -> tuple[int, str]:
    return finish(start(store, *arguments, wrap=wrap, **settings))


def new_store(folder: Path) -> Path:
    """Create an empty store, so that the process under test runs no migrations and derives nothing at start."""
    path = folder / "store.db"
    upgrade_sqlite(path)
    with closing(SqliteDatabase.for_writing(path)) as db:
        Writer(db)
    return path


def write_events(path: Path, events: Iterable[Json | bytes]) -> Path:
    path.write_bytes(b"".join(as_bytes(event).rstrip(b"\n") + b"\n" for event in events))
    return path


def stored_payloads(store: Path) -> set[bytes]:
    """Payloads of all events in the store, after an integrity check."""
    with closing(sqlite3.connect(store, timeout=30)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        unpack = zstandard.ZstdDecompressor().decompress
        return {unpack(payload) for (payload,) in connection.execute("SELECT payload FROM run_event")}


def canonical_export(store: Path) -> bytes:
    with closing(SqliteDatabase.for_reading(store)) as connection:
        return b"".join(export_canonical(connection, "default"))


def expected_export(payloads: Iterable[bytes]) -> bytes:
    """Export of an in-memory store with exactly these events."""
    with Store() as store:
        return store.apply(*payloads).export()


def assert_stored(store: Path, acknowledged: Iterable[bytes]) -> None:
    lost = set(acknowledged) - stored_payloads(store)
    assert not lost, f"{len(lost)} acknowledged events are not in the store, e.g. {min(lost)!r}"


def assert_consistent(store: Path, acknowledged: Iterable[bytes]) -> None:
    """The store contains all acknowledged events, and its canonical state follows from its events."""
    assert_stored(store, acknowledged)
    with closing(SqliteDatabase.for_reading(store)) as db:
        assert audit_intake(db, "default").discrepancies == []
    assert canonical_export(store) == expected_export(stored_payloads(store))
