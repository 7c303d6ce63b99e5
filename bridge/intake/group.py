"""Group commit: all events that wait while one commit is under way share the next."""

import os
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import structlog

from bridge.store.writer import Incoming, Rejected, Writer
from mappers.errors import Overloaded, TransientError

T = TypeVar("T")

_log = structlog.get_logger()

#: Exit code after a storage error that leaves the content of the disk in doubt (BSD's EX_IOERR).
EXIT_STORAGE = 74


class _Waiting(NamedTuple, Generic[T]):
    item: Incoming | Rejected
    token: T


class GroupCommit(Generic[T]):
    """Feeds one writer from one thread, and tells who waited how it went.

    `settled` is called in the writer's thread, once a group, with the tokens of the group and the error
    that kept it out of the store, if any.
    """

    def __init__(
        self,
        writer: Writer,
        settled: Callable[[Sequence[T], TransientError | None], None],
        *,
        max_group: int = 256,
        max_waiting: int = 5_000,
        probe_seconds: float = 2.0,
    ) -> None:
        self._writer = writer
        self._settled = settled
        self._max_group = max_group
        self._max_waiting = max_waiting
        self._probe_seconds = probe_seconds
        self._probe: Incoming | Rejected | None = None
        self._queue: queue.SimpleQueue[_Waiting[T] | None] = queue.SimpleQueue()
        self._gathering = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self.healthy = True

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def close(self) -> None:
        """Write all that waits, then stop."""
        self._queue.put(None)
        self._thread.join()

    def waiting(self) -> int:
        """Count the events that wait for a commit."""
        return self._queue.qsize()

    def crowded(self) -> bool:
        """Tell whether as many events wait as may wait."""
        return self._queue.qsize() >= self._max_waiting

    def submit(self, items: Sequence[tuple[Incoming | Rejected, T]]) -> None:
        """Queue events that arrived together; raises Overloaded instead of letting the queue grow."""
        if self.crowded():
            raise Overloaded(f"{self._max_waiting} events are waiting to be written")
        with self._gathering:
            for item, token in items:
                self._queue.put(_Waiting(item, token))

    def _run(self) -> None:
        open_ = True
        while open_:
            first = self._next()
            with self._gathering:
                pass  # those that arrived together are queued together
            group = [first] if first is not None else []
            open_ = first is not None
            while open_ and len(group) < self._max_group:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    open_ = False
                else:
                    group.append(more)
            if group:
                self._commit(group)

    def _next(self) -> _Waiting[T] | None:
        """Wait for the next event; meanwhile, find out whether a store that took none takes them again.

        While the service says that it is not ready, perhaps nobody sends anything that would find out. The
        probe is an event that was refused: its sender sends it again, and equal events are one.
        """
        while self._probe is not None:
            try:
                return self._queue.get(timeout=self._probe_seconds)
            except queue.Empty:
                self._write([self._probe])
        return self._queue.get()

    def _commit(self, group: list[_Waiting[T]]) -> None:
        error = self._write([waiting.item for waiting in group])
        self._settled([waiting.token for waiting in group], error)

    def _write(self, items: list[Incoming | Rejected]) -> TransientError | None:
        error: TransientError | None = None
        try:
            self._writer.write(items)
        except TransientError as passing:
            error = passing
            if self.healthy:
                _log.error("the store takes no events", reason=str(passing))
        except BaseException:  # noqa: BLE001 - it ends the process, after saying why
            # Nobody knows what reached the disk: answer nobody, stop, and let the next start recover.
            _log.critical("the store failed: stopping without answering", exc_info=True)
            sys.stderr.flush()
            os._exit(EXIT_STORAGE)
        if error is None and not self.healthy:
            _log.info("the store takes events again")
        self.healthy = error is None
        self._probe = None if error is None else items[0]
        return error
