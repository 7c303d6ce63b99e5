"""Circuit breaker of a target; while it is open, one probe per interval is allowed."""

import random
from collections.abc import Callable

#: Maximum interval, and the maximum number of times it is doubled.
_MAX_SECONDS = 60.0
_MAX_DOUBLINGS = 16


class CircuitBreaker:
    """Decides whether requests to a target are allowed. Times are microseconds."""

    def __init__(self, first_seconds: float, clock: Callable[[], int]) -> None:
        self._first_interval_seconds = first_seconds
        self._clock = clock
        self._failures = 0
        self._next_probe_at = 0
        #: Why the circuit is open; None while it is closed.
        self.pause_reason: str | None = None

    @property
    def open(self) -> bool:
        return self.pause_reason is not None

    @property
    def wait_seconds(self) -> float:
        """Seconds until the next probe."""
        return max(0.0, (self._next_probe_at - self._clock()) / 1_000_000) if self.open else 0.0

    def record_failure(self, reason: str, retry_after_seconds: float | None = None) -> None:
        """Open the circuit for twice the previous interval, or longer if the server asks for it (`Retry-After`)."""
        seconds = min(_MAX_SECONDS, self._first_interval_seconds * 2 ** min(self._failures, _MAX_DOUBLINGS))
        self._failures += 1
        self.pause_reason = reason
        self._next_probe_at = self._clock() + int(max(seconds, retry_after_seconds or 0.0) * 1_000_000)

    def record_success(self) -> None:
        self._failures, self._next_probe_at, self.pause_reason = 0, 0, None


def backoff_seconds(
    base: float, attempts: int, max_seconds: float, draw: Callable[[], float] = random.random
) -> float:
    """Compute an exponential backoff with full jitter."""
    return float(draw() * min(max_seconds, base * 2 ** min(attempts, _MAX_DOUBLINGS)))
