"""Files of events into the store: every record through the one door, resumable where it stopped."""

import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from bridge.intake.position import as_text, fingerprint, source_name, stored_name
from bridge.intake.reading import Reader
from bridge.intake.source import Report
from bridge.store.writer import Incoming, Position, Rejected, Staged, Writer
from connectors.openlineage.files import Record, open_events, read_records
from connectors.openlineage.tail import BEGINNING_BYTES

_GROUP = 500

#: What a file can fail with while it is read: the disk, torn gzip, damaged gzip.
_READ_ERRORS = (OSError, EOFError, zlib.error)

Progress = Callable[[int], None]


class Ingestion:
    """Takes events from files into the store.

    A group is read and written in one thread: a second one would fight for the interpreter lock at every row. Its
    commit needs no such lock, and is done while the next group is read.
    """

    def __init__(self, reader: Reader, writer: Writer, *, historical: bool = False, again: bool = False) -> None:
        self._reader = reader
        self._writer = writer
        self._historical = historical
        self._again = again

    def file(self, path: Path, progress: Progress = lambda _: None) -> Report:
        """Take one file, from where an earlier ingestion of the same content stopped."""
        try:
            with open_events(path) as file:
                name, prefix = stored_name(path), _prefix(file)
                start = 0 if self._again else self._resume_at(file, name, prefix)
                progress(start)
                report = self._take(read_records(file, start), source_name(path), progress, (name, prefix))
        except _READ_ERRORS as error:
            return Report(unreadable=(f"{as_text(path)}: {error}",))
        return report._replace(resumed_at=start)

    def stream(self, file: BinaryIO, source: str) -> Report:
        """Take events from a stream, which cannot be resumed."""
        return self._take(read_records(file), source, lambda _: None, None)

    def _resume_at(self, file: BinaryIO, name: str, prefix: bytes) -> int:
        known = self._writer.position(name)
        if known is None or known.fingerprint != fingerprint(prefix, known.end):
            return 0
        if file.seek(known.end - 1) == known.end - 1 and file.read(1):
            return known.end
        file.seek(0)  # it is shorter than what was taken: another file with the same beginning
        return 0

    def _take(
        self, records: Iterator[Record], source: str, progress: Progress, file: tuple[str, bytes] | None
    ) -> Report:
        report = Report()
        with ThreadPoolExecutor(1, thread_name_prefix="commit") as thread:
            committing: Future[None] | None = None
            while True:
                group, error = _next_group(records)
                if error is not None:
                    report = report._replace(unreadable=(f"{source}: {error}",))
                items = [self._reader.read(r.payload, source, historical=self._historical) for r in group]
                if committing is not None:
                    committing.result()
                if not group:
                    return report
                end = max(record.end for record in group)
                positions = [Position(file[0], fingerprint(file[1], end), end)] if file and end else []
                committing = thread.submit(self._finish, self._begin(items, positions), end, progress)
                report = report.plus(Report.of(items))

    def _begin(self, items: list[Incoming | Rejected], positions: list[Position]) -> Staged | None:
        """Write a group; what is left is to commit it, while the next is read."""
        if self._writer.embedded:
            return self._writer.stage(items, positions)
        self._writer.write(items, positions)
        return None

    def _finish(self, staged: Staged | None, end: int, progress: Progress) -> None:
        if staged is not None:
            self._writer.commit(staged)
        if end:
            progress(end)


class EventFile:
    """A file as a source: what was appended since it was last taken."""

    def __init__(self, ingestion: Ingestion, path: Path, progress: Progress = lambda _: None) -> None:
        self._ingestion = ingestion
        self._path = path
        self._progress = progress

    def once(self) -> Report:
        """Take what is new."""
        return self._ingestion.file(self._path, self._progress)

    def close(self) -> None:
        """Let nothing go: it is open only while it is read."""


def _next_group(records: Iterator[Record]) -> tuple[list[Record], Exception | None]:
    """Read on; what was read before an error is as good as any."""
    group: list[Record] = []
    try:
        group.extend(islice(records, _GROUP))
    except _READ_ERRORS as error:
        return group, error
    return group, None


def _prefix(file: BinaryIO) -> bytes:
    prefix = b""
    try:
        while piece := file.readline(BEGINNING_BYTES - len(prefix)):
            prefix += piece
    except _READ_ERRORS:
        if not prefix:
            raise  # else the records before it are taken, and reading them meets it again
    file.seek(0)
    return prefix
