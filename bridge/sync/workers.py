"""Threads that ask a server, and stop asking as soon as it is found to be away."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from threading import Lock
from typing import TypeVar

from mappers.errors import LineageBridgeError, NoAnswer, TargetBusy, TargetLocked, Unreachable

T = TypeVar("T")
R = TypeVar("R")

_UNAVAILABLE = frozenset({502, 503, 504})
#: After how many calls of a batch that nobody answered its rest waits for another time.
_MOST_UNANSWERED = 8


class Workers:
    """Works on many things at once; of a batch, those that the server was not asked for yet fail with the others."""

    def __init__(self, pool: Executor, probe: Callable[[], None]) -> None:
        self._pool = pool
        self._probe = probe
        self._lock = Lock()
        self._unanswered = 0
        self._asked = False
        #: Why the server is not asked any more, in this batch.
        self.away: LineageBridgeError | None = None

    def begin(self) -> None:
        """Begin a batch: it is found out anew whether the server is there."""
        self.away, self._unanswered, self._asked = None, 0, False

    def failed(self, error: LineageBridgeError) -> LineageBridgeError:
        """Take note of a failure, which may mean that the server is away; gives what it means."""
        unavailable = isinstance(error, TargetBusy) and error.status in _UNAVAILABLE
        if isinstance(error, NoAnswer):
            with self._lock:
                self.away = self.away or self._after_silence(error)
            return self.away or error
        if unavailable or isinstance(error, TargetLocked | Unreachable):
            self.away = self.away or error
        return error

    def is_there(self) -> bool:
        """Ask once a batch whether the server answers anything: a 500 may be its own fault."""
        with self._lock:
            if self.away is None and not self._asked:
                self._asked = True
                try:
                    self._probe()
                except LineageBridgeError as away:
                    self.away = away
        return self.away is None

    def _after_silence(self, error: NoAnswer) -> LineageBridgeError | None:
        """Say why the server is not to be asked any more after one call that it did not answer, if it is not."""
        self._unanswered += 1
        if self._unanswered == 1:
            try:
                self._probe()
            except LineageBridgeError as away:
                return Unreachable(str(away)) if isinstance(away, NoAnswer) else away
        return (
            TargetBusy(f"many calls are not answered: {error}", 0) if self._unanswered >= _MOST_UNANSWERED else None
        )

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
                return instead(thing, self.failed(error))

        return list(self._pool.map(one, things))
