"""Circuit breaker; a target that can only read stays paused."""

import random
from collections.abc import Callable

#: Maximum interval, and the maximum number of times it is doubled.
_MAX_SECONDS = 60.0
_MAX_DOUBLINGS = 16


class CircuitBreaker:
    """Decides whether requests are allowed, and how many items may be sent at once. Times are microseconds."""

    def __init__(self, first_seconds: float, clock: Callable[[], int]) -> None:
        self._first_interval_seconds = first_seconds
        self._clock = clock
        self._failures = 0
        self._interval = 0
        self._next_probe_at = 0
        #: Number of items to send next while the circuit is half-open.
        self._trial_size: int | None = None
        #: Whether the circuit was closed by a probe, and nothing was pushed since.
        self._unconfirmed = False
        #: Why the circuit is open; None while it is closed or half-open.
        self.pause_reason: str | None = None

    @property
    def open(self) -> bool:
        return self.pause_reason is not None

    @property
    def half_open(self) -> bool:
        return self._trial_size is not None

    @property
    def wait_seconds(self) -> float:
        """Seconds until the next probe; none if the clock was set back."""
        wait = self._next_probe_at - self._clock()
        return wait / 1_000_000 if self.open and 0 < wait <= self._interval else 0.0

    def record_failure(self, reason: str, retry_after_seconds: float | None = None) -> None:
        """Open the circuit for twice the previous interval, or longer if the server asks for it (`Retry-After`)."""
        seconds = min(_MAX_SECONDS, self._first_interval_seconds * 2 ** min(self._failures, _MAX_DOUBLINGS))
        self._failures += 1
        self._trial_size, self.pause_reason = None, reason
        self._interval = int(max(seconds, retry_after_seconds or 0.0) * 1_000_000)
        self._next_probe_at = self._clock() + self._interval

    def record_response(self) -> None:
        """Close the circuit after a successful probe; if pushes failed after the last one, allow only one item."""
        if self._unconfirmed:
            self.allow_trial()
        self._unconfirmed, self.pause_reason = True, None

    def allow_trial(self) -> None:
        """Allow one item after a pause. Its failure opens the circuit again, for a longer interval."""
        self._trial_size, self.pause_reason = 1, None

    def batch_size(self, limit: int) -> int:
        return limit if self._trial_size is None else min(limit, self._trial_size)

    def extend_trial(self) -> None:
        """Allow more items, because the last ones needed no request."""
        if self._trial_size is not None:
            self._trial_size = 2 * self._trial_size

    def record_success(self) -> None:
        """Close the circuit, because the target accepted something."""
        self._failures, self._unconfirmed, self._trial_size, self.pause_reason = 0, False, None, None


def backoff_seconds(
    base: float, attempts: int, max_seconds: float, draw: Callable[[], float] = random.random
) -> float:
    """Compute an exponential backoff with full jitter."""
    return float(draw() * min(max_seconds, base * 2 ** min(attempts, _MAX_DOUBLINGS)))
