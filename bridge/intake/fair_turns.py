"""Grants turns to the keys of an intake in rotation, so that one key cannot delay the work of another for long."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bridge.errors import TooManyRequests
from mappers.counts import count_of


class FairTurns:
    """Lets one block run at a time. Waiting blocks run in rotation by key, and in order within a key."""

    def __init__(self, max_waiting_per_key: int) -> None:
        self._max_waiting = max_waiting_per_key
        self._is_taken = False
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Wait for a turn. Raises TooManyRequests if too many blocks of the key are waiting."""
        if self._is_taken:
            await self._wait(key)
        self._is_taken = True
        try:
            yield
        finally:
            self._grant_next()

    async def _wait(self, key: str) -> None:
        queue = self._waiting.setdefault(key, deque())
        if len(queue) >= self._max_waiting:
            raise TooManyRequests(f"{count_of(self._max_waiting, 'large request')} of this key waiting")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._grant_next()
            raise

    def _grant_next(self) -> None:
        """Pass the turn to the key that has waited longest since its last turn."""
        self._is_taken = False
        while self._waiting:
            key, queue = self._waiting.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._waiting[key] = queue
            if not turn.done():
                self._is_taken = True
                turn.set_result(None)
                return
