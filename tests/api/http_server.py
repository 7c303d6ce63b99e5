"""The service in a thread of this process, requested over raw connections."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from bridge.api.app import AppState, build_app
from bridge.api.server import make_server
from bridge.bootstrap.queries import open_query_service
from bridge.bootstrap.store import make_writer
from bridge.settings.model import Settings
from tests.api.service import LINEAGE


class HttpServer(NamedTuple):
    """Address of a service that listens on loopback."""

    port: int

    def connect(self, timeout: float = 10) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def exchange(self, request: bytes) -> bytes:
        """Send bytes over a new connection; return what the service sends until it closes the connection."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_to_end(connection)

    def status(self, path: str = "/healthz") -> int:
        return status_of(
            self.exchange(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        )


@contextmanager
def serving(settings: Settings, descriptors: int = 4096) -> Iterator[HttpServer]:
    state = AppState(settings, lambda: make_writer(settings), lambda: open_query_service(settings))
    server = make_server(build_app(state), settings, descriptors)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        http_server = HttpServer(listener.getsockname()[1])
        try:
            http_server.status()  # the kernel accepts connections before the service is ready
            yield http_server
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


def post_head(length: int, *headers: str, path: str = LINEAGE) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


def read_to_end(connection: socket.socket) -> bytes:
    received = b""
    try:
        while chunk := connection.recv(1 << 16):
            received += chunk
    except ConnectionResetError:
        pass
    return received


def status_of(response: bytes) -> int:
    """Status of the first response, or 0 without a response."""
    return int(response.split(b" ", 2)[1]) if response else 0
