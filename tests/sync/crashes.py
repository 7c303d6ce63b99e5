"""A process that dies where a test says so: before or after a call, before or after a transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from bridge.store.database import Database
from connectors.http import HttpResponse, HttpSession, Timeouts


class Killed(BaseException):
    """The process is gone; nothing that it would have done after this is done."""


class Mortality:
    """Counts the steps of a process, each end of a call and of a transaction, and ends it at one of them."""

    def __init__(self) -> None:
        self.steps = 0
        self.last: int | None = None
        self.dead = False
        self._lock = Lock()

    def die_after(self, steps: int) -> None:
        self.last = self.steps + steps

    def step(self) -> None:
        with self._lock:
            self.steps += 1
            self.dead = self.dead or self.steps == self.last
            if self.dead:
                raise Killed


class MortalSession(HttpSession):
    """A session of a process that may die; it waits for no answer longer than it has patience."""

    def __init__(self, url: str, mortality: Mortality, patience: float = 2.0) -> None:
        super().__init__(url, timeouts=Timeouts(2, patience, 2, 2))
        self._mortality = mortality
        self.patience = patience

    def request(self, method: str, path: str, **more: Any) -> HttpResponse:
        self._mortality.step()
        answer = super().request(method, path, **more | {"read_seconds": self.patience})
        self._mortality.step()
        return answer


class MortalDatabase:
    """The store as a process that may die has it: a transaction that was begun and not ended did nothing."""

    def __init__(self, db: Database, mortality: Mortality) -> None:
        self._db = db
        self._mortality = mortality

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    @contextmanager
    def transaction(self, **more: Any) -> Iterator[None]:
        with self._db.transaction(**more):
            self._mortality.step()
            yield
        self._mortality.step()
