"""Group commit: who is told what, and how a store that took no events is found to take them again."""

import asyncio
import time
from collections.abc import Callable, Sequence

import pytest

from bridge.errors import Overloaded, StoreBusy, StoreFull
from bridge.intake.group_commit import GroupCommitter
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from mappers.errors import TransientError

WAIT = 20
END = FilePosition("file", b"beginning", 9)


def item(number: int) -> RejectedInput:
    return RejectedInput(b"", bytes([number]), "", "", 0, "test")


class MoodyWriter:
    """Writes nothing while it has a mood."""

    def __init__(self, *, embedded: bool) -> None:
        self.embedded = embedded
        self.mood: TransientError | None = None
        self.groups: list[int] = []
        self.written: list[IncomingEvent | RejectedInput] = []
        self.positions: list[FilePosition] = []
        self.tries = 0

    def set_lock_timeout(self, seconds: float) -> None:
        assert seconds == 0

    def write(self, group: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition]) -> None:
        self.tries += 1
        if self.mood is not None:
            raise self.mood
        self.groups.append(len(group))
        self.written.extend(group)
        self.positions.extend(positions)


def gate_of(
    writer: MoodyWriter,
    *,
    max_group: int = 7,
    max_waiting: int = 1000,
    probe_seconds: float = WAIT,
    clock: Callable[[], float] = time.monotonic,
) -> GroupCommitter:
    return GroupCommitter(
        writer, max_group=max_group, max_pending=max_waiting, probe_seconds=probe_seconds, clock=clock
    )  # type: ignore[arg-type]


async def until_tried(writer: MoodyWriter, times: int) -> None:
    async with asyncio.timeout(WAIT):
        while writer.tries < times:  # noqa: ASYNC110 - the writer may be in another thread
            await asyncio.sleep(0)


@pytest.fixture(params=[True, False], ids=["embedded", "server"])
def writer(request: pytest.FixtureRequest) -> MoodyWriter:
    return MoodyWriter(embedded=request.param)


def test_everything_is_written_in_groups_that_keep_requests_whole(writer: MoodyWriter) -> None:
    async def scenario() -> None:
        gate = gate_of(writer)
        requests = [[item(10 * i + j) for j in range(3)] for i in range(5)]
        await asyncio.gather(
            *(gate.commit(items) for items in requests), gate.commit([item(n) for n in range(9)], END)
        )
        assert (gate.pending_events(), gate.is_healthy) == (0, True)
        await gate.close()

    asyncio.run(scenario())
    assert writer.groups == [6, 6, 3, 9]
    assert writer.positions == [END]


def test_a_refused_group_is_told_why(writer: MoodyWriter) -> None:
    async def scenario() -> None:
        gate = gate_of(writer)
        writer.mood = StoreFull("no room")
        with pytest.raises(StoreFull):
            await gate.commit([item(1)])
        assert not gate.is_healthy
        writer.mood = None
        await gate.commit([item(2)])
        assert gate.is_healthy
        await gate.close()

    asyncio.run(scenario())
    assert writer.written == [item(2)]


def test_a_store_that_has_room_again_is_found_without_another_event(writer: MoodyWriter) -> None:
    async def scenario() -> None:
        gate = gate_of(writer, probe_seconds=0)
        writer.mood = StoreFull("no room")
        with pytest.raises(StoreFull):
            await gate.commit([item(1)])
        await until_tried(writer, 4)
        assert not gate.is_healthy
        writer.mood = None
        await until_tried(writer, writer.tries + 1)
        async with asyncio.timeout(WAIT):
            while not gate.is_healthy:  # noqa: ASYNC110 - nobody waits for a probe
                await asyncio.sleep(0)
        await gate.close()

    asyncio.run(scenario())
    assert writer.written == [item(1)]


def test_a_store_that_another_process_writes_is_asked_again_while_the_loop_goes_on() -> None:
    writer = MoodyWriter(embedded=True)

    async def scenario() -> None:
        gate = gate_of(writer)
        writer.mood = StoreBusy("another process")
        waiting = asyncio.create_task(gate.commit([item(1)]))
        await until_tried(writer, 3)
        assert (waiting.done(), gate.is_healthy) == (False, True)
        writer.mood = None
        await waiting
        await gate.close()

    asyncio.run(scenario())
    assert writer.written == [item(1)]


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_the_age_of_the_oldest_event_grows_until_the_store_takes_one(writer: MoodyWriter) -> None:
    clock = Clock()

    async def scenario() -> None:
        gate = gate_of(writer, clock=clock)
        assert gate.oldest_age() == 0
        writer.mood = StoreFull("no room")
        for number, seen in ((1, 10), (2, 25)):  # the second is younger, the first still waits with its sender
            waiting = asyncio.create_task(gate.commit([item(number)]))
            await asyncio.sleep(0)
            clock.seconds += seen - gate.oldest_age()
            assert gate.oldest_age() == seen
            with pytest.raises(StoreFull):
                await waiting
            assert gate.oldest_age() == seen
        clock.seconds += 5
        assert gate.oldest_age() == 30
        writer.mood = None
        await gate.commit([item(3)])
        assert gate.oldest_age() == 0
        await gate.close()

    asyncio.run(scenario())


def test_an_event_ages_while_another_process_holds_the_store() -> None:
    writer, clock = MoodyWriter(embedded=True), Clock()

    async def scenario() -> None:
        gate = gate_of(writer, clock=clock)
        writer.mood = StoreBusy("another process")
        waiting = asyncio.create_task(gate.commit([item(1)]))
        await until_tried(writer, 2)
        clock.seconds += 7
        behind = asyncio.create_task(gate.commit([item(2)]))
        await until_tried(writer, 4)
        clock.seconds += 4
        assert (gate.oldest_age(), gate.pending_events()) == (11, 1)
        writer.mood = None
        await asyncio.gather(waiting, behind)
        assert gate.oldest_age() == 0
        await gate.close()

    asyncio.run(scenario())


def test_no_more_may_wait_than_the_limit(writer: MoodyWriter) -> None:
    async def scenario() -> None:
        gate = gate_of(writer, max_waiting=2)
        waiting = [asyncio.create_task(gate.commit([item(number)])) for number in range(2)]
        await asyncio.sleep(0)
        assert gate.is_full()
        with pytest.raises(Overloaded, match="2 events are waiting"):
            await gate.commit([item(3)])
        await asyncio.gather(*waiting)
        await gate.close()

    asyncio.run(scenario())


def test_whoever_goes_away_takes_nobody_along(writer: MoodyWriter) -> None:
    async def scenario() -> None:
        gate = gate_of(writer)
        gone, stays = (asyncio.create_task(gate.commit([item(number)])) for number in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        await stays
        await gate.close()

    asyncio.run(scenario())
    assert writer.written == [item(0), item(1)]
