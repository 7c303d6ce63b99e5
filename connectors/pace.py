"""How fast a server is asked: a bucket that fills with as many calls as may be made in a second."""

import time
from collections.abc import Callable
from threading import Lock


class Pace:
    """Lets through so many calls a second, a second's worth of them at once; without a rate, all of them."""

    def __init__(
        self,
        rate: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._lock = Lock()
        self._most = self._left = max(1.0, rate or 0.0)
        self._seen = clock()

    def take(self) -> None:
        """Wait until it is this call's turn: those that wait are let through one after the other."""
        if self._rate is None:
            return
        with self._lock:
            now = self._clock()
            self._left = min(self._most, self._left + (now - self._seen) * self._rate) - 1
            self._seen = now
            wait = max(0.0, -self._left / self._rate)
        if wait:
            self._sleep(wait)
