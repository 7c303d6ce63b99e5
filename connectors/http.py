"""HTTP for all connectors; the only module that imports httpx."""

import socket
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from importlib.metadata import version
from typing import Any, NamedTuple

import httpx
import msgspec

from connectors.errors import ConfigError, NoResponse, TargetMisconfigured, Unreachable
from connectors.watchdog import Watchdog
from mappers.redaction import redact_user_info

#: Tests pass their own transport instead of using the network.
Transport = httpx.BaseTransport

#: A page of 1,000 events with large facets has at most this size.
MAX_RESPONSE_BYTES = 256_000_000
#: Longest delay that a server may ask for.
_MAX_RETRY_AFTER_SECONDS = 600.0
_MAX_DIGITS = 9
_SUCCESS, _REDIRECTION, _CLIENT_ERROR = 200, 300, 400
#: Events of the HTTP library that provide the socket.
_CONNECTED = frozenset({"connection.connect_tcp.complete", "connection.start_tls.complete"})
#: Close idle connections before servers do, because a request on a closed connection gets no response.
_IDLE_SECONDS = 50.0


class Timeouts(NamedTuple):
    """Timeouts in seconds: for connecting, for the next bytes in each direction, and for a whole request."""

    connect: float = 2.0
    read: float = 10.0
    write: float = 10.0
    total: float = 30.0


class HttpResponse(NamedTuple):
    """A response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def success(self) -> bool:
        """True for a status of 200 to 299."""
        return _SUCCESS <= self.status < _REDIRECTION

    @property
    def is_redirect(self) -> bool:
        """True for a status of 300 to 399, which none of the supported APIs returns."""
        return _REDIRECTION <= self.status < _CLIENT_ERROR

    @property
    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 are replaced."""
        return self.body.decode(errors="replace")

    def has_member(self, name: str) -> bool:
        """Return whether the body is a JSON object with this member; the values are not decoded."""
        with suppress(msgspec.DecodeError):
            return name in msgspec.json.decode(self.body, type=dict[str, msgspec.Raw])
        return False

    def json(self) -> Any:
        """Decode the body; raises msgspec.DecodeError if it is not JSON."""
        return msgspec.json.decode(self.body)


class _Connection:
    """A client with a single connection, which can be closed while another thread waits for a response."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.deadline = 0.0
        self.aborted = False
        self._socket: socket.socket | None = None

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Note the socket when the client connects."""
        if event in _CONNECTED:
            self._socket = info["return_value"].get_extra_info("socket")
            if self.aborted:
                self.abort()

    def abort(self) -> None:
        self.aborted = True
        if self._socket is not None:
            with suppress(OSError):  # it is closed already
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class HttpSession:
    """Thread-safe HTTP session with one server.

    Each request in flight has a client with a single connection, which the next request reuses. One client with a
    pool of connections would search the pool for every request.
    """

    def __init__(
        self,
        url: str,
        *,
        shown_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - an immutable tuple
        transport: Transport | None = None,
    ) -> None:
        if not _is_valid_url(url):
            raise ConfigError(f"{redact_user_info(url)} is not a service URL such as http://127.0.0.1:8090")
        self._url = url.rstrip("/")
        #: The URL in messages, without secrets.
        self.url = shown_url or redact_user_info(self._url)
        user_agent = {"User-Agent": f"lineage-bridge/{version('lineage-bridge')}"}
        self._timeouts = timeouts
        self._headers = user_agent | dict(headers or {})
        self._transport = transport
        self._tls = httpx.create_ssl_context()
        #: Connections without a request; the last one used is the first to be used again.
        self._idle_connections: deque[_Connection] = deque()
        self._watchdog = Watchdog()
        self._closed = False

    def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> HttpResponse:
        """Send a request; raises Unreachable if nothing was sent, and NoResponse if the outcome is unknown.

        The request is aborted if the whole response has not arrived after `seconds`. Raises TargetMisconfigured if
        the unpacked body of the response is larger than any that the APIs return.
        """
        timeouts = self._timeouts if seconds is None else self._timeouts._replace(read=seconds, total=seconds)
        connection: _Connection | None = None
        try:
            with (
                self._borrow_connection(timeouts.total) as connection,
                connection.client.stream(
                    method,
                    _parse_url(f"{self._url}{path}"),
                    content=body,
                    params=dict(parameters) if parameters else None,
                    headers=dict(headers or {}),
                    timeout=httpx.Timeout(timeouts.read, connect=timeouts.connect, write=timeouts.write),
                    extensions={"trace": connection.trace},
                ) as response,
            ):
                content = self._read_body(response)
        except httpx.InvalidURL as error:
            raise ConfigError(f"{self.url}{path[:200]} cannot be requested: {error}") from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol) as error:
            raise Unreachable(f"{self.url} does not respond: {_error_text(error)}") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            reason = _error_text(error)
            if connection is not None and connection.aborted:
                reason = f"no complete response after {timeouts.total:.0f} s"
            raise NoResponse(f"{self.url} does not respond: {reason} ({method} {_shorten_path(path)})") from error
        # A reference cycle through the stream would keep the response until garbage collection.
        response.stream = httpx.ByteStream(b"")
        return HttpResponse(response.status_code, response.headers, content)

    def _read_body(self, response: httpx.Response) -> bytes:
        chunks: list[bytes] = []
        received_bytes = 0
        for chunk in response.iter_bytes():
            received_bytes += len(chunk)
            if received_bytes > MAX_RESPONSE_BYTES:
                limit = MAX_RESPONSE_BYTES // 1_000_000
                raise TargetMisconfigured(
                    f"{self.url} sent more than {limit} MB in one response: is it the right URL?"
                )
            chunks.append(chunk)
        return b"".join(chunks)

    @contextmanager
    def _borrow_connection(self, seconds: float) -> Iterator[_Connection]:
        try:
            connection = self._idle_connections.pop()
        except IndexError:
            connection = _Connection(self._create_client())
        connection.aborted, connection.deadline = False, time.monotonic() + seconds
        try:
            with self._watchdog.watch(connection):
                if self._closed:
                    raise Unreachable(f"{self.url} is not called, because the session is closed")
                yield connection
        finally:
            self._idle_connections.append(connection)
            if self._closed:
                self._close_idle_connections()

    def _create_client(self) -> httpx.Client:
        return httpx.Client(
            headers=self._headers,
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_IDLE_SECONDS),
            transport=self._transport,
            verify=self._tls,
        )

    def close(self) -> None:
        """Close all connections, also those that other threads use; their requests end with NoResponse."""
        self._closed = True
        self._watchdog.abort_all()
        self._close_idle_connections()

    def _close_idle_connections(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle_connections.pop().client.close()


@lru_cache(512)
def _parse_url(url: str) -> httpx.URL:
    return httpx.URL(url)


def _shorten_path(path: str) -> str:
    """Cut a path after the collection, because the names that follow must not appear in logs."""
    return "/".join(path.split("/")[:4])


def _error_text(error: Exception) -> str:
    return str(error) or type(error).__name__


def _is_valid_url(url: str) -> bool:
    try:
        parsed_url = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parsed_url.scheme in {"http", "https"} and bool(parsed_url.host) and "%" not in parsed_url.host


def retry_after_seconds(response: HttpResponse, now: datetime | None = None) -> float | None:
    """Return the delay in the Retry-After header (seconds or a date), or None if it is missing or invalid.

    The delay is at most ten minutes, so that a wrong header does not stop the sync for long.
    """
    value = response.headers.get("retry-after", "").strip()
    if value.isdecimal() and len(value) <= _MAX_DIGITS:
        return min(float(value), _MAX_RETRY_AFTER_SECONDS)
    with suppress(ValueError, TypeError, OverflowError):
        delay = parsedate_to_datetime(value) - (now or datetime.now(UTC))
        return min(max(0.0, delay.total_seconds()), _MAX_RETRY_AFTER_SECONDS)
    return None
