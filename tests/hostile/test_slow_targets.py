"""Targets that send one byte per second or never answer: calls end, are reported, and do not delay the shutdown."""

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from bridge.store.sqlite import SqliteDatabase
from connectors.errors import NoResponse, Unreachable
from connectors.http import HttpSession, Timeouts
from tests.api.service import create_store_file
from tests.contract.targets import TARGETS, Case
from tests.factories import dataset, run_event, schema
from tests.system.service import Service, until

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"


class SlowServer:
    """Accepts every connection, and then sends some bytes and one more byte per interval, or nothing."""

    def __init__(self, first_bytes: bytes = b"", byte: bytes = b"", interval: float = 0.1) -> None:
        self._first_bytes, self._byte, self._interval = first_bytes, byte, interval
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests = 0
        self._stopped = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.recv(65_536)
            self.requests += 1
            connection.sendall(self._first_bytes)
            while not self._stopped.wait(self._interval):
                connection.sendall(self._byte)

    def close(self) -> None:
        self._stopped.set()
        self._listener.close()


SLOW: dict[str, Callable[[], SlowServer]] = {
    "silent": SlowServer,
    "drips the status line": lambda: SlowServer(b"", b"H"),
    "drips headers": lambda: SlowServer(b"HTTP/1.1 200 OK\r\nX-Filler: ", b"x"),
    "drips the body": lambda: SlowServer(HEAD, b" "),
}


@pytest.fixture(params=SLOW.values(), ids=SLOW)
def server(request: pytest.FixtureRequest) -> Iterator[SlowServer]:
    with closing(request.param()) as slow_server:
        yield slow_server


@contextmanager
def limit_seconds(seconds: float) -> Iterator[None]:
    started_at = time.monotonic()
    yield
    assert time.monotonic() - started_at < seconds


def test_request_ends_after_total_time(server: SlowServer) -> None:
    session = HttpSession(server.url, timeouts=Timeouts(total=1.0))
    with closing(session), limit_seconds(3.0), pytest.raises(NoResponse, match="no complete response after 1 s"):
        session.request("GET", "/")


def test_close_ends_requests_of_other_threads(server: SlowServer) -> None:
    session = HttpSession(server.url)
    errors: list[Exception] = []

    def request() -> None:
        try:
            session.request("GET", "/")
        except NoResponse as error:
            errors.append(error)

    thread = threading.Thread(target=request)
    thread.start()
    while not server.requests:
        time.sleep(0.01)
    with limit_seconds(1.0):
        session.close()
        thread.join()
    assert errors
    with pytest.raises(Unreachable):
        session.request("GET", "/")


def test_connection_is_usable_after_an_aborted_request() -> None:
    with closing(SlowServer(HEAD, b" ")) as server:
        session = HttpSession(server.url, timeouts=Timeouts(total=0.5))
        with closing(session):
            for _ in range(2):
                with pytest.raises(NoResponse):
                    session.request("GET", "/")
            assert server.requests == 2


@pytest.fixture(params=TARGETS, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    with request.param() as case:
        yield case


def test_slow_target_is_reported(case: Case, server: SlowServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("marquez.client", "openmetadata.session", "webhook.client"):
        for name in ("_CALL_SECONDS", "_PROBE_SECONDS", "PROBE_SECONDS"):
            monkeypatch.setattr(f"connectors.{module}.{name}", 0.5, raising=False)
    for number in range(3):
        case.apply(run_event("COMPLETE", run=number, job=f"job{number}", outputs=[dataset("t", schema=schema("k"))]))
    case.connect(url=server.url)
    case.session.timeout_seconds = 0.5
    with limit_seconds(15.0):
        case.round()
    assert "does not respond" in str(case.reconciler.status().trouble)
    case.connect()
    case.clock.wait(61)
    case.converge()
    assert not case.unsettled()


def target_settings(url: str) -> dict[str, str]:
    return {
        "MARQUEZ__ENABLED": "true",
        "MARQUEZ__URL": url,
        "OPENMETADATA__ENABLED": "true",
        "OPENMETADATA__SERVER__HOST": url,
        "OPENMETADATA__AUTH__TYPE": "jwt",
        "OPENMETADATA__AUTH__JWT_TOKEN": "a.b.c",
    }


def test_service_stops_while_targets_do_not_answer(tmp_path: Path, server: SlowServer) -> None:
    with Service(create_store_file(tmp_path), **target_settings(server.url)) as service:
        service.post(run_event("COMPLETE", outputs=[dataset("t", schema=schema("k"))]))
        until(lambda: server.requests >= 2, "requests to both targets")
        time.sleep(1)
        with limit_seconds(10.0):
            service.process.send_signal(signal.SIGTERM)
            service.process.wait(30)
        assert service.process.returncode == 0, service.log.read_text()
    with closing(SqliteDatabase.for_reading(tmp_path / "store.db")) as db:
        assert db.fetch_all("SELECT count(*) FROM sync_item WHERE claim IS NOT NULL OR outcome = 'dead'") == [(0,)]
