"""Endless request heads, silent clients and too many connections."""

import resource
import socket
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from bridge.api import http_protocol
from tests.api.http_server import post_head, read_to_end, serving, status_of
from tests.api.service import LINEAGE, settings_for
from tests.factories import run_event
from tests.stores import as_bytes
from tests.system.service import Service, new_store, post_event, until

_GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
_CHUNKED = (
    b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    % LINEAGE.encode()
)


def send_until_closed(connection: socket.socket, data: bytes, limit: int) -> int:
    """Send data repeatedly until the service closes the connection; return the number of bytes sent."""
    sent = 0
    try:
        while sent < limit:
            connection.sendall(data)
            sent += len(data)
    except OSError:
        pass
    return sent


@pytest.mark.parametrize(
    ("start", "repeated"),
    [
        (_GET + b"X-Endless: ", b"x" * 65_536),
        (_GET, b"".join(b"X-%d: y\r\n" % number for number in range(6_000))),
        (b"GET /", b"x" * 65_536),
        (_CHUNKED + b"0\r\nX-Trailer: ", b"x" * 65_536),
        (_CHUNKED + b"1;", b"x" * 65_536),
        (_CHUNKED + b"0\r\n", b"X-Trailer: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n" * 1_000),
    ],
    ids=["header", "headers", "path", "trailer", "chunk extension", "trailers"],
)
def test_endless_head_is_cut_off(tmp_path: Path, start: bytes, repeated: bytes) -> None:
    with serving(settings_for(tmp_path)) as server, server.connect() as connection:
        connection.sendall(start)
        assert send_until_closed(connection, repeated, 50_000_000) < 20_000_000  # the kernel buffers several MB
        assert server.status() == 200


@pytest.mark.parametrize(("size", "expected"), [(60_000, 200), (66_000, 431), (200_000, 431)])
@pytest.mark.parametrize("value_size", [10, 50_000])
def test_size_of_head_is_limited(tmp_path: Path, size: int, expected: int, value_size: int) -> None:
    headers = b"X: " + b"x" * value_size + b"\r\n"
    head = (
        _GET + headers * (size // len(headers)) + b"Y: " + b"y" * (size % len(headers)) + b"\r\nConnection: close\r\n"
    )
    with serving(settings_for(tmp_path)) as server:
        response = server.exchange(head + b"\r\n")
        assert status_of(response) == expected
        assert b"x-content-type-options: nosniff" in response.lower()
        if expected == 431:
            assert b"application/problem+json" in response


def test_size_of_head_in_several_parts_is_limited(tmp_path: Path) -> None:
    with serving(settings_for(tmp_path)) as server, server.connect() as connection:
        for part in (_GET + b"X: " + b"x" * 40_000, b"y" * 20_000, b"z" * 8_000 + b"\r\n\r\n"):
            connection.sendall(part)
            time.sleep(0.1)
        assert status_of(connection.recv(1000)) == 431


def test_many_small_chunks_of_a_body_are_accepted(tmp_path: Path) -> None:
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in as_bytes(run_event(job="j" * 30_000)))
    with serving(settings_for(tmp_path)) as server, server.connect() as connection:
        connection.sendall(_CHUNKED + body + b"0\r\n\r\n")
        assert status_of(connection.recv(1000)) == 201


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", _GET + b"X: ", post_head(100), post_head(100) + b"{", _GET + b"\r\n\r\n"]
)
def test_silent_connections_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(http_protocol, "SILENT_SECONDS", 0.5)
    with serving(settings_for(tmp_path)) as server, server.connect() as connection:
        connection.sendall(sent)
        started_at = time.monotonic()
        read_to_end(connection)
        assert time.monotonic() - started_at < 6


def test_slow_body_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "SILENT_SECONDS", 1.5)
    body = as_bytes(run_event())
    with serving(settings_for(tmp_path)) as server, server.connect() as connection:
        connection.sendall(post_head(len(body)))
        for start in range(0, len(body), len(body) // 5 + 1):
            time.sleep(0.7)
            connection.sendall(body[start : start + len(body) // 5 + 1])
        assert status_of(connection.recv(1000)) == 201


def test_head_must_arrive_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "SILENT_SECONDS", 1.0)
    with serving(settings_for(tmp_path)) as server, server.connect() as connection:
        connection.settimeout(0.2)
        started_at = time.monotonic()
        while time.monotonic() - started_at < 10:
            try:
                connection.sendall(b"x")
                if connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() - started_at < 5


def test_excess_connections_are_refused(tmp_path: Path) -> None:
    with serving(settings_for(tmp_path), descriptors=256) as server:
        idle = [server.connect() for _ in range(200)]
        try:
            time.sleep(0.3)
            assert server.exchange(_GET + b"\r\n") == b""
            closed = sum(_is_closed(connection) for connection in idle)
            assert 200 - closed == http_protocol.connection_limit(256) - 1
        finally:
            for connection in idle:
                connection.close()
        time.sleep(0.2)
        assert server.status("/readyz") == 200


@pytest.mark.system
def test_exhausted_descriptors_do_not_stop_the_service(tmp_path: Path) -> None:
    limits = (256, 256)
    store = new_store(tmp_path)
    with Service(store, preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits)) as service:
        with closing(service.connect()) as connection, ExitStack() as idle:
            assert post_event(connection, as_bytes(run_event(run=1))).status == 201
            for _ in range(500):
                waiting = idle.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(("127.0.0.1", service.port))
            assert post_event(connection, as_bytes(run_event(run=2))).status == 201
            time.sleep(1)  # the write-ahead log is checkpointed
            assert post_event(connection, as_bytes(run_event(run=3))).status == 201
        until(lambda: service.ready() == 200, "connections to be accepted again")


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize(("descriptors", "connections"), [(64, 16), (1024, 640), (4096, 2944), (65_536, 10_000)])
def test_connection_limit_leaves_descriptors_for_the_store(descriptors: int, connections: int) -> None:
    assert http_protocol.connection_limit(descriptors) == connections
