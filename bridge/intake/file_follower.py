"""Follows growing files, and commits each batch with its file position."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import structlog

from bridge.intake.event_reader import EventReader
from bridge.intake.file_position import fingerprint, printable_path, source_name
from bridge.intake.file_tracker import FileTracker, FollowedFile
from bridge.intake.group_commit import GroupCommitter
from bridge.intake.open_files import OpenFiles
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from connectors.openlineage.file_finder import FileFinder
from connectors.openlineage.growing_file import RawLine
from mappers.errors import InputTooLarge, InvalidInput, TransientError

_log = structlog.get_logger()

#: Lines of one commit, commits of one file before the next file's turn, steps before others may go on.
_GROUP, _TURN, _BREATH = 100, 10, 16

Item = IncomingEvent | RejectedInput
Problems = dict[Path, str]
T = TypeVar("T")


class FileFollower:
    """Follows files until it is stopped. It polls, which works on every file system, and costs idle files a stat."""

    def __init__(
        self,
        places: Sequence[str],
        reader: EventReader,
        gate: GroupCommitter,
        *,
        max_line: int,
        poll_seconds: float = 1.0,
        group: int = _GROUP,
        on_item: Callable[[Item], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        self._reader = reader
        self._gate = gate
        self._max_line = max_line
        self._poll_seconds = poll_seconds
        self._group = group
        self._counted = on_item
        self._pause = pause or self._wait
        self._handles = OpenFiles(max_line)
        self._tracker = FileTracker(FileFinder(places), self._handles, clock)
        self._stopped = asyncio.Event()
        self._patient = True
        self.problems: Problems = {}

    def stop(self) -> None:
        """End after the group under way."""
        self._stopped.set()

    def close(self) -> None:
        """Let go of all files."""
        self._handles.close_all()

    async def run(self) -> None:
        """Follow the files until told to stop."""
        with suppress(TransientError):  # told to stop while the store took nothing: the next start goes on here
            while not self._stopped.is_set():
                if not await self.poll():
                    await self._pause(self._poll_seconds)

    async def read_all(self) -> None:
        """Take what is there, tell of torn last lines, and end; raises TransientError instead of waiting."""
        self._patient = False
        while not self._stopped.is_set() and await self.poll():
            pass
        problems = dict(self.problems)
        for file in self._tracker.files():
            if file.has_incomplete_line():
                await self._isolated(file, self._report_incomplete_line(file), problems)
        self._log_problems(problems)

    async def poll(self) -> bool:
        """Look once at all files, and take a turn of each that has more; tells whether anything was taken."""
        problems = await self._look()
        took = False
        for file in self._tracker.files():
            if file.has_more and not self._stopped.is_set():
                took |= await self._isolated(file, self._turn(file), problems)
            elif self._tracker.is_idle(file):
                if file.has_incomplete_line():
                    await self._isolated(file, self._report_incomplete_line(file), problems)
                self._tracker.release([file])
        self._log_problems(problems)
        moved = [file for file in self._tracker.files() if file.position_dirty]
        if moved:
            await self._commit([], [file.position() for file in moved])
            for file in moved:
                file.position_dirty = False
        return took

    async def _look(self) -> Problems:
        look = await asyncio.to_thread(self._tracker.scan)
        known: dict[str, FilePosition] = {}
        for number, name in enumerate(sorted(look.names()), 1):
            position = await self._with_retries(self._gate.file_position, name)
            if position is not None:
                known[name] = position
            if number % _BREATH == 0:
                await asyncio.sleep(0)
        for file in await asyncio.to_thread(self._tracker.resolve, look, known):
            _log.info("tailing", path=printable_path(file.path), from_byte=file.end)
        return look.problems

    async def _isolated(self, file: FollowedFile, work: Awaitable[bool], problems: Problems) -> bool:
        """Let no file that cannot be read stop the others."""
        try:
            return await work
        except FileNotFoundError:
            return False  # renamed or deleted since it was looked for: the next look finds out
        except OSError as error:
            problems[file.path] = error.strerror or str(error)
            return False

    async def _turn(self, file: FollowedFile) -> bool:
        took = False
        for _ in range(_TURN):
            batch = None if self._stopped.is_set() else await asyncio.to_thread(self._tracker.read, file, self._group)
            if batch is None:
                break
            items = await self._read(file, batch.lines)
            if items:
                position = FilePosition(file.name, fingerprint(batch.beginning, batch.end), batch.end)
                await self._commit(items, [] if file.is_deleted else [position])
            file.advance(batch.end, batch.beginning)
            took = True
        return took

    async def _read(self, file: FollowedFile, lines: list[RawLine]) -> list[Item]:
        source = f"tail:{source_name(file.path)}"
        items: list[Item] = []
        for number, line in enumerate(lines, 1):
            if line.too_long:
                reason = f"a line of more than {self._max_line} bytes, which is the limit; its beginning is kept"
                items.append(self._reader.reject(line.payload, source, InputTooLarge(reason)))
            else:
                items.append(self._reader.read(line.payload, source))
            if number % _BREATH == 0:
                await asyncio.sleep(0)
        return items

    async def _commit(self, items: Sequence[Item], positions: Sequence[FilePosition]) -> None:
        await self._with_retries(self._gate.commit, items, *positions)
        for item in items:
            self._counted(item)

    async def _with_retries(self, ask: Callable[..., Awaitable[T]], *values: object) -> T:
        """Ask the store until it answers; raises TransientError when told to stop, or not to wait."""
        told = False
        while True:
            try:
                return await ask(*values)
            except TransientError as error:
                if self._stopped.is_set() or not self._patient:
                    raise
                if not told:
                    _log.warning("the store cannot be used: waiting", reason=str(error))
                told = True
            await self._pause(self._poll_seconds)

    async def _report_incomplete_line(self, file: FollowedFile) -> bool:
        """Keep a line that nobody ends as rejected; when it is ended after all, it is taken whole."""
        torn = await asyncio.to_thread(self._tracker.torn, file)
        if torn:
            error = InvalidInput(f"the last line has no end; it is taken when it has one (byte {file.end})")
            await self._commit([self._reader.reject(torn, f"tail:{source_name(file.path)}", error)], [])
        return False

    def _log_problems(self, problems: Problems) -> None:
        for path, reason in problems.items():
            if self.problems.get(path) != reason:
                _log.warning("cannot be tailed", path=printable_path(path), reason=reason)
        for path in self.problems.keys() - problems.keys():
            _log.info("can be tailed again", path=printable_path(path))
        self.problems = problems

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)
