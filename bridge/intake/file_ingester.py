"""Ingests event files; resumes where the last run stopped."""

import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from bridge.intake.event_reader import EventReader
from bridge.intake.file_position import fingerprint, printable_path, source_name, stored_path
from bridge.intake.source import IntakeReport
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from bridge.store.writer import StagedGroup, Writer
from connectors.openlineage.files import RawRecord, open_event_file, read_records
from connectors.openlineage.growing_file import HEAD_BYTES

_GROUP = 500

#: What a file can fail with while it is read: the disk, torn gzip, damaged gzip.
_READ_ERRORS = (OSError, EOFError, zlib.error)

Progress = Callable[[int], None]


class FileIngester:
    """Takes events from files into the store.

    A group is read and written in one thread: a second one would fight for the interpreter lock at every row. Its
    commit needs no such lock, and is done while the next group is read.
    """

    def __init__(
        self, reader: EventReader, writer: Writer, *, historical: bool = False, from_start: bool = False
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._historical = historical
        self._again = from_start

    def ingest_file(self, path: Path, progress: Progress = lambda _: None) -> IntakeReport:
        """Take one file, from where an earlier ingestion of the same content stopped."""
        try:
            with open_event_file(path) as file:
                name, prefix = stored_path(path), _prefix(file)
                start = 0 if self._again else self._resume_at(file, name, prefix)
                progress(start)
                report = self._take(read_records(file, start), source_name(path), progress, (name, prefix))
        except _READ_ERRORS as error:
            return IntakeReport(unreadable=(f"{printable_path(path)}: {error}",))
        return report._replace(resumed_at=start)

    def ingest_stream(self, file: BinaryIO, source: str) -> IntakeReport:
        """Take events from a stream, which cannot be resumed."""
        return self._take(read_records(file), source, lambda _: None, None)

    def _resume_at(self, file: BinaryIO, name: str, prefix: bytes) -> int:
        known = self._writer.file_position(name)
        if known is None or known.fingerprint != fingerprint(prefix, known.offset):
            return 0
        if file.seek(known.offset - 1) == known.offset - 1 and file.read(1):
            return known.offset
        file.seek(0)  # it is shorter than what was taken: another file with the same beginning
        return 0

    def _take(
        self, records: Iterator[RawRecord], source: str, progress: Progress, file: tuple[str, bytes] | None
    ) -> IntakeReport:
        report = IntakeReport()
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
                positions = [FilePosition(file[0], fingerprint(file[1], end), end)] if file and end else []
                committing = thread.submit(self._finish, self._begin(items, positions), end, progress)
                report = report.add(IntakeReport.of(items))

    def _begin(self, items: list[IncomingEvent | RejectedInput], positions: list[FilePosition]) -> StagedGroup | None:
        """Write a group; what is left is to commit it, while the next is read."""
        if self._writer.embedded:
            return self._writer.stage(items, positions)
        self._writer.write(items, positions)
        return None

    def _finish(self, staged: StagedGroup | None, end: int, progress: Progress) -> None:
        if staged is not None:
            self._writer.commit(staged)
        if end:
            progress(end)


class EventFileSource:
    """A file as a source: what was appended since it was last taken."""

    def __init__(self, ingestion: FileIngester, path: Path, progress: Progress = lambda _: None) -> None:
        self._ingestion = ingestion
        self._path = path
        self._progress = progress

    def poll(self) -> IntakeReport:
        """Take what is new."""
        return self._ingestion.ingest_file(self._path, self._progress)

    def close(self) -> None:
        """Let nothing go: it is open only while it is read."""


def _next_group(records: Iterator[RawRecord]) -> tuple[list[RawRecord], Exception | None]:
    """Read on; what was read before an error is as good as any."""
    group: list[RawRecord] = []
    try:
        group.extend(islice(records, _GROUP))
    except _READ_ERRORS as error:
        return group, error
    return group, None


def _prefix(file: BinaryIO) -> bytes:
    prefix = b""
    try:
        while piece := file.readline(HEAD_BYTES - len(prefix)):
            prefix += piece
    except _READ_ERRORS:
        if not prefix:
            raise  # else the records before it are taken, and reading them meets it again
    file.seek(0)
    return prefix
