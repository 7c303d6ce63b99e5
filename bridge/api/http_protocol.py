"""The HTTP protocol of the server: limits what a client can hold before its request is authorized."""

import sys
from typing import Any

import structlog
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from bridge.api.problem import problem

_log = structlog.get_logger()

#: Maximum size of the request line and all headers. The same limit applies to trailers and chunk extensions.
MAX_HEAD_BYTES = 1 << 16
#: How long a client may send nothing while its request is incomplete; a request head must arrive within this time.
SILENT_SECONDS = 30.0
#: How long a client may leave a response unread.
UNREAD_SECONDS = 60.0
_MAX_CONNECTIONS = 10_000
_MAX_DESCRIPTORS = 65_536
#: Descriptors for the store, the targets and files.
_RESERVED_DESCRIPTORS = 128
_HEAD_TOO_LARGE = problem(
    431, "Request head too large", f"request line and headers have more than {MAX_HEAD_BYTES} bytes"
)
_HEAD_TOO_LARGE.headers["Connection"] = "close"


class LimitedProtocol(HttpToolsProtocol):
    """Closes connections with excessive request heads, and those that exceed `limit_concurrency`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._has_progressed = False
        self._pending_responses = 0
        self._first_chunk_bytes = self._chunk_bytes = 0
        self._unparsed_bytes = 0
        self._unsent_bytes = 0
        self._progress_at = self.loop.time()

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self.connections.discard(self)  # requests on the other connections are still served
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Parse data. The parser buffers what completes neither a head nor a part of a body, so that is limited."""
        self._has_progressed = False
        self._chunk_bytes = len(data)
        super().data_received(data)
        if self._has_progressed:
            self._unparsed_bytes = 0
            self._progress_at = self.loop.time()
            return
        self._unparsed_bytes += len(data)
        if self._unparsed_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._send_head_too_large()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._has_progressed = True
        self._first_chunk_bytes = self._chunk_bytes

    def on_headers_complete(self) -> None:
        self._has_progressed = True
        received_bytes = self._first_chunk_bytes + self._unparsed_bytes + self._chunk_bytes
        if received_bytes > MAX_HEAD_BYTES and self._head_bytes() > MAX_HEAD_BYTES:
            self.app = _respond_head_too_large
            self.url = b"/"  # a longer one cannot be parsed
        super().on_headers_complete()

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def on_body(self, body: bytes) -> None:
        self._has_progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._has_progressed = True
        self._pending_responses += 1
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._pending_responses -= 1  # below 0 if the response does not wait for the end of the request
        super().on_response_complete()

    def is_stalled(self, now: float) -> bool:
        """Return True if the client has stopped sending its request, or has stopped reading the response."""
        unsent_bytes = self.transport.get_write_buffer_size()
        if unsent_bytes != self._unsent_bytes or self.flow.read_paused:
            self._unsent_bytes, self._progress_at = unsent_bytes, now
        seconds = now - self._progress_at
        if unsent_bytes:
            return seconds > UNREAD_SECONDS
        return seconds > SILENT_SECONDS and self._pending_responses <= 0

    def _send_head_too_large(self) -> None:
        headers = [*self.server_state.default_headers, *_HEAD_TOO_LARGE.raw_headers]
        lines = [STATUS_LINE[_HEAD_TOO_LARGE.status_code], *(b"%b: %b\r\n" % header for header in headers), b"\r\n"]
        self.transport.write(b"".join([*lines, bytes(_HEAD_TOO_LARGE.body)]))
        self.transport.close()


async def _respond_head_too_large(scope: Scope, receive: Receive, send: Send) -> None:
    await _HEAD_TOO_LARGE(scope, receive, send)


class ConnectionSweeper:
    """Closes stalled connections, and logs when the limit of connections is reached."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._is_full = False

    def sweep(self, connections: set[Any], now: float) -> None:
        for connection in [connection for connection in connections if connection.is_stalled(now)]:
            connection.transport.abort()
        if len(connections) >= self._limit - 1:
            if not self._is_full:
                _log.warning("connection limit reached, refusing new connections", limit=self._limit - 1)
            self._is_full = True
        elif len(connections) < self._limit * 0.9:
            self._is_full = False


def raise_descriptor_limit() -> int:
    """Raise the limit of open files as far as allowed, and return it."""
    if sys.platform == "win32":
        return _MAX_DESCRIPTORS
    import resource  # noqa: PLC0415 - missing on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return _MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def connection_limit(descriptors: int) -> int:
    """Return how many connections to accept, so that the store can always open files.

    A quarter of the descriptors is left for connections that the kernel has accepted but that are about to be closed.
    """
    return max(16, min(_MAX_CONNECTIONS, descriptors * 3 // 4 - _RESERVED_DESCRIPTORS))
