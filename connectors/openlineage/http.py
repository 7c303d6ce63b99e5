"""Sends OpenLineage events to a service over HTTP, and queries the service."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Self

from connectors.errors import ConfigError, Unreachable
from connectors.http import HttpResponse, HttpSession, Transport

#: Part of error messages: where to set the API key.
API_KEY_HINT = "(--api-key, or the variable LINEAGE_BRIDGE_API_KEY)"


class SendResult(NamedTuple):
    """The response of a service to one event."""

    status: int
    detail: str


class BridgeClient:
    """Client of one lineage-bridge service; `transport` replaces the network in tests."""

    def __init__(self, url: str, *, api_key: str | None = None, transport: Transport | None = None) -> None:
        headers = {"Content-Type": "application/json"}
        if api_key:
            if not (api_key.isascii() and api_key.isprintable()):
                raise ConfigError(f"the API key contains characters other than printable ASCII {API_KEY_HINT}")
            headers["Authorization"] = f"Bearer {api_key}"
        self._session = HttpSession(url, headers=headers, transport=transport)
        self.url = self._session.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._session.close()

    def is_ready(self) -> bool:
        """Return whether the service responds and accepts events."""
        try:
            return self._session.request("GET", "/readyz").success
        except Unreachable:
            return False

    def fetch_readiness_status(self) -> int:
        """Return the HTTP status of the readiness check; raises Unreachable if there is no response."""
        return self._session.request("GET", "/readyz").status

    def send(self, payload: bytes) -> SendResult:
        """Send one event; raises Unreachable if there is no response."""
        response = self._session.request("POST", "/api/v1/lineage", body=payload)
        return SendResult(response.status, response.text)

    def get(self, path: str, parameters: Mapping[str, str]) -> HttpResponse:
        """Send a GET request; raises Unreachable if there is no response."""
        return self._session.request("GET", path, parameters=parameters)

    def post(self, path: str, payload: bytes) -> HttpResponse:
        """Send a POST request; raises Unreachable if there is no response."""
        return self._session.request("POST", path, body=payload)

    def send_all(self, payloads: Iterable[bytes], connections: int = 8) -> Iterator[SendResult]:
        """Send events over several connections; yields the results in the order of the events."""
        with ThreadPoolExecutor(connections) as pool:
            yield from pool.map(self.send, payloads)
