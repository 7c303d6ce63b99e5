"""Between the event loop, where requests wait, and the writer's thread, where they are committed."""

import asyncio
from collections.abc import Sequence

from bridge.intake.group import GroupCommit
from bridge.store.writer import Incoming, Rejected, Writer
from mappers.errors import TransientError

_Waiter = asyncio.Future[None]


class Gate:
    """Lets a coroutine wait until its event is committed; a group wakes its waiters with one call."""

    def __init__(self, writer: Writer, *, max_group: int, max_waiting: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.group: GroupCommit[_Waiter] = GroupCommit(
            writer, self._settled, max_group=max_group, max_waiting=max_waiting
        )
        self.group.start()

    async def commit(self, item: Incoming | Rejected) -> None:
        """Return when the item is on disk; raises TransientError when it could not be taken."""
        waiter: _Waiter = self._loop.create_future()
        self.group.submit(item, waiter)
        await waiter

    def _settled(self, waiters: Sequence[_Waiter], error: TransientError | None) -> None:
        self._loop.call_soon_threadsafe(_wake, waiters, error)


def _wake(waiters: Sequence[_Waiter], error: TransientError | None) -> None:
    for waiter in waiters:
        if waiter.cancelled():
            continue
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(error)
