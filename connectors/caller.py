"""Asks one server: no faster and no more at once than it may be, counted, and with a key where it wants one."""

from collections.abc import Callable, Mapping
from threading import BoundedSemaphore
from typing import Any

import msgspec

from connectors.http import HttpAnswer, HttpSession
from connectors.pace import Pace
from mappers.errors import LineageBridgeError

#: Says what an answer means that is none that was hoped for; None when it is.
Judge = Callable[[HttpAnswer], LineageBridgeError | None]
_JSON = {"Content-Type": "application/json"}


class Caller:
    """Asks once, whatever comes of it. Several threads may share it."""

    def __init__(
        self,
        session: HttpSession,
        counted: Callable[[str], None] = lambda _: None,
        failed: Callable[[str], None] = lambda _: None,
        *,
        api_key: str | None = None,
        concurrency: int = 4,
        pace: Pace | None = None,
    ) -> None:
        self.url = session.url
        self._session = session
        self._counted = counted
        self._failed = failed
        self._proof = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._pace = pace or Pace()
        self._free = BoundedSemaphore(concurrency)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def ask(
        self,
        kind: str,
        method: str,
        path: str,
        judge: Judge,
        *,
        body: Any = None,
        asked: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        read_seconds: float | None = None,
    ) -> HttpAnswer:
        """Ask; raises what the answer means, if it is none that was hoped for."""
        self._pace.take()
        with self._free:
            self._counted(kind)
            try:
                answer = self._session.request(
                    method,
                    path,
                    body=None if body is None else msgspec.json.encode(body),
                    parameters=asked,
                    headers={**({} if body is None else _JSON), **self._proof, **(headers or {})},
                    read_seconds=read_seconds,
                )
                if error := judge(answer):
                    raise error
            except LineageBridgeError:
                self._failed(kind)
                raise
        return answer
