"""Group commit: who is told what, and how a store that took no events is found to take them again."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from bridge.intake.group import GroupCommit
from bridge.store.writer import Incoming, Rejected
from mappers.errors import Overloaded, StoreFull, TransientError

WAIT = 20


def item(number: int) -> Rejected:
    return Rejected(b"", bytes([number]), "", "", 0, "test")


class MoodyWriter:
    """Writes nothing while it is full."""

    def __init__(self) -> None:
        self.full = False
        self.written: list[Incoming | Rejected] = []
        self.wrote = threading.Event()
        self.tried = threading.Semaphore(0)

    def write(self, group: Sequence[Incoming | Rejected]) -> None:
        self.tried.release()
        if self.full:
            raise StoreFull("no room")
        self.written.extend(group)
        self.wrote.set()


class Told:
    """Keeps what those who wait are told."""

    def __init__(self) -> None:
        self.answers: dict[Any, TransientError | None] = {}
        self.count = threading.Semaphore(0)

    def __call__(self, tokens: Sequence[Any], error: TransientError | None) -> None:
        for token in tokens:
            self.answers[token] = error
            self.count.release()


@contextmanager
def committing(writer: Any, told: Told, **options: Any) -> Iterator[GroupCommit[Any]]:
    group: GroupCommit[Any] = GroupCommit(writer, told, **options)
    group.start()
    try:
        yield group
    finally:
        group.close()


def test_everyone_is_told_once_and_all_is_written_before_the_end() -> None:
    writer, told = MoodyWriter(), Told()
    with committing(writer, told, max_group=7) as group:
        for number in range(100):
            group.submit([(item(number), number)])
    assert told.answers == dict.fromkeys(range(100))
    assert writer.written == [item(number) for number in range(100)]
    assert group.waiting() == 0


def test_a_refused_group_is_told_why() -> None:
    writer, told = MoodyWriter(), Told()
    writer.full = True
    with committing(writer, told, probe_seconds=WAIT) as group:
        group.submit([(item(1), "one")])
        assert told.count.acquire(timeout=WAIT)
        assert isinstance(told.answers["one"], StoreFull)
        assert not group.healthy
        writer.full = False
        group.submit([(item(2), "two")])
        assert told.count.acquire(timeout=WAIT)
        assert (told.answers["two"], group.healthy) == (None, True)
    assert writer.written == [item(2)]


def test_a_store_that_has_room_again_is_found_without_another_event() -> None:
    writer, told = MoodyWriter(), Told()
    writer.full = True
    with committing(writer, told, probe_seconds=0.001) as group:
        group.submit([(item(1), "one")])
        for _ in range(3):
            assert writer.tried.acquire(timeout=WAIT)
        assert not group.healthy
        writer.full = False
        assert writer.wrote.wait(WAIT)
    assert group.healthy
    assert writer.written == [item(1)]
    assert list(told.answers) == ["one"]


def test_no_more_may_wait_than_the_limit() -> None:
    group: GroupCommit[int] = GroupCommit(MoodyWriter(), Told(), max_waiting=2)  # type: ignore[arg-type]
    for number in range(2):
        group.submit([(item(number), number)])
    assert group.crowded()
    with pytest.raises(Overloaded, match="2 events are waiting"):
        group.submit([(item(3), 3)])
