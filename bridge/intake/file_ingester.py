"""Ingests event files; resumes where the last run stopped."""

import stat
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from bridge.intake.event_reader import EventReader
from bridge.intake.file_position import fingerprint, line_too_long, printable_path, source_name, stored_path
from bridge.intake.source import IntakeReport
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from bridge.store.writer import StagedGroup, Writer
from connectors.openlineage.files import (
    MAX_LINE_BYTES,
    RawRecord,
    count_line_ends,
    open_event_file,
    read_records,
)
from connectors.openlineage.growing_file import HEAD_BYTES

#: A batch has at most this many events, and is complete when its events have this size.
_BATCH_SIZE, _BATCH_BYTES, _BATCH_ROWS = 500, 8 << 20, 20_000

#: Errors of a file that is read: disk errors, truncated gzip, damaged gzip.
_READ_ERRORS = (OSError, EOFError, zlib.error)

Item = IncomingEvent | RejectedInput
ProgressCallback = Callable[[int], None]


class _FilePart:
    """The part of a file to ingest, from an offset on. The first bytes and the stored name identify the file."""

    def __init__(self, path: Path, head: bytes, start: int) -> None:
        self.path = path
        self.name = stored_path(path)
        self.head = head
        self.start = start

    @cached_property
    def lines_before(self) -> int | None:
        """Number of lines before this part, or None if the file was replaced. Counted only if a line is rejected."""
        if self.start == 0:
            return 0
        try:
            with open_event_file(self.path) as file:
                return count_line_ends(file, self.start) if _read_head(file) == self.head else None
        except _READ_ERRORS:
            return None  # deleted; the part is still open and can be read


class FileIngester:
    """Ingests events from files.

    A batch is parsed and written in one thread: two threads would compete for the interpreter lock at every row.
    The commit does not need the lock, and runs while the next batch is parsed.
    """

    def __init__(
        self,
        reader: EventReader,
        writer: Writer,
        *,
        historical: bool = False,
        from_start: bool = False,
        max_line: int = MAX_LINE_BYTES,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._historical = historical
        self._from_start = from_start
        self._max_line = max_line

    def ingest_file(self, path: Path, progress: ProgressCallback = lambda _: None) -> IntakeReport:
        """Ingest one file, resuming where an earlier ingestion of the same content stopped.

        A pipe is read as a stream, and a device is not read at all.
        """
        try:
            mode = path.stat().st_mode
            if stat.S_ISFIFO(mode):
                with open_event_file(path) as pipe:
                    return self.ingest_stream(pipe, source_name(path))
            if not stat.S_ISREG(mode):
                return IntakeReport(unreadable=(f"{printable_path(path)}: neither a file nor a pipe",))
            with open_event_file(path) as file:
                head = _read_head(file)
                start = 0 if self._from_start else self._resume_offset(file, stored_path(path), head)
                progress(start)
                records = read_records(file, start, self._max_line)
                report = self._ingest_records(records, source_name(path), progress, _FilePart(path, head, start))
        except _READ_ERRORS as error:
            return IntakeReport(unreadable=(f"{printable_path(path)}: {error}",))
        return report._replace(resumed_at=start)

    def ingest_stream(self, file: BinaryIO, source: str) -> IntakeReport:
        """Ingest a stream, which cannot be resumed."""
        return self._ingest_records(read_records(file, max_line=self._max_line), source, lambda _: None, None)

    def _resume_offset(self, file: BinaryIO, name: str, head: bytes) -> int:
        position = self._writer.file_position(name)
        if position is None or position.fingerprint != fingerprint(head, position.offset):
            return 0
        if file.seek(position.offset - 1) == position.offset - 1 and file.read(1):
            return position.offset
        file.seek(0)  # shorter than what was ingested: another file with the same beginning
        return 0

    def _ingest_records(
        self,
        records: Iterator[RawRecord],
        source: str,
        progress: ProgressCallback,
        part: _FilePart | None,
    ) -> IntakeReport:
        """Ingest records in batches. The commit of a batch overlaps with the parsing of the next one."""
        report = IntakeReport()
        with ThreadPoolExecutor(1, thread_name_prefix="commit") as executor:
            pending_commit: Future[None] | None = None
            is_first_batch = part is not None and part.start == 0
            while True:
                items, end_offset, error = self._next_batch(records, source, part)
                foreign_file = _reject_foreign_file(items) if is_first_batch else None
                if foreign_file is not None:
                    next_record = next(records, None)
                    if next_record is None:
                        self._writer.write([foreign_file])
                        return IntakeReport.of([foreign_file])
                    records = chain([next_record], records)  # events may follow
                is_first_batch = False
                if error is not None:
                    report = report._replace(unreadable=(f"{source}: {error}",))
                if pending_commit is not None:
                    pending_commit.result()
                if not items:
                    return report
                positions = []
                if part and end_offset:
                    positions.append(FilePosition(part.name, fingerprint(part.head, end_offset), end_offset))
                pending_commit = executor.submit(self._commit, self._stage(items, positions), end_offset, progress)
                report = report.add(IntakeReport.of(items))

    def _next_batch(
        self, records: Iterator[RawRecord], source: str, part: _FilePart | None
    ) -> tuple[list[Item], int, Exception | None]:
        """Read the next batch, and the offset of its end. If reading fails, return the error, too."""
        items: list[Item] = []
        end_offset = size = row_count = 0
        try:
            for record in records:
                item = self._read_record(record, source, part)
                items.append(item)
                end_offset = max(end_offset, record.end)
                size += len(record.payload)
                row_count += len(item.rows) if isinstance(item, IncomingEvent) else 0
                if len(items) >= _BATCH_SIZE or size >= _BATCH_BYTES or row_count >= _BATCH_ROWS:
                    break
        except _READ_ERRORS as error:
            return items, end_offset, error
        return items, end_offset, None

    def _read_record(self, record: RawRecord, source: str, part: _FilePart | None) -> Item:
        """Parse a record. The reason of a rejection names the line."""
        if record.too_long:
            item: Item = self._reader.reject(record.payload, source, line_too_long(self._max_line))
        else:
            item = self._reader.read(record.payload, source, historical=self._historical)
        if isinstance(item, RejectedInput) and record.line is not None:
            lines_before = part.lines_before if part else 0
            return item if lines_before is None else item.at_line(lines_before + record.line)
        return item

    def _stage(self, items: list[Item], positions: list[FilePosition]) -> StagedGroup | None:
        """Write a batch. An embedded store commits the returned group while the next batch is parsed."""
        if self._writer.embedded:
            return self._writer.stage(items, positions)
        self._writer.write(items, positions)
        return None

    def _commit(self, staged_group: StagedGroup | None, end_offset: int, progress: ProgressCallback) -> None:
        if staged_group is not None:
            self._writer.commit(staged_group)
        if end_offset:
            progress(end_offset)


def _reject_foreign_file(items: list[Item]) -> RejectedInput | None:
    """Reject a file as a whole if none of its lines resembles an event. The payload is its first line."""
    foreign_items = [
        item
        for item in items
        if isinstance(item, RejectedInput) and not item.too_large and b'"eventTime"' not in (item.payload or b"")
    ]
    if len(items) < 2 or len(foreign_items) < len(items):
        return None
    first_item = foreign_items[0]
    return first_item._replace(
        reason=f"not an event file: none of {len(items):,} lines is an event; {first_item.reason}"
    )


class EventFileSource:
    """A file as an event source: each poll ingests appended lines."""

    def __init__(self, ingester: FileIngester, path: Path, progress: ProgressCallback = lambda _: None) -> None:
        self._ingester = ingester
        self._path = path
        self._progress = progress

    def poll(self) -> IntakeReport:
        return self._ingester.ingest_file(self._path, self._progress)

    def close(self) -> None:
        """Do nothing: the file is open only during a poll."""


def _read_head(file: BinaryIO) -> bytes:
    """Read the first bytes of a file, or as many as can be read before an error."""
    head = b""
    try:
        while chunk := file.readline(HEAD_BYTES - len(head)):
            head += chunk
    except _READ_ERRORS:
        if not head:
            raise
        # The records before the error are ingested, and reading beyond them raises the error again.
    file.seek(0)
    return head
