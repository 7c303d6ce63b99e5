"""Group commit: grouping, errors, health and recovery of the store."""

import asyncio
import time
from collections.abc import Callable, Sequence

import pytest

from bridge.errors import Overloaded, StoreBusy, StoreFull
from bridge.intake.group_commit import GroupCommitter
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from mappers.errors import TransientError

TIMEOUT = 20
END = FilePosition("file", b"beginning", 9)


def item(number: int) -> RejectedInput:
    return RejectedInput(b"", bytes([number]), "", "", 0, "test")


class FailingWriter:
    """Raises `error` while it is set."""

    def __init__(self, *, embedded: bool) -> None:
        self.embedded = embedded
        self.error: TransientError | None = None
        self.groups: list[int] = []
        self.written: list[IncomingEvent | RejectedInput] = []
        self.positions: list[FilePosition] = []
        self.attempts = 0

    def set_lock_timeout(self, seconds: float) -> None:
        assert seconds == 0

    def write(self, group: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition]) -> None:
        self.attempts += 1
        if self.error is not None:
            raise self.error
        self.groups.append(len(group))
        self.written.extend(group)
        self.positions.extend(positions)


def make_committer(
    writer: FailingWriter,
    *,
    max_group: int = 7,
    max_waiting: int = 1000,
    probe_seconds: float = TIMEOUT,
    clock: Callable[[], float] = time.monotonic,
) -> GroupCommitter:
    return GroupCommitter(
        writer, max_group=max_group, max_pending=max_waiting, probe_seconds=probe_seconds, clock=clock
    )  # type: ignore[arg-type]


async def wait_for_attempts(writer: FailingWriter, times: int) -> None:
    async with asyncio.timeout(TIMEOUT):
        while writer.attempts < times:  # noqa: ASYNC110 - the writer may be in another thread
            await asyncio.sleep(0)


@pytest.fixture(params=[True, False], ids=["embedded", "server"])
def writer(request: pytest.FixtureRequest) -> FailingWriter:
    return FailingWriter(embedded=request.param)


def test_groups_do_not_split_requests(writer: FailingWriter) -> None:
    async def scenario() -> None:
        committer = make_committer(writer)
        requests = [[item(10 * i + j) for j in range(3)] for i in range(5)]
        await asyncio.gather(
            *(committer.commit(items) for items in requests), committer.commit([item(n) for n in range(9)], END)
        )
        assert (committer.pending_event_count(), committer.is_healthy) == (0, True)
        await committer.close()

    asyncio.run(scenario())
    assert writer.groups == [6, 6, 3, 9]
    assert writer.positions == [END]


def test_failed_group_raises_error(writer: FailingWriter) -> None:
    async def scenario() -> None:
        committer = make_committer(writer)
        writer.error = StoreFull("no room")
        with pytest.raises(StoreFull):
            await committer.commit([item(1)])
        assert not committer.is_healthy
        writer.error = None
        await committer.commit([item(2)])
        assert committer.is_healthy
        await committer.close()

    asyncio.run(scenario())
    assert writer.written == [item(2)]


def test_probe_detects_recovered_store(writer: FailingWriter) -> None:
    async def scenario() -> None:
        committer = make_committer(writer, probe_seconds=0)
        writer.error = StoreFull("no room")
        with pytest.raises(StoreFull):
            await committer.commit([item(1)])
        await wait_for_attempts(writer, 4)
        assert not committer.is_healthy
        writer.error = None
        await wait_for_attempts(writer, writer.attempts + 1)
        async with asyncio.timeout(TIMEOUT):
            while not committer.is_healthy:  # noqa: ASYNC110 - no request waits for the probe
                await asyncio.sleep(0)
        await committer.close()

    asyncio.run(scenario())
    assert writer.written == [item(1)]


def test_busy_store_is_retried_without_blocking_loop() -> None:
    writer = FailingWriter(embedded=True)

    async def scenario() -> None:
        committer = make_committer(writer)
        writer.error = StoreBusy("another process")
        waiting = asyncio.create_task(committer.commit([item(1)]))
        await wait_for_attempts(writer, 3)
        assert (waiting.done(), committer.is_healthy) == (False, True)
        writer.error = None
        await waiting
        await committer.close()

    asyncio.run(scenario())
    assert writer.written == [item(1)]


class Clock:
    """A manual clock."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_age_of_oldest_event_grows_until_next_commit(writer: FailingWriter) -> None:
    clock = Clock()

    async def scenario() -> None:
        committer = make_committer(writer, clock=clock)
        assert committer.oldest_age() == 0
        writer.error = StoreFull("no room")
        for number, age in ((1, 10), (2, 25)):  # the second is younger, the first still waits with its sender
            waiting = asyncio.create_task(committer.commit([item(number)]))
            await asyncio.sleep(0)
            clock.seconds += age - committer.oldest_age()
            assert committer.oldest_age() == age
            with pytest.raises(StoreFull):
                await waiting
            assert committer.oldest_age() == age
        clock.seconds += 5
        assert committer.oldest_age() == 30
        writer.error = None
        await committer.commit([item(3)])
        assert committer.oldest_age() == 0
        await committer.close()

    asyncio.run(scenario())


def test_age_of_oldest_event_grows_while_store_is_busy() -> None:
    writer, clock = FailingWriter(embedded=True), Clock()

    async def scenario() -> None:
        committer = make_committer(writer, clock=clock)
        writer.error = StoreBusy("another process")
        waiting = asyncio.create_task(committer.commit([item(1)]))
        await wait_for_attempts(writer, 2)
        clock.seconds += 7
        behind = asyncio.create_task(committer.commit([item(2)]))
        await wait_for_attempts(writer, 4)
        clock.seconds += 4
        assert (committer.oldest_age(), committer.pending_event_count()) == (11, 1)
        writer.error = None
        await asyncio.gather(waiting, behind)
        assert committer.oldest_age() == 0
        await committer.close()

    asyncio.run(scenario())


def test_number_of_waiting_events_is_limited(writer: FailingWriter) -> None:
    async def scenario() -> None:
        committer = make_committer(writer, max_waiting=2)
        waiting = [asyncio.create_task(committer.commit([item(number)])) for number in range(2)]
        await asyncio.sleep(0)
        assert committer.is_full()
        with pytest.raises(Overloaded, match="2 events waiting"):
            await committer.commit([item(3)])
        await asyncio.gather(*waiting)
        await committer.close()

    asyncio.run(scenario())


def test_cancelled_request_does_not_affect_others(writer: FailingWriter) -> None:
    async def scenario() -> None:
        committer = make_committer(writer)
        cancelled, remaining = (asyncio.create_task(committer.commit([item(number)])) for number in range(2))
        await asyncio.sleep(0)
        cancelled.cancel()
        await remaining
        await committer.close()

    asyncio.run(scenario())
    assert writer.written == [item(0), item(1)]
