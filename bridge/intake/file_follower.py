"""Follows growing files, and commits each batch with its file position."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import structlog

from bridge.intake.file_position import fingerprint, line_too_long, printable_path, source_name
from bridge.intake.file_tracker import FileTracker, FollowedFile
from bridge.intake.group_commit import GroupCommitter
from bridge.intake.large_events import AsyncEventReader
from bridge.intake.open_files import OpenFiles
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from connectors.openlineage.file_finder import FileFinder
from connectors.openlineage.growing_file import RawLine
from mappers.errors import InvalidInput, TransientError

_log = structlog.get_logger()

#: Lines per commit, commits per file before the next file is read, and steps between yields to the event loop.
_BATCH_LINES, _COMMITS_PER_TURN, _STEPS_PER_YIELD = 100, 10, 16

Item = IncomingEvent | RejectedInput
Problems = dict[Path, str]
T = TypeVar("T")


class FileFollower:
    """Follows files until stopped. Polling works on every file system, and costs one stat call per idle file."""

    def __init__(
        self,
        patterns: Sequence[str],
        reader: AsyncEventReader,
        committer: GroupCommitter,
        *,
        max_line: int,
        poll_seconds: float = 1.0,
        batch_lines: int = _BATCH_LINES,
        on_item: Callable[[Item], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        self._reader = reader
        self._committer = committer
        self._max_line = max_line
        self._poll_seconds = poll_seconds
        self._batch_lines = batch_lines
        self._on_item = on_item
        self._pause = pause or self._wait_or_stop
        self._open_files = OpenFiles(max_line)
        self._tracker = FileTracker(FileFinder(patterns), self._open_files, clock)
        self._stopped = asyncio.Event()
        self._waits_for_store = True
        self.problems: Problems = {}

    def stop(self) -> None:
        """Stop after the current batch."""
        self._stopped.set()

    def close(self) -> None:
        self._open_files.close_all()

    async def run(self) -> None:
        """Follow the files until stopped."""
        with suppress(TransientError):  # stopped while the store was unavailable: the next start resumes here
            while not self._stopped.is_set():
                if not await self.poll():
                    await self._pause(self._poll_seconds)

    async def read_all(self) -> None:
        """Read everything, and report incomplete last lines. Raises TransientError if the store does not respond."""
        self._waits_for_store = False
        while not self._stopped.is_set() and await self.poll():
            pass
        problems = dict(self.problems)
        for file in self._tracker.files():
            if file.has_incomplete_line():
                await self._run_isolated(file, self._report_incomplete_line(file), problems)
        self._log_problems(problems)

    async def poll(self) -> bool:
        """Scan all files, and read some lines of each file that has more. Return False if nothing was read."""
        problems = await self._scan_files()
        has_read = False
        for file in self._tracker.files():
            if file.has_more and not self._stopped.is_set():
                has_read |= await self._run_isolated(file, self._read_batches(file), problems)
            elif self._tracker.is_idle(file):
                if file.has_incomplete_line():
                    await self._run_isolated(file, self._report_incomplete_line(file), problems)
                self._tracker.release([file])
        self._log_problems(problems)
        unsaved_files = [file for file in self._tracker.files() if file.has_unsaved_position]
        if unsaved_files:
            await self._commit([], [file.position() for file in unsaved_files])
            for file in unsaved_files:
                file.has_unsaved_position = False
        return has_read

    async def _scan_files(self) -> Problems:
        """Find new and changed files, resume new files, and return the problems of files that cannot be followed."""
        scan = await asyncio.to_thread(self._tracker.scan)
        positions: dict[str, FilePosition] = {}
        for number, name in enumerate(sorted(scan.position_names()), 1):
            position = await self._with_retries(self._committer.file_position, name)
            if position is not None:
                positions[name] = position
            if number % _STEPS_PER_YIELD == 0:
                await asyncio.sleep(0)
        for file in await asyncio.to_thread(self._tracker.resume_files, scan, positions):
            _log.info("tailing", path=printable_path(file.path), from_byte=file.end)
        return scan.problems

    async def _run_isolated(self, file: FollowedFile, work: Awaitable[bool], problems: Problems) -> bool:
        """Await the work on a file. Errors are recorded, because one unreadable file must not stop the others."""
        try:
            return await work
        except FileNotFoundError:
            return False  # renamed or deleted since the scan: the next scan notices
        except OSError as error:
            problems[file.path] = error.strerror or str(error)
            return False

    async def _read_batches(self, file: FollowedFile) -> bool:
        """Read and commit some batches of a file. Return True if anything was read."""
        has_read = False
        for _ in range(_COMMITS_PER_TURN):
            if self._stopped.is_set():
                break
            batch = await asyncio.to_thread(self._tracker.read, file, self._batch_lines)
            if batch is None:
                break
            items = await self._parse_lines(file, batch.lines)
            if items:
                position = FilePosition(file.name, fingerprint(batch.head, batch.end), batch.end)
                await self._commit(items, [] if file.is_deleted else [position])
            file.advance(batch.end, batch.head)
            has_read = True
        return has_read

    async def _parse_lines(self, file: FollowedFile, lines: list[RawLine]) -> list[Item]:
        """Parse lines. A line over the limit is rejected. The reason of a rejection names the line."""
        source = f"tail:{source_name(file.path)}"
        items: list[Item] = []
        for number, line in enumerate(lines, 1):
            if line.too_long:
                item: Item = self._reader.reject(line.payload, source, line_too_long(self._max_line))
            else:
                item = await self._reader.read(line.payload, source, source)
            if isinstance(item, RejectedInput):
                item = item.at_line(await asyncio.to_thread(self._tracker.line_number, file, line.start))
            items.append(item)
            if number % _STEPS_PER_YIELD == 0:
                await asyncio.sleep(0)
        return items

    async def _commit(self, items: Sequence[Item], positions: Sequence[FilePosition]) -> None:
        await self._with_retries(self._committer.commit, items, *positions)
        for item in items:
            self._on_item(item)

    async def _with_retries(self, operation: Callable[..., Awaitable[T]], *arguments: object) -> T:
        """Retry until the store responds. After `stop`, and within `read_all`, raises TransientError instead."""
        is_logged = False
        while True:
            try:
                return await operation(*arguments)
            except TransientError as error:
                if self._stopped.is_set() or not self._waits_for_store:
                    raise
                if not is_logged:
                    _log.warning("store unavailable, waiting", reason=str(error))
                is_logged = True
            await self._pause(self._poll_seconds)

    async def _report_incomplete_line(self, file: FollowedFile) -> bool:
        """Store an incomplete last line as rejected. Once the line is complete, it is ingested as a whole."""
        incomplete_line = await asyncio.to_thread(self._tracker.read_incomplete_line, file)
        if incomplete_line:
            number = await asyncio.to_thread(self._tracker.line_number, file, file.end)
            error = InvalidInput("the last line is incomplete; it is read once it ends with a line break")
            item = self._reader.reject(incomplete_line, f"tail:{source_name(file.path)}", error)
            await self._commit([item.at_line(number)], [])
        return False

    def _log_problems(self, problems: Problems) -> None:
        for path, reason in problems.items():
            if self.problems.get(path) != reason:
                _log.warning("file cannot be followed", path=printable_path(path), reason=reason)
        for path in self.problems.keys() - problems.keys():
            _log.info("following file again", path=printable_path(path))
        self.problems = problems

    async def _wait_or_stop(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)
