"""Between the event loop, where requests wait, and the writer's thread, where they are committed."""

import asyncio
import threading
from collections.abc import Sequence

from bridge.intake.group import GroupCommit
from bridge.store.writer import Incoming, Rejected, Writer
from mappers.errors import Overloaded, TransientError

_Waiter = asyncio.Future[None]

#: Turns of the event loop that a group gathers for: requests that arrived together are read in the next ones.
_TURNS = 2
#: How long the loop stands still for a commit before it goes on beside it.
_STAND_SECONDS = 0.05


class Gate:
    """Lets a coroutine wait until its event is committed; a group wakes its waiters with one call.

    The loop stands still while a group is committed, for as long as that is short: two threads that share
    the interpreter lock slow each other down more than they gain, and a larger group costs hardly more.
    """

    def __init__(self, writer: Writer, *, max_group: int, max_waiting: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._gathered: list[tuple[Incoming | Rejected, _Waiter]] = []
        self._committed = threading.Event()
        self.group: GroupCommit[_Waiter] = GroupCommit(
            writer, self._settled, max_group=max_group, max_waiting=max_waiting
        )
        self.group.start()

    async def commit(self, item: Incoming | Rejected) -> None:
        """Return when the item is on disk; raises TransientError when it could not be taken."""
        waiter: _Waiter = self._loop.create_future()
        self._gathered.append((item, waiter))
        if len(self._gathered) == 1:
            self._loop.call_soon(self._hand_over, _TURNS)
        await waiter

    def _hand_over(self, turns: int) -> None:
        if turns:
            self._loop.call_soon(self._hand_over, turns - 1)
            return
        gathered, self._gathered = self._gathered, []
        self._committed.clear()
        try:
            self.group.submit(gathered)
        except Overloaded as error:
            _wake([waiter for _, waiter in gathered], error)
            return
        self._committed.wait(_STAND_SECONDS)

    def _settled(self, waiters: Sequence[_Waiter], error: TransientError | None) -> None:
        self._loop.call_soon_threadsafe(_wake, waiters, error)
        self._committed.set()


def _wake(waiters: Sequence[_Waiter], error: TransientError | None) -> None:
    for waiter in waiters:
        if waiter.cancelled():
            continue
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(error)
