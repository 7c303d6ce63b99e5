"""A file follower that tests poll step by step, on files that they write."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from bridge.intake.file_follower import FileFollower, Item
from bridge.intake.group_commit import GroupCommitter
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from mappers.errors import TransientError
from tests.factories import run_event
from tests.stores import Store, as_bytes

MAX_LINE = 20_000
TEN_MINUTES = 600.0


def line(run: int) -> bytes:
    return as_bytes(run_event(run=run)) + b"\n"


def lines(*runs: int) -> bytes:
    return b"".join(map(line, runs))


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


class FailingWriter:
    """A writer that raises `error` while it is set."""

    embedded = True

    def __init__(self, store: Store) -> None:
        self._writer = store.writer
        self.error: TransientError | None = None

    def set_lock_timeout(self, seconds: float) -> None:
        assert seconds == 0

    def file_position(self, path: str) -> FilePosition | None:
        if self.error is not None:
            raise self.error
        return self._writer.file_position(path)

    def write(self, group: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition]) -> None:
        if self.error is not None:
            raise self.error
        self._writer.write(group, positions)


class FollowerHarness:
    """A file follower on a store, with manual polls and a manual clock."""

    def __init__(self, store: Store, *patterns: Path | str, group: int = 3) -> None:
        self.store = store
        self.patterns = [str(pattern) for pattern in patterns]
        self.group = group
        self.writer = FailingWriter(store)
        self.now = 0.0
        self.pauses: list[float] = []
        self.on_pause: Callable[[], None] = lambda: None
        self.counted: list[Item] = []
        self.on_item: Callable[[], None] = lambda: None
        self._runner = asyncio.Runner()
        self._start()

    def _start(self) -> None:
        self.committer = GroupCommitter(self.writer, max_group=100, max_pending=1000, probe_seconds=1000)  # type: ignore[arg-type]
        self.follower = FileFollower(
            self.patterns, self.store.async_reader(), self.committer, max_line=MAX_LINE, batch_lines=self.group,
            on_item=self._count, clock=lambda: self.now, pause=self._pause,
        )  # fmt: skip

    def _count(self, item: Item) -> None:
        self.counted.append(item)
        self.on_item()

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.on_pause()

    def poll(self) -> bool:
        return self._runner.run(self.follower.poll())

    def poll_until_idle(self) -> None:
        """Poll until two polls in a row find nothing; a single poll can miss a change."""
        while self.poll() or self.poll():
            pass

    def read_all(self) -> None:
        self._runner.run(self.follower.read_all())

    def run(self) -> None:
        self._runner.run(self.follower.run())

    def restart(self) -> None:
        self.stop()
        self._start()

    def stop(self) -> None:
        self._runner.run(self.committer.close())
        self.follower.close()

    def close(self) -> None:
        self.stop()
        self._runner.close()

    def receipts(self) -> dict[int, int]:
        """Receipts of the stored events by run number."""
        runs = self.store.rows("SELECT r.run_uuid, e.receipts FROM run_event e JOIN ol_run r USING (org_id, run_id)")
        return {int(uuid[-12:], 16): receipts for uuid, receipts in runs}

    def rejected(self) -> list[str]:
        return [reason for (reason,) in self.store.rows("SELECT reason FROM rejected_event ORDER BY reason")]


def received_once(*runs: int) -> dict[int, int]:
    return dict.fromkeys(runs, 1)
