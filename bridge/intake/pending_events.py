"""Queue of events that are stored but not merged yet."""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bridge.store.event_log import EventKey

#: Maximum number of pending events of one key.
MAX_PENDING_PER_KEY = 100


class PendingEvents:
    """The pending events of this process, by the key that sent them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: OrderedDict[str, deque[EventKey]] = OrderedDict()
        self._in_progress = 0

    def add(self, key: str, events: Sequence[EventKey]) -> None:
        if events:
            with self._lock:
                self._events.setdefault(key, deque()).extend(events)

    def count(self, key: str) -> int:
        if not self._events:
            return 0
        with self._lock:
            return len(self._events.get(key, ()))

    def total(self) -> int:
        """Return the number of events, including those in progress."""
        with self._lock:
            return sum(map(len, self._events.values())) + self._in_progress

    @contextmanager
    def take(self) -> Iterator[EventKey | None]:
        """Take the next event, or None, for the duration of the block; the keys take turns."""
        with self._lock:
            event = self._pop()
            self._in_progress += event is not None
        try:
            yield event
        finally:
            with self._lock:
                self._in_progress -= event is not None

    def _pop(self) -> EventKey | None:
        if not self._events:
            return None
        key, events = self._events.popitem(last=False)
        event = events.popleft()
        if events:
            self._events[key] = events
        return event
