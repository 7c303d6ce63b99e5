"""Limits the time of queries, and keeps slots free for light queries while heavy queries run."""

import threading
import time
from collections import deque
from typing import Self

from bridge.errors import Overloaded, QueryTimeout

#: How long a query may take, including the time until it starts.
QUERY_SECONDS = 30.0
#: A query that uses more CPU time or more time is heavy. CPU time does not depend on how busy the machine is, but it
#: does not include the work of a database server.
_LIGHT_CPU_SECONDS, _LIGHT_SECONDS = 0.1, 1.5
_LIGHT_SLOTS = _HEAVY_SLOTS = 2
#: Heavy queries that run or wait for a slot. The other threads remain for light queries.
_MAX_HEAVY = 12
#: Threads of the query executor; each has a connection.
MAX_THREADS = 16


def query_timeout() -> QueryTimeout:
    return QueryTimeout(
        f"the query took more than {QUERY_SECONDS:.0f} s: ask for less, for example with a smaller `depth`, `most` "
        "or `limit`"
    )


class _Slots:
    """Slots that are passed on to the thread that has waited longest, or shortest if `newest_first` is set."""

    def __init__(self, count: int, *, newest_first: bool = False) -> None:
        self._newest_first = newest_first
        self._mutex = threading.Lock()
        self._free_count = count
        self._waiting: deque[threading.Lock] = deque()

    def acquire(self) -> None:
        turn = threading.Lock()
        with self._mutex:
            if self._free_count:
                self._free_count -= 1
                return
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()

    def release(self) -> None:
        with self._mutex:
            if self._waiting:
                turn = self._waiting.pop() if self._newest_first else self._waiting.popleft()
                turn.release()
            else:
                self._free_count += 1


class QuerySlots:
    """The slots of all queries. Only queries in a slot proceed."""

    def __init__(self) -> None:
        # A light query that follows a burst of heavy ones does not wait until all of them are known to be heavy.
        self.light = _Slots(_LIGHT_SLOTS, newest_first=True)
        self.heavy = _Slots(_HEAVY_SLOTS)
        self.heavy_queries = threading.Semaphore(_MAX_HEAVY)
        self.is_closed = False


class QuerySlot:
    """The slot of one query. The query calls `check` at least once per statement."""

    def __init__(self, slots: QuerySlots, deadline: float) -> None:
        self._slots = slots
        self._deadline = deadline
        self._light_until = self._light_until_cpu = 0.0
        self._is_heavy = False

    def __enter__(self) -> Self:
        self._slots.light.acquire()
        self._light_until = time.monotonic() + _LIGHT_SECONDS
        self._light_until_cpu = time.thread_time() + _LIGHT_CPU_SECONDS
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_heavy:
            self._slots.heavy.release()
            self._slots.heavy_queries.release()
        else:
            self._slots.light.release()

    def check(self) -> None:
        """Move a heavy query to a slot for heavy queries. Raises QueryTimeout or Overloaded if the query must end."""
        now = time.monotonic()
        if not self._is_heavy and (now > self._light_until or time.thread_time() > self._light_until_cpu):
            self._wait_for_heavy_slot()
            now = time.monotonic()
        if self._slots.is_closed:
            raise Overloaded("the service is stopping")
        if now > self._deadline:
            raise query_timeout()

    def _wait_for_heavy_slot(self) -> None:
        if not self._slots.heavy_queries.acquire(blocking=False):
            raise Overloaded(f"{_MAX_HEAVY} other heavy queries are running or waiting")
        self._slots.light.release()
        self._slots.heavy.acquire()
        self._is_heavy = True
