"""Queue of events that are stored but not merged yet."""

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence

from bridge.store.event_log import EventKey

#: Maximum number of pending events of one key.
MAX_PENDING_PER_KEY = 100


class PendingEvents:
    """The pending events of this process, by the key that sent them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: OrderedDict[str, deque[EventKey]] = OrderedDict()

    def add(self, key: str, events: Sequence[EventKey]) -> None:
        if events:
            with self._lock:
                self._events.setdefault(key, deque()).extend(events)

    def count(self, key: str) -> int:
        with self._lock:
            return len(self._events.get(key, ()))

    def take(self) -> EventKey | None:
        """Remove and return the next event; the keys take turns."""
        with self._lock:
            if not self._events:
                return None
            key, events = self._events.popitem(last=False)
            event = events.popleft()
            if events:
                self._events[key] = events
            return event
