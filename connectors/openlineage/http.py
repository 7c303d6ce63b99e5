"""Sends OpenLineage events to a service over HTTP, and reads what it knows."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Self

import httpx

from mappers.errors import ConfigError, Unreachable

#: Where a key comes from.
KEY_REMEDY = "(--api-key, or the variable LINEAGE_BRIDGE_API_KEY)"
_TIMEOUT = httpx.Timeout(connect=2.0, read=10.0, write=10.0, pool=10.0)


class Answer(NamedTuple):
    """What a service said to one event."""

    status: int
    detail: str


class EventClient:
    """Speaks to one service; `transport` takes its place in tests."""

    def __init__(self, url: str, *, api_key: str | None = None, transport: httpx.BaseTransport | None = None) -> None:
        if not _is_address(url):
            raise ConfigError(f"{url} is no address of a service, such as http://127.0.0.1:8090")
        headers = {"Content-Type": "application/json"}
        if api_key:
            if not (api_key.isascii() and api_key.isprintable()):
                raise ConfigError(f"an API key is printable ASCII, this one is not {KEY_REMEDY}")
            headers["Authorization"] = f"Bearer {api_key}"
        self.url = url.rstrip("/")
        self._client = httpx.Client(headers=headers, timeout=_TIMEOUT, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ready(self) -> bool:
        """Tell whether the service takes events."""
        try:
            return httpx.codes.is_success(self.readiness())
        except Unreachable:
            return False

    def readiness(self) -> int:
        """Give the status with which the service says whether it takes events; raises Unreachable without one."""
        try:
            return self._client.get(f"{self.url}/readyz").status_code
        except httpx.TransportError as error:
            raise Unreachable(f"{self.url} does not answer: {error}") from error

    def send(self, payload: bytes) -> Answer:
        """Send one event; raises Unreachable when there is no answer."""
        try:
            answer = self._client.post(f"{self.url}/api/v1/lineage", content=payload)
        except httpx.TransportError as error:
            raise Unreachable(f"{self.url} does not answer: {error}") from error
        return Answer(answer.status_code, answer.text)

    def get(self, path: str, parameters: Mapping[str, str]) -> tuple[int, bytes]:
        """Ask for what the service knows; raises Unreachable when there is no answer."""
        try:
            answer = self._client.get(f"{self.url}{path}", params=dict(parameters))
        except httpx.InvalidURL as error:
            raise ConfigError(f"{self.url}{path} cannot be asked: {error}") from error
        except httpx.TransportError as error:
            raise Unreachable(f"{self.url} does not answer: {error}") from error
        return answer.status_code, answer.content

    def send_all(self, payloads: Iterable[bytes], connections: int = 8) -> Iterator[Answer]:
        """Send many events over several connections."""
        with ThreadPoolExecutor(connections) as pool:
            yield from pool.map(self.send, payloads)


def _is_address(url: str) -> bool:
    try:
        read = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return read.scheme in {"http", "https"} and bool(read.host) and "%" not in read.host
