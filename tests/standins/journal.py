"""What was asked, for assertions: every request, and how often each route was called."""

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass
class Seen:
    """One request, and the status of its answer: 0 if the connection was closed instead."""

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
    """The requests in the order of their arrival."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self._lock = threading.Lock()

    def begin(self, method: str, path: str, query: str) -> Seen:
        with self._lock:
            seen = Seen(len(self.requests) + 1, method, path, query)
            self.requests.append(seen)
            return seen

    def calls(self) -> Counter[tuple[str, str]]:
        """Count the calls by method and route; a request that met no route counts by its path."""
        return Counter((seen.method, seen.route or seen.path) for seen in self.requests)

    def clear(self) -> None:
        with self._lock:
            self.requests.clear()
