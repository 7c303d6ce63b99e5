"""HTTP for all connectors; the only module that imports httpx."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import httpx
import msgspec

from connectors.errors import ConfigError, NoResponse, Unreachable

#: Takes the place of the network in tests.
Transport = httpx.BaseTransport

_SUCCESS, _REDIRECTION = 200, 300
#: The server closes what rests longer; who speaks into it then gets no answer.
_IDLE_SECONDS = 50.0


class Timeouts(NamedTuple):
    """How long is waited, in seconds: for a connection, for the next bytes either way, for a free connection."""

    connect: float = 2.0
    read: float = 10.0
    write: float = 10.0
    pool: float = 10.0


class HttpResponse(NamedTuple):
    """What a server said; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def success(self) -> bool:
        """Tell whether the server did what it was asked for."""
        return _SUCCESS <= self.status < _REDIRECTION

    @property
    def text(self) -> str:
        """Give the body as a text, whatever its bytes are."""
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        """Read the body; raises msgspec.DecodeError when it is no JSON."""
        return msgspec.json.decode(self.body)


class HttpSession:
    """Speaks to one server over few connections that are kept. Several threads may share it."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - an immutable tuple
        connections: int = 10,
        transport: Transport | None = None,
    ) -> None:
        if not _is_address(url):
            raise ConfigError(f"{url} is no address of a service, such as http://127.0.0.1:8090")
        self.url = url.rstrip("/")
        self._timeouts = timeouts
        self._client = httpx.Client(
            headers=dict(headers or {}),
            timeout=httpx.Timeout(**timeouts._asdict()),
            limits=httpx.Limits(
                max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=_IDLE_SECONDS
            ),
            transport=transport,
        )

    def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        read_seconds: float | None = None,
    ) -> HttpResponse:
        """Ask the server: raises Unreachable when nothing was sent, NoAnswer when nobody knows what became of it."""
        timeouts = self._timeouts if read_seconds is None else self._timeouts._replace(read=read_seconds)
        try:
            answer = self._client.request(
                method,
                f"{self.url}{path}",
                content=body,
                params=dict(parameters) if parameters else None,
                headers=dict(headers or {}),
                timeout=httpx.Timeout(**timeouts._asdict()),
            )
        except httpx.InvalidURL as error:
            raise ConfigError(f"{self.url}{path[:200]} cannot be asked: {error}") from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol) as error:
            raise Unreachable(f"{self.url} does not answer: {_said(error)}") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise NoResponse(f"{self.url} does not answer: {_said(error)} ({method} {_beginning(path)})") from error
        # It holds the answer that holds it: body and all would wait for the garbage collector.
        answer.stream = httpx.ByteStream(b"")
        return HttpResponse(answer.status_code, answer.headers, answer.content)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _beginning(path: str) -> str:
    """Cut a path to what tells which call it is: names that follow are not for logs."""
    return "/".join(path.split("/")[:4])


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _is_address(url: str) -> bool:
    try:
        read = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return read.scheme in {"http", "https"} and bool(read.host) and "%" not in read.host


def retry_after_seconds(answer: HttpResponse, now: datetime | None = None) -> float | None:
    """Read what an answer says of it, in seconds or until a date; None when it says nothing."""
    given = answer.headers.get("retry-after", "").strip()
    if given.isdecimal():
        return float(given)
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(given) - (now or datetime.now(UTC))).total_seconds())
    return None
