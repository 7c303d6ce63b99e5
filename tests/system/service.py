"""Real processes for tests: the service and the commands, on a store of their own, whole or wrapped in strace."""

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
from typing import Self

import zstandard

from bridge.store.canonical_export import export_canonical
from bridge.store.intake_audit import audit_intake
from bridge.store.schema import upgrade_sqlite
from bridge.store.sqlite import SqliteDatabase
from tests.stores import Store, as_bytes

Json = dict[str, object]

ROOT = Path(__file__).parent.parent.parent
START_SECONDS = 40
_STRACE = ("strace", "-D", "-f", "-qq")
_URL = re.compile(r'"url": ?"http://127\.0\.0\.1:(\d+)"')


def environment(store: Path, **more: str) -> dict[str, str]:
    """Give the environment of a process on this store; `more` is named like settings: STORE__MAX_SIZE_MB."""
    settings = {"STORE__URL": f"sqlite:///{store}", "SERVER__PORT": "0", "LOG__FORMAT": "json", **more}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LINEAGE_BRIDGE")}
    return inherited | {f"LINEAGE_BRIDGE__{name}": value for name, value in settings.items()}


def injecting(fault: str) -> list[str]:
    """Wrap a command so that a system call of it meets a fault, as in `fdatasync:error=EIO:when=3`.

    strace counts the calls of each thread by itself. The command stays the direct child, with its own exit code.
    """
    return [*_STRACE, "-o", os.devnull, "-e", f"trace={fault.partition(':')[0]}", "-e", f"inject={fault}"]


def tracing(calls: str, trace: Path) -> list[str]:
    """Wrap a command so that its system calls are written to a file, each descriptor with its path."""
    # Not for faults: with --seccomp-bpf, strace 6.1 only ever injects at the first call.
    return [*_STRACE, "--seccomp-bpf", "-y", "-o", str(trace), "-e", f"trace={calls}"]


def until(done: Callable[[], bool], what: str, seconds: float = START_SECONDS) -> None:
    """Wait for a condition; fails with what was waited for."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.01)


class Service:
    """A running `lineage-bridge serve`."""

    def __init__(
        self,
        store: Path,
        *,
        wrap: Sequence[str] = (),
        before: Callable[[], None] | None = None,
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
                preexec_fn=before,  # noqa: PLW1509 - the limits of one child; no thread of ours runs meanwhile
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
        found = _URL.search(self.log.read_text())
        assert found or self.process.poll() is None, self.log.read_text()
        return int(found[1]) if found else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(20)

    def exit_code(self) -> int:
        """Wait for the end that it chose by itself."""
        return self.process.wait(20)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)

    def ready(self) -> int:
        """Ask for readiness; 0 when nobody answers."""
        with closing(self.connect()) as connection:
            try:
                connection.request("GET", "/readyz")
                with connection.getresponse() as response:
                    return response.status
            except (OSError, http.client.HTTPException):
                return 0

    def answer(self, event: Json | bytes) -> tuple[int, dict[str, str]]:
        """Send an event over a connection of its own; status 0 when there was no answer."""
        with closing(self.connect()) as connection:
            return send(connection, as_bytes(event))

    def send(self, event: Json | bytes) -> int:
        return self.answer(event)[0]


def send(connection: http.client.HTTPConnection, payload: bytes) -> tuple[int, dict[str, str]]:
    """Send an event; status 0 when the service went away without an answer."""
    try:
        connection.request("POST", "/api/v1/lineage", payload, {"Content-Type": "application/json"})
        with connection.getresponse() as response:
            response.read()
    except (OSError, http.client.HTTPException):
        return 0, {}
    return response.status, {name.lower(): value for name, value in response.getheaders()}


def start(store: Path, *words: str, wrap: Sequence[str] = (), **settings: str) -> "subprocess.Popen[str]":
    """Start a command of ours."""
    return subprocess.Popen(
        [*wrap, sys.executable, "-m", "bridge", *words],
        cwd=ROOT,
        env=environment(store, **settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: "subprocess.Popen[str]", seconds: float = 60) -> tuple[int, str]:
    """Wait for a command; gives its exit code and all it said."""
    try:
        said, _ = process.communicate(timeout=seconds)
    finally:
        process.kill()
        process.wait(20)
    return process.returncode, said


def run(store: Path, *words: str, wrap: Sequence[str] = (), **settings: str) -> tuple[int, str]:
    return finish(start(store, *words, wrap=wrap, **settings))


def new_store(folder: Path) -> Path:
    """Make an empty store, so that the process under test has nothing to migrate."""
    path = folder / "store.db"
    upgrade_sqlite(path)
    return path


def write_events(path: Path, events: Iterable[Json | bytes]) -> Path:
    path.write_bytes(b"".join(as_bytes(event).rstrip(b"\n") + b"\n" for event in events))
    return path


def kept(store: Path) -> set[bytes]:
    """Give the payload of every event in the store, after a look at its integrity."""
    with closing(sqlite3.connect(store, timeout=30)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        unpack = zstandard.ZstdDecompressor().decompress
        return {unpack(payload) for (payload,) in connection.execute("SELECT payload FROM run_event")}


def exported(store: Path) -> bytes:
    with closing(SqliteDatabase.for_reading(store)) as connection:
        return b"".join(export_canonical(connection, "default"))


def expected_export(payloads: Iterable[bytes]) -> bytes:
    """Give the export of a store in memory that was fed with exactly these events."""
    with Store() as store:
        return store.apply(*payloads).export()


def assert_kept(store: Path, acknowledged: Iterable[bytes]) -> None:
    lost = set(acknowledged) - kept(store)
    assert not lost, f"{len(lost)} acknowledged events are not in the store, one is {min(lost)!r}"


def assert_consistent(store: Path, acknowledged: Iterable[bytes]) -> None:
    """All that was acknowledged is there, and the facts are what the kept events say."""
    assert_kept(store, acknowledged)
    with closing(SqliteDatabase.for_reading(store)) as db:
        assert audit_intake(db, "default").discrepancies == []
    assert exported(store) == expected_export(kept(store))
