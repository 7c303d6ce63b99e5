"""Received requests, for assertions."""

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass
class RecordedRequest:
    """A request and its response status; 0 if the connection was closed instead."""

    number: int
    method: str
    path: str
    query: str
    body: bytes = b""
    route: str = ""
    status: int | None = None

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Journal:
    """Requests in order of arrival."""

    def __init__(self) -> None:
        self.requests: list[RecordedRequest] = []
        self._lock = threading.Lock()

    def begin(self, method: str, path: str, query: str) -> RecordedRequest:
        with self._lock:
            request = RecordedRequest(len(self.requests) + 1, method, path, query)
            self.requests.append(request)
            return request

    def calls(self) -> Counter[tuple[str, str]]:
        """Count requests by method and route; requests without a route count by path."""
        return Counter((request.method, request.route or request.path) for request in self.requests)

    def clear(self) -> None:
        with self._lock:
            self.requests.clear()
