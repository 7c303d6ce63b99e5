"""A stand-in for a Marquez 0.51 server, with the observed strictness and quirks of the real one."""

import copy
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from tests.standins.faults import Faults
from tests.standins.journal import Journal, RecordedRequest
from tests.standins.marquez.app import App
from tests.standins.marquez.state import state
from tests.standins.marquez.store import Store
from tests.standins.server import Server


def _now() -> int:
    return time.time_ns() // 1_000


class Marquez:
    """Server for one test: on a port inside `with`, or in-process as the ASGI application `app`.

    with Marquez() as standin:
        standin.faults.next(error(503), method="POST", times=2)
        push(standin.url)
        assert standin.state()["runs"][run_id]["state"] == "COMPLETED"
        assert standin.calls()["POST", "/api/v1/lineage"] == 3
    """

    def __init__(self, *, port: int = 0, now: Callable[[], int] = _now) -> None:
        self.store = Store(now)
        self.faults = Faults()
        self.journal = Journal()
        self.app = App(self.store, self.faults, self.journal)
        self._port = port
        self._server: Server | None = None

    def __enter__(self) -> Self:
        self._server = Server(self.app, self._port, "marquez stand-in")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def url(self) -> str:
        """Base URL, without `/api/v1`."""
        assert self._server is not None, "the stand-in listens inside `with` only"
        return f"http://127.0.0.1:{self._server.port}"

    @contextmanager
    def offline(self) -> Iterator[None]:
        """Refuse connections inside `with`; the state is preserved."""
        assert self._server is not None
        port = self._server.port
        self._server.close()
        try:
            yield
        finally:
            self._server = Server(self.app, port, "marquez stand-in")

    @property
    def requests(self) -> list[RecordedRequest]:
        return self.journal.requests

    def calls(self) -> Counter[tuple[str, str]]:
        """Count the calls by method and route, as ("POST", "/api/v1/lineage")."""
        return self.journal.calls()

    def state(self) -> dict[str, Any]:
        """Full state without generated ids and times; see `state.py`."""
        with self.store.lock:
            return copy.deepcopy(state(self.store))
