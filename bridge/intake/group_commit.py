"""Group commit: events that arrive during a commit are committed together by the next one."""

import asyncio
import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple, TypeGuard

import structlog

from bridge.errors import Overloaded, StoreBusy, StoreLost, TooManyRequests
from bridge.intake.pending_events import MAX_PENDING_PER_KEY, PendingEvents
from bridge.intake.recovery import RecoveredEvents
from bridge.store.event_log import PENDING, FilePosition, IncomingEvent, RejectedInput
from bridge.store.writer import MAX_GROUP_ROWS, Writer, without_rows
from mappers.counts import count_of
from mappers.errors import TransientError

_log = structlog.get_logger()

#: Exit code after a storage error that may have damaged stored data (BSD's EX_IOERR).
EXIT_STORAGE = 74
#: A group is collected for this many turns of the event loop, in which requests that arrived together are read.
_GATHER_TURNS = 2
#: Interval and limit of retries while another process has locked the store.
_BUSY_RETRY_SECONDS = 0.005
_BUSY_TIMEOUT_SECONDS = 30.0
#: Interval at which requests are checked for their deadline: a timer for each of them would slow down the intake.
_DEADLINE_CHECK_SECONDS = 0.5
#: The service is not ready if the oldest event waits longer than this for a commit.
_MAX_COMMIT_SECONDS = 10.0


class _PendingRequest(NamedTuple):
    key: str
    items: Sequence[IncomingEvent | RejectedInput]
    row_count: int
    positions: Sequence[FilePosition]
    waiter: "asyncio.Future[None]"
    queued_at: float
    due_at: float


class GroupCommitter:
    """Commits events in groups. Callers wait until their events are on disk.

    An embedded store commits in this process, so its commits run in the thread of the event loop: another thread
    would only compete for the interpreter lock. Commits to a server run in a thread of their own, while the loop
    reads the next events.

    The keys that send events take turns. With `pending_events`, events with many rows are committed without them, and
    are queued there to be merged later. `recover` saves the events of a store file that was lost.
    """

    def __init__(
        self,
        writer: Writer,
        *,
        max_group: int,
        max_pending: int,
        pending_events: PendingEvents | None = None,
        recover: Callable[[], RecoveredEvents] | None = None,
        probe_seconds: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer = writer
        self._max_group = max_group
        self._max_pending = max_pending
        self._probe_seconds = probe_seconds
        self._clock = clock
        self._pending_events = pending_events
        self._recover = recover
        self._recovery: asyncio.Task[None] | None = None
        #: Requests by key; the first key is served next.
        self._queues: dict[str, deque[_PendingRequest]] = {}
        self._group_in_progress: list[_PendingRequest] = []
        self._deadline_timer: asyncio.TimerHandle | None = None
        self._pending_count = 0
        self._pending_count_by_key: dict[str, int] = {}
        self._failing_since: float | None = None
        self._commit_task: asyncio.Task[None] | None = None
        self._probe: asyncio.Task[None] | None = None
        self._thread = None if writer.embedded else ThreadPoolExecutor(1, thread_name_prefix="writer")
        if writer.embedded:
            writer.set_lock_timeout(seconds=0)  # the loop must not block while another process writes
        #: Error of the last commit, or None if the commit succeeded.
        self.last_error: str | None = None

    @property
    def is_healthy(self) -> bool:
        """True if the last commit succeeded."""
        return self.last_error is None

    def problem(self) -> str | None:
        """Return the reason why events cannot be committed, or None if they can."""
        if self.last_error is not None:
            return f"the last commit failed: {self.last_error}"
        if (seconds := self.oldest_age()) > _MAX_COMMIT_SECONDS:
            return f"events have been waiting for a commit for {seconds:.0f} s"
        try:
            self._writer.check_files()
        except StoreLost as error:
            return str(error)
        return "the queue of events waiting for a commit is full" if self.is_full() else None

    def pending_event_count(self) -> int:
        """Return the number of events that wait for a commit."""
        return self._pending_count

    def oldest_age(self) -> float:
        """Return how many seconds the oldest event has waited, or 0 if no event is waiting.

        If commits fail, the age keeps growing until a commit succeeds, because senders still hold the failed events.
        """
        waiting_since = self._failing_since
        if waiting_since is None and self._queues:
            waiting_since = min(queue[0].queued_at for queue in self._queues.values())
        return 0.0 if waiting_since is None else self._clock() - waiting_since

    def is_full(self) -> bool:
        """Return True if no more events may wait."""
        return self._pending_count >= self._max_pending

    async def commit(
        self,
        items: Sequence[IncomingEvent | RejectedInput],
        *positions: FilePosition,
        key: str = "",
        max_seconds: float = math.inf,
    ) -> None:
        """Return once the items and their file positions are on disk.

        Raises TransientError if they could not be written, and TooManyRequests if too many events of the key wait.
        After `max_seconds`, raises Overloaded, although the items may still be written later.
        """
        self._check_limits(key)
        if self._pending_events is not None:
            items = [without_rows(item) for item in items]
        row_count = sum([len(item.rows) for item in items if isinstance(item, IncomingEvent)])
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        now = self._clock()
        request = _PendingRequest(key, items, row_count, positions, waiter, now, now + max_seconds)
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = deque()
        queue.append(request)
        self._count_pending(key, len(items))
        if self._commit_task is None:
            self._commit_task = asyncio.create_task(self._commit_groups())
        if self._deadline_timer is None:
            self._deadline_timer = loop.call_later(_DEADLINE_CHECK_SECONDS, self._expire_requests, loop)
        await waiter

    def _expire_requests(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the wait of overdue requests, whatever their commit is waiting for."""
        now = self._clock()
        requests = [*self._group_in_progress, *(request for queue in self._queues.values() for request in queue)]
        for request in requests:
            if request.due_at < now and not request.waiter.done():
                seconds = request.due_at - request.queued_at
                request.waiter.set_exception(Overloaded(f"no commit within {seconds:.0f} s"))
        self._deadline_timer = None
        if requests:
            self._deadline_timer = loop.call_later(_DEADLINE_CHECK_SECONDS, self._expire_requests, loop)

    def _check_limits(self, key: str) -> None:
        if self.is_full():
            raise Overloaded(f"{count_of(self._max_pending, 'event')} waiting to be written")
        if key and (count := self._pending_count_by_key.get(key, 0)) >= self._max_pending // 2:
            raise TooManyRequests(f"{count_of(count, 'event')} of this key waiting to be written")
        if self._pending_events is not None and self._pending_events.count(key) >= MAX_PENDING_PER_KEY:
            raise TooManyRequests(f"{MAX_PENDING_PER_KEY} large events of this key are waiting to be merged")

    async def file_position(self, path: str) -> FilePosition | None:
        """Return the stored position of a file."""
        if self._thread is None:
            return self._writer.file_position(path)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._writer.file_position, path)

    async def close(self) -> None:
        """Commit all pending events, then stop."""
        if self._commit_task is not None:
            await self._commit_task
        if self._probe is not None:
            self._probe.cancel()
        if self._recovery is not None:
            await self._recovery
        if self._thread is not None:
            self._thread.shutdown()

    async def _commit_groups(self) -> None:
        """Commit the queued requests in groups, and wake their callers, until the queue is empty."""
        for _ in range(_GATHER_TURNS):
            await asyncio.sleep(0)
        while self._queues:
            group = self._group_in_progress = self._take_next_group()
            if self._failing_since is None:
                self._failing_since = group[0].queued_at
            items = [item for request in group for item in request.items]
            positions = [position for request in group for position in request.positions]
            error = await self._write_group(items, positions)
            if error is None and self._pending_events is not None:
                for request in group:
                    pending_events = [item.key for item in request.items if _is_pending(item)]
                    self._pending_events.add(request.key, pending_events)
            for waiter in (request.waiter for request in group if not request.waiter.done()):
                if error is None:
                    waiter.set_result(None)
                else:
                    waiter.set_exception(error)
        self._group_in_progress = []
        self._commit_task = None

    def _take_next_group(self) -> list[_PendingRequest]:
        """Take requests from the keys in turn until the group is full, but at least one. Requests are not split."""
        group: list[_PendingRequest] = []
        item_count = row_count = 0
        while self._queues:
            key, queue = next(iter(self._queues.items()))
            request = queue[0]
            item_count += len(request.items)
            row_count += request.row_count
            if group and (item_count > self._max_group or row_count > MAX_GROUP_ROWS):
                break
            group.append(queue.popleft())
            self._count_pending(key, -len(request.items))
            del self._queues[key]
            if queue:
                self._queues[key] = queue  # behind the other keys
        return group

    def _count_pending(self, key: str, count: int) -> None:
        self._pending_count += count
        if key:
            self._pending_count_by_key[key] = self._pending_count_by_key.get(key, 0) + count

    async def _write_group(
        self, items: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition]
    ) -> TransientError | None:
        """Write a group, and return the error if the store is unavailable. Exit if stored data may be damaged."""
        error: TransientError | None = None
        try:
            await self._write_with_retries(items, positions)
        except TransientError as transient_error:
            error = transient_error
        except asyncio.CancelledError:
            raise
        except BaseException:  # noqa: BLE001 - logs the reason and ends the process
            # What reached the disk is unknown: exit without replying, and let the next start recover.
            _log.critical("store failed, exiting without replying", exc_info=True)
            sys.stderr.flush()
            os._exit(EXIT_STORAGE)
        if self.is_healthy and error is not None:
            _log.error("store unavailable", reason=str(error))
            if isinstance(error, StoreLost) and self._recover is not None:
                self._recovery = asyncio.create_task(self._save_events(self._recover))
            self._probe = asyncio.create_task(self._probe_until_healthy(items[:1]))
        elif error is None and not self.is_healthy:
            _log.info("store available again")
        if error is None:
            self._failing_since = None
        self.last_error = None if error is None else str(error)
        return error

    async def _write_with_retries(
        self, items: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition]
    ) -> None:
        """Write a group. If another process has locked an embedded store, retry for a while."""
        loop = asyncio.get_running_loop()
        if self._recovery is not None and not self._recovery.done():
            raise StoreLost(self.last_error or "")
        if self._thread is not None:
            await loop.run_in_executor(self._thread, self._writer.write, items, positions)
            return
        deadline = loop.time() + _BUSY_TIMEOUT_SECONDS
        while True:
            try:
                self._writer.write(items, positions)
            except StoreBusy:
                if loop.time() > deadline:
                    raise
            else:
                return
            await asyncio.sleep(_BUSY_RETRY_SECONDS)

    async def _save_events(self, recover: Callable[[], RecoveredEvents]) -> None:
        """Save what the open connection can still read of a lost store."""
        try:
            recovered = await asyncio.to_thread(recover)
        except OSError as error:
            _log.critical("events of the lost store could not be saved", reason=str(error))
            return
        _log.critical(
            "events of the lost store saved: restore the store, restart the service, then import the file",
            command=f"lineage-bridge import {recovered.path}",
            events=recovered.input_count,
            error=recovered.error,
        )

    async def _probe_until_healthy(self, items: Sequence[IncomingEvent | RejectedInput]) -> None:
        """Retry a failed event until the store accepts it.

        While the service is not ready, clients may not send any event that would reveal its recovery. Storing the
        failed event is harmless: its sender sends it again, and equal events are stored once.
        """
        while not self.is_healthy:
            await asyncio.sleep(self._probe_seconds)
            with suppress(TransientError):
                await self.commit(items)


def _is_pending(item: IncomingEvent | RejectedInput) -> TypeGuard[IncomingEvent]:
    return isinstance(item, IncomingEvent) and item.failure == PENDING
