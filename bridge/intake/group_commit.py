"""Group commit: events that arrive during a commit share the next."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

import structlog

from bridge.errors import Overloaded, StoreBusy
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from bridge.store.writer import Writer
from mappers.errors import TransientError

_log = structlog.get_logger()

#: Exit code after a storage error that leaves the content of the disk in doubt (BSD's EX_IOERR).
EXIT_STORAGE = 74
#: Turns of the event loop that a group gathers for: requests that arrived together are read in the next ones.
_TURNS = 2
#: How often a store that another process holds is asked again, and for how long.
_BUSY_SECONDS = 0.005
_PATIENCE_SECONDS = 30.0


class _PendingRequest(NamedTuple):
    items: Sequence[IncomingEvent | RejectedInput]
    positions: Sequence[FilePosition]
    waiter: "asyncio.Future[None]"
    since: float


class GroupCommitter:
    """Lets coroutines wait until their events are committed, group by group.

    The commits of an embedded store are work of this very process: they are done in the event loop's own
    thread, because a thread beside it would only fight for the interpreter's lock. Those of a server are
    waited for in a thread of their own while the loop reads the next events.
    """

    def __init__(
        self,
        writer: Writer,
        *,
        max_group: int,
        max_waiting: int,
        probe_seconds: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer = writer
        self._max_group = max_group
        self._max_waiting = max_waiting
        self._probe_seconds = probe_seconds
        self._clock = clock
        self._queue: list[_PendingRequest] = []
        self._waiting = 0
        self._failing_since: float | None = None
        self._commit_task: asyncio.Task[None] | None = None
        self._probe: asyncio.Task[None] | None = None
        self._thread = None if writer.embedded else ThreadPoolExecutor(1, thread_name_prefix="writer")
        if writer.embedded:
            writer.set_lock_timeout(seconds=0)  # the loop must not stand still while another process writes
        #: Why the last commit failed, None when it went well.
        self.last_error: str | None = None

    @property
    def is_healthy(self) -> bool:
        """Tell whether the last commit went well."""
        return self.last_error is None

    def pending_events(self) -> int:
        """Count the events that wait for a commit."""
        return self._waiting

    def oldest_age(self) -> float:
        """Tell for how many seconds the oldest event waits, 0 when none does.

        One that the store did not take waits until it takes any: its sender still holds it.
        """
        since = self._failing_since
        if since is None and self._queue:
            since = self._queue[0].since
        return 0.0 if since is None else self._clock() - since

    def is_full(self) -> bool:
        """Tell whether as many events wait as may wait."""
        return self._waiting >= self._max_waiting

    async def commit(self, items: Sequence[IncomingEvent | RejectedInput], *positions: FilePosition) -> None:
        """Return when the items, and the positions in the files they are from, are on disk.

        Raises TransientError when they could not be taken.
        """
        if self.is_full():
            raise Overloaded(f"{self._max_waiting} events are waiting to be written")
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(_PendingRequest(items, positions, waiter, self._clock()))
        self._waiting += len(items)
        if self._commit_task is None:
            self._commit_task = asyncio.create_task(self._run())
        await waiter

    async def file_position(self, path: str) -> FilePosition | None:
        """Tell how far a file was taken."""
        if self._thread is None:
            return self._writer.file_position(path)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._writer.file_position, path)

    async def close(self) -> None:
        """Write all that waits, then stop."""
        if self._commit_task is not None:
            await self._commit_task
        if self._probe is not None:
            self._probe.cancel()
        if self._thread is not None:
            self._thread.shutdown()

    async def _run(self) -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        while self._queue:
            group = self._next_group()
            if self._failing_since is None:
                self._failing_since = group[0].since
            items = [item for waiting in group for item in waiting.items]
            error = await self._write(items, [position for waiting in group for position in waiting.positions])
            for waiter in (waiting.waiter for waiting in group if not waiting.waiter.cancelled()):
                if error is None:
                    waiter.set_result(None)
                else:
                    waiter.set_exception(error)
        self._commit_task = None

    def _next_group(self) -> list[_PendingRequest]:
        """Take whole requests from the queue until the group is large enough."""
        count = size = 0
        for waiting in self._queue:
            size += len(waiting.items)
            if count and size > self._max_group:
                break
            count += 1
        group, self._queue = self._queue[:count], self._queue[count:]
        self._waiting -= sum(len(waiting.items) for waiting in group)
        return group

    async def _write(
        self, items: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition]
    ) -> TransientError | None:
        error: TransientError | None = None
        try:
            await self._commit(items, positions)
        except TransientError as passing:
            error = passing
        except asyncio.CancelledError:
            raise
        except BaseException:  # noqa: BLE001 - it ends the process, after saying why
            # Nobody knows what reached the disk: answer nobody, stop, and let the next start recover.
            _log.critical("the store failed: stopping without answering", exc_info=True)
            sys.stderr.flush()
            os._exit(EXIT_STORAGE)
        if self.is_healthy and error is not None:
            _log.error("the store takes no events", reason=str(error))
            self._probe = asyncio.create_task(self._probe_until_healthy(items[:1]))
        elif error is None and not self.is_healthy:
            _log.info("the store takes events again")
        if error is None:
            self._failing_since = None
        self.last_error = None if error is None else str(error)
        return error

    async def _commit(
        self, items: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition]
    ) -> None:
        loop = asyncio.get_running_loop()
        if self._thread is not None:
            await loop.run_in_executor(self._thread, self._writer.write, items, positions)
            return
        deadline = loop.time() + _PATIENCE_SECONDS
        while True:
            try:
                self._writer.write(items, positions)
            except StoreBusy:
                if loop.time() > deadline:
                    raise
            else:
                return
            await asyncio.sleep(_BUSY_SECONDS)

    async def _probe_until_healthy(self, items: Sequence[IncomingEvent | RejectedInput]) -> None:
        """Find out whether a store that took no events takes them again.

        While the service says that it is not ready, perhaps nobody sends anything that would find out. The
        probe is an event that was refused: its sender sends it again, and equal events are one.
        """
        while not self.is_healthy:
            await asyncio.sleep(self._probe_seconds)
            with suppress(TransientError):
                await self.commit(items)
