"""Leaves a target alone that does not answer: one question an interval, until it does."""

import random
from collections.abc import Callable

#: The longest interval, in seconds, and how often the first one is doubled at most.
_LONGEST_SECONDS = 60.0
_MOST_DOUBLINGS = 16


class Breaker:
    """Tells whether a target may be asked. Times are microseconds."""

    def __init__(self, first_seconds: float, clock: Callable[[], int]) -> None:
        self._first = first_seconds
        self._clock = clock
        self._failures = 0
        self._until = 0
        #: Why the target is left alone; None while it is not.
        self.reason: str | None = None

    @property
    def open(self) -> bool:
        """Whether the target is left alone."""
        return self.reason is not None

    @property
    def wait_seconds(self) -> float:
        """How long until it may be asked whether it answers again."""
        return max(0.0, (self._until - self._clock()) / 1_000_000) if self.open else 0.0

    def failed(self, reason: str, wait_seconds: float | None = None) -> None:
        """Leave the target alone for an interval, twice as long as the one before, or as long as it asks for."""
        seconds = min(_LONGEST_SECONDS, self._first * 2 ** min(self._failures, _MOST_DOUBLINGS))
        self._failures += 1
        self.reason = reason
        self._until = self._clock() + int(max(seconds, wait_seconds or 0.0) * 1_000_000)

    def answered(self) -> None:
        """Let the target be asked again."""
        self._failures, self._until, self.reason = 0, 0, None


def backoff_seconds(base: float, attempts: int, longest: float, draw: Callable[[], float] = random.random) -> float:
    """Say how long to wait before the next try: anything up to a time that doubles with each."""
    return float(draw() * min(longest, base * 2 ** min(attempts, _MOST_DOUBLINGS)))
