"""Aborts calls that take too long, whatever the server sends meanwhile."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_CHECK_SECONDS = 0.25


class Call(Protocol):
    """A call in flight. `deadline` is a monotonic time."""

    deadline: float

    def abort(self) -> None:
        """End the call with an error; must not block."""


class Watchdog:
    """Aborts calls at their deadline. Its thread runs only while there are calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: set[Call] = set()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, call: Call) -> Iterator[None]:
        with self._lock:
            self._calls.add(call)
            if self._thread is None:
                self._thread = threading.Thread(target=self._abort_late_calls, name="watchdog", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._calls.discard(call)

    def abort_all(self) -> None:
        with self._lock:
            for call in self._calls:
                call.abort()

    def _abort_late_calls(self) -> None:
        while True:
            time.sleep(_CHECK_SECONDS)
            with self._lock:
                if not self._calls:
                    self._thread = None
                    return
                for call in self._calls:
                    if call.deadline <= time.monotonic():
                        call.abort()
