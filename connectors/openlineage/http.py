"""Sends OpenLineage events to a service over HTTP, and reads what it knows."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Self

from connectors.errors import ConfigError, Unreachable
from connectors.http import HttpResponse, HttpSession, Transport

#: Where a key comes from.
API_KEY_HINT = "(--api-key, or the variable LINEAGE_BRIDGE_API_KEY)"


class SendResult(NamedTuple):
    """What a service said to one event."""

    status: int
    detail: str


class BridgeClient:
    """Speaks to one service; `transport` takes its place in tests."""

    def __init__(self, url: str, *, api_key: str | None = None, transport: Transport | None = None) -> None:
        headers = {"Content-Type": "application/json"}
        if api_key:
            if not (api_key.isascii() and api_key.isprintable()):
                raise ConfigError(f"an API key is printable ASCII, this one is not {API_KEY_HINT}")
            headers["Authorization"] = f"Bearer {api_key}"
        self._session = HttpSession(url, headers=headers, transport=transport)
        self.url = self._session.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def is_ready(self) -> bool:
        """Tell whether the service takes events."""
        try:
            return self._session.request("GET", "/readyz").success
        except Unreachable:
            return False

    def readiness_status(self) -> int:
        """Give the status with which the service says whether it takes events; raises Unreachable without one."""
        return self._session.request("GET", "/readyz").status

    def send(self, payload: bytes) -> SendResult:
        """Send one event; raises Unreachable when there is no answer."""
        answer = self._session.request("POST", "/api/v1/lineage", body=payload)
        return SendResult(answer.status, answer.text)

    def get(self, path: str, parameters: Mapping[str, str]) -> HttpResponse:
        """Ask for what the service knows; raises Unreachable when there is no answer."""
        return self._session.request("GET", path, parameters=parameters)

    def post(self, path: str, payload: bytes) -> HttpResponse:
        """Tell the service to do something; raises Unreachable when there is no answer."""
        return self._session.request("POST", path, body=payload)

    def send_all(self, payloads: Iterable[bytes], connections: int = 8) -> Iterator[SendResult]:
        """Send many events over several connections."""
        with ThreadPoolExecutor(connections) as pool:
            yield from pool.map(self.send, payloads)
