"""Recognizes followed files across rotation, truncation and restarts."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bridge.intake.file_position import fingerprint, is_same_file, stored_path
from bridge.intake.open_files import OpenFiles
from bridge.store.event_log import FilePosition
from connectors.openlineage.file_finder import FileFinder, FileListing, paths_before_rotation
from connectors.openlineage.files import GZIP_MAGIC
from connectors.openlineage.growing_file import FileIdentity, LineBatch


@dataclass(slots=True, eq=False)
class FollowedFile:
    """A file, the end of its ingested part, and whether it may contain more."""

    path: Path
    name: str
    identity: FileIdentity
    size: int = 0
    modified_at: int = -1
    end: int = 0
    fingerprint: bytes = field(default_factory=lambda: fingerprint(b"", 0))
    changed_at: float = 0.0
    has_more: bool = True
    needs_check: bool = True
    has_unsaved_position: bool = False
    is_deleted: bool = False
    is_incomplete_line_reported: bool = False
    #: An offset in the ingested part, and the number of line ends before it. Lines are counted if one is rejected.
    counted_end: int = 0
    counted_lines: int = 0

    def position(self) -> FilePosition:
        return FilePosition(self.name, self.fingerprint, self.end)

    def former_names(self) -> list[str]:
        """Return the names that the file may have had before a rotation, under which its position may be stored."""
        return [stored_path(path) for path in paths_before_rotation(self.path)]

    def has_incomplete_line(self) -> bool:
        """Return True if an unreported incomplete line follows the ingested part."""
        return not self.has_more and self.size > self.end and not self.is_incomplete_line_reported

    def resume(self, head: bytes, positions: Iterable[FilePosition]) -> bool:
        """Resume at the first position in the file's folder that matches its content. Return False if none does."""
        folder = Path(self.name).parent
        for position in positions:
            if Path(position.path).parent == folder and is_same_file(position, head, self.size):
                self.end, self.fingerprint = position.offset, position.fingerprint
                return True
        return False

    def advance(self, end: int, head: bytes) -> None:
        """Move the position past an ingested batch, or back to the beginning of a replaced file."""
        if end == 0:
            self.counted_end = self.counted_lines = 0
        self.end = end
        self.fingerprint = fingerprint(head, end)
        self.has_unsaved_position = False
        self.is_incomplete_line_reported = False


#: A file that has not changed for this long is idle: its incomplete line is reported, and the file is closed.
_IDLE_SECONDS = 60.0


class TrackerScan(NamedTuple):
    """Result of a scan: new files, and positions whose file no longer contains the ingested content."""

    new_files: list[FollowedFile]
    unmatched_positions: list[FilePosition]
    problems: dict[Path, str]

    def position_names(self) -> set[str]:
        """Return the names of all stored positions at which the new files may resume."""
        return {file.name for file in self.new_files} | {
            name for file in self.new_files for name in file.former_names()
        }


class FileTracker:
    """Tracks files while they are appended to, renamed, truncated and replaced."""

    def __init__(self, finder: FileFinder, open_files: OpenFiles, clock: Callable[[], float]) -> None:
        self._finder = finder
        self._open_files = open_files
        self._clock = clock
        self._files: dict[FileIdentity, FollowedFile] = {}

    def files(self) -> list[FollowedFile]:
        return list(self._files.values())

    def scan(self) -> TrackerScan:
        """List the files, and find new and changed files."""
        listing = self._finder.list_files()
        scan = TrackerScan([], [], dict(listing.problems))
        paths_by_identity: dict[FileIdentity, list[Path]] = {}
        for path, status in listing.files.items():
            paths_by_identity.setdefault((status.st_dev, status.st_ino), []).append(path)
        for file in self.files():
            if file.identity in paths_by_identity:
                self._update_present_file(file, paths_by_identity[file.identity], listing)
            else:
                self._update_deleted_file(file)
            if file.needs_check:
                self._restart_if_replaced(file, scan)
        for identity, (path, *_) in paths_by_identity.items():
            if identity not in self._files:
                status = listing.files[path]
                file = FollowedFile(path, stored_path(path), identity, status.st_size, status.st_mtime_ns)
                file.changed_at = self._clock()
                scan.new_files.append(file)
        return scan

    def resume_files(self, scan: TrackerScan, positions: Mapping[str, FilePosition]) -> list[FollowedFile]:
        """Resume new files at their own position or, if that does not match, at a position with the same content.

        Returns the files that are followed from now on; the others are added to the problems of the scan.
        """
        present_names = {file.name for file in self.files()} | {file.name for file in scan.new_files}
        unmatched_positions = [
            *scan.unmatched_positions,
            *(position for name, position in positions.items() if name not in present_names),
        ]
        own_positions = {file.name: positions[file.name] for file in scan.new_files if file.name in positions}
        opened_files = []
        unresumed_files = []
        for file in scan.new_files:
            try:
                head = self._open_files.open(file).head()
                if head.startswith(GZIP_MAGIC):
                    scan.problems[file.path] = "compressed file: load it with `lineage-bridge ingest`"
                    self._open_files.close(file.identity)
                    continue
            except OSError as error:
                scan.problems[file.path] = error.strerror or str(error)
                continue
            opened_files.append((file, head))
            position = own_positions.get(file.name)
            if position is None or not file.resume(head, [position]):
                unresumed_files.append((file, head))
                if position is not None:
                    unmatched_positions.append(position)
        for file, head in unresumed_files:
            file.has_unsaved_position = file.resume(head, unmatched_positions)
        for file, _ in opened_files:
            self._files[file.identity] = file
        return [file for file, _ in opened_files]

    def read(self, file: FollowedFile, count: int) -> LineBatch | None:
        """Read the next lines of a file, or return None if there is nothing to read now."""
        batch = self._open_files.open(file).read(file.end, count)
        if batch is None or fingerprint(batch.head, file.end) != file.fingerprint:
            file.needs_check = True  # truncated since the scan: the next scan starts over
            return None
        file.has_more = batch.end != file.end
        return batch if file.has_more else None

    def line_number(self, file: FollowedFile, offset: int) -> int:
        """Return the number of the line at an offset. Lines are counted from the last line that was asked for."""
        handle = self._open_files.open(file)
        if offset < file.counted_end:
            file.counted_end = file.counted_lines = 0
        file.counted_lines += handle.count_line_ends(file.counted_end, offset)
        file.counted_end = offset
        return file.counted_lines + 1

    def read_incomplete_line(self, file: FollowedFile) -> bytes:
        """Return the incomplete last line, and mark it as reported."""
        line = self._open_files.open(file).incomplete_line(file.end)
        file.is_incomplete_line_reported = True
        return line

    def is_idle(self, file: FollowedFile) -> bool:
        """Return True if a file has nothing left to read and has not changed for a while."""
        return not file.has_more and self._clock() - file.changed_at > _IDLE_SECONDS

    def release(self, files: Iterable[FollowedFile]) -> None:
        """Close files, and stop tracking deleted files."""
        for file in files:
            self._open_files.close(file.identity)
            if file.is_deleted:
                self._files.pop(file.identity, None)

    def _update_present_file(self, file: FollowedFile, paths: list[Path], listing: FileListing) -> None:
        """Record the path and status of a file. A file that was renamed gets a new position name."""
        if file.path not in paths:
            path, *_ = paths
            file.path = path
            file.name = stored_path(path)
            file.has_unsaved_position = file.end > 0
        file.has_unsaved_position |= file.is_deleted and file.end > 0
        file.is_deleted = False
        status = listing.files[file.path]
        self._update_status(file, status.st_size, status.st_mtime_ns)

    def _update_deleted_file(self, file: FollowedFile) -> None:
        """Mark a file as deleted. It is read to its end if it is still open, and forgotten otherwise."""
        file.is_deleted = True
        file.has_unsaved_position = False
        handle = self._open_files.get(file.identity)
        try:
            status = handle.status() if handle is not None else None
        except OSError:  # also deleted on the server
            status = None
        if status is not None:
            self._update_status(file, status.st_size, status.st_mtime_ns)
        else:
            self.release([file])
            file.needs_check = False

    def _update_status(self, file: FollowedFile, size: int, modified_at: int) -> None:
        if (size, modified_at) != (file.size, file.modified_at):
            file.size = size
            file.modified_at = modified_at
            file.changed_at = self._clock()
            file.has_more = file.needs_check = True

    def _restart_if_replaced(self, file: FollowedFile, scan: TrackerScan) -> None:
        """Read a file from its beginning again if it no longer contains the ingested part.

        A changed file is checked again at the next scan: a second change within one tick of the file system's clock
        does not alter the status if the size stays the same.
        """
        file.needs_check = file.has_more
        try:
            handle = self._open_files.open(file)
            if is_same_file(file.position(), handle.head(), handle.status().st_size):
                return
        except OSError:
            file.needs_check = True
            return  # reading it raises the same error, which is then reported
        scan.unmatched_positions.append(file.position())
        file.advance(0, b"")
        file.has_more = True
