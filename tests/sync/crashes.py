"""Simulated crashes of a process, before or after any request or transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from bridge.store.database import Database
from connectors.http import HttpResponse, HttpSession, Timeouts


class Crash(BaseException):
    """Simulated crash; a BaseException, so that product code cannot handle it."""


class CrashInjector:
    """Counts the requests and transactions of a process, and raises Crash at a chosen step.

    After a crash, every further step raises too.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.crash_at: int | None = None
        self.crashed = False
        self._lock = Lock()

    def crash_after(self, steps: int) -> None:
        self.crash_at = self.steps + steps

    def step(self) -> None:
        with self._lock:
            self.steps += 1
            self.crashed = self.crashed or self.steps == self.crash_at
            if self.crashed:
                raise Crash


class CrashingSession(HttpSession):
    """HTTP session of a process that may crash; requests time out after `timeout_seconds`."""

    def __init__(self, url: str, crash_injector: CrashInjector, timeout_seconds: float = 2.0) -> None:
        super().__init__(url, timeouts=Timeouts(2, timeout_seconds, 2, 2))
        self._crash_injector = crash_injector
        self.timeout_seconds = timeout_seconds

    def request(self, method: str, path: str, **kwargs: Any) -> HttpResponse:
        self._crash_injector.step()
        response = super().request(method, path, **kwargs | {"seconds": self.timeout_seconds})
        self._crash_injector.step()
        return response


class CrashingDatabase:
    """Database of a process that may crash; a transaction interrupted by a crash is rolled back."""

    def __init__(self, db: Database, crash_injector: CrashInjector) -> None:
        self._db = db
        self._crash_injector = crash_injector

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    @contextmanager
    def transaction(self, **kwargs: Any) -> Iterator[None]:
        with self._db.transaction(**kwargs):
            self._crash_injector.step()
            yield
        self._crash_injector.step()
