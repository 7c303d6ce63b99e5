"""Threads that ask a server, and stop asking as soon as it is found to be away."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import TypeVar

from mappers.errors import LineageBridgeError, NoAnswer, TargetBusy, TargetLocked, Unreachable

T = TypeVar("T")
R = TypeVar("R")

_UNAVAILABLE = frozenset({502, 503, 504})


class Workers:
    """Works on many things at once; of a batch, those that the server was not asked for yet fail with the others."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        #: Why the server is not asked any more, in this batch.
        self.away: LineageBridgeError | None = None

    def begin(self) -> None:
        """Begin a batch: it is found out anew whether the server is there."""
        self.away = None

    def failed(self, error: LineageBridgeError) -> None:
        """Take note of a failure: it may mean that the server is away."""
        unavailable = isinstance(error, TargetBusy) and error.status in _UNAVAILABLE
        if isinstance(error, NoAnswer):  # who was not asked is not the one whose call nobody answered
            self.away = self.away or Unreachable(str(error))
        elif unavailable or isinstance(error, TargetLocked | Unreachable):
            self.away = self.away or error

    def map(
        self, work: Callable[[T], R], things: Iterable[T], instead: Callable[[T, LineageBridgeError], R]
    ) -> list[R]:
        """Work on each; what fails, and what is not even tried, becomes something else instead."""

        def one(thing: T) -> R:
            if self.away is not None:
                return instead(thing, self.away)
            try:
                return work(thing)
            except LineageBridgeError as error:
                self.failed(error)
                return instead(thing, error)

        return list(self._pool.map(one, things))
