"""A tailer that a test runs round by round, on files that it writes line by line."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from bridge.intake.file_follower import FileFollower, Item
from bridge.intake.group_commit import GroupCommitter
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from mappers.errors import TransientError
from tests.factories import run_event
from tests.stores import Store, as_bytes

LIMIT = 20_000
MINUTES = 600.0


def line(run: int) -> bytes:
    return as_bytes(run_event(run=run)) + b"\n"


def lines(*runs: int) -> bytes:
    return b"".join(map(line, runs))


def add(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


class MoodyStore:
    """A writer that takes nothing while it has a mood."""

    embedded = True

    def __init__(self, store: Store) -> None:
        self._writer = store.writer
        self.mood: TransientError | None = None

    def set_lock_timeout(self, seconds: float) -> None:
        assert seconds == 0

    def file_position(self, path: str) -> FilePosition | None:
        if self.mood is not None:
            raise self.mood
        return self._writer.file_position(path)

    def write(self, group: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition]) -> None:
        if self.mood is not None:
            raise self.mood
        self._writer.write(group, positions)


class Following:
    """A tailer on a store, run round by round; time passes when it is told to."""

    def __init__(self, store: Store, *places: Path | str, group: int = 3) -> None:
        self.store = store
        self.places = [str(place) for place in places]
        self.group = group
        self.writer = MoodyStore(store)
        self.now = 0.0
        self.pauses: list[float] = []
        self.on_pause: Callable[[], None] = lambda: None
        self.counted: list[Item] = []
        self.on_item: Callable[[], None] = lambda: None
        self._runner = asyncio.Runner()
        self._start()

    def _start(self) -> None:
        self.gate = GroupCommitter(self.writer, max_group=100, max_pending=1000, probe_seconds=1000)  # type: ignore[arg-type]
        self.tailer = FileFollower(
            self.places, self.store.reader, self.gate, max_line=LIMIT, batch_lines=self.group,
            on_item=self._count, clock=lambda: self.now, pause=self._pause,
        )  # fmt: skip

    def _count(self, item: Item) -> None:
        self.counted.append(item)
        self.on_item()

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.on_pause()

    def look(self) -> bool:
        return self._runner.run(self.tailer.poll())

    def quiet(self) -> None:
        """Look until there is nothing new, and once more for what one look cannot see."""
        while self.look() or self.look():
            pass

    def once(self) -> None:
        self._runner.run(self.tailer.read_all())

    def run(self) -> None:
        self._runner.run(self.tailer.run())

    def restart(self) -> None:
        self.stop()
        self._start()

    def stop(self) -> None:
        self._runner.run(self.gate.close())
        self.tailer.close()

    def close(self) -> None:
        self.stop()
        self._runner.close()

    def taken(self) -> dict[int, int]:
        """Give the runs that are in the store, each with how often it was taken."""
        runs = self.store.rows("SELECT r.run_uuid, e.receipts FROM run_event e JOIN ol_run r USING (org_id, run_id)")
        return {int(uuid[-12:], 16): receipts for uuid, receipts in runs}

    def rejected(self) -> list[str]:
        return [reason for (reason,) in self.store.rows("SELECT reason FROM rejected_event ORDER BY reason")]


def once_each(*runs: int) -> dict[int, int]:
    return dict.fromkeys(runs, 1)
