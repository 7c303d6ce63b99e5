"""Supervised background tasks: restart with backoff, stop on shutdown."""

import asyncio
import threading
from abc import ABC, abstractmethod
from contextlib import suppress

#: First and longest delay before a failed task is retried.
RETRY_SECONDS, MAX_RETRY_SECONDS = 1.0, 60.0


class BackgroundTask(ABC):
    """Calls `step` in a thread until stopped. After a failed step, closes the resources and retries with backoff."""

    def __init__(self) -> None:
        self.stop_requested = threading.Event()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    def step(self) -> float:
        """Do one unit of work and return the seconds to wait before the next step."""

    @abstractmethod
    def close(self) -> None:
        """Release what `step` opened."""

    @abstractmethod
    def on_failure(self, error: Exception, retry_seconds: float) -> None:
        """Log a failed step."""

    def start(self, delay: float = 0.0, *, retry_seconds: float | None = None) -> None:
        """Start the task after a delay. `retry_seconds` replaces the backoff with a constant delay."""
        self._task = asyncio.create_task(self._run(delay, retry_seconds))

    async def stop(self) -> None:
        """Stop after the current step."""
        self.stop_requested.set()
        self._wake.set()
        if self._task is not None:
            await self._task

    async def _run(self, delay: float, retry_seconds: float | None) -> None:
        """Call `step` repeatedly. Each step returns the delay before the next one."""
        first_delay, max_delay = RETRY_SECONDS, MAX_RETRY_SECONDS
        if retry_seconds is not None:
            first_delay = max_delay = retry_seconds
        retry_delay = first_delay
        while not await self._stopped_within(delay):
            try:
                delay = await asyncio.to_thread(self.step)
                retry_delay = first_delay
            except Exception as error:  # noqa: BLE001 - a failed background task must not stop the intake; the failure is logged
                self.on_failure(error, retry_delay)
                await asyncio.to_thread(self.close)
                delay = retry_delay
                retry_delay = min(retry_delay * 2, max_delay)
        await asyncio.to_thread(self.close)

    async def _stopped_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)
        return self._wake.is_set()
