"""Recognizes followed files across rotation, truncation and restarts."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bridge.intake.file_position import fingerprint, is_same_file, stored_path
from bridge.intake.open_files import OpenFiles
from bridge.store.event_log import FilePosition
from connectors.openlineage.file_finder import FileFinder, FileListing, names_before_rotation
from connectors.openlineage.files import GZIP_MAGIC
from connectors.openlineage.growing_file import FileIdentity, LineBatch


@dataclass(slots=True, eq=False)
class FollowedFile:
    """A file, how far it was taken, and whether it may hold more."""

    path: Path
    name: str
    identity: FileIdentity
    size: int = 0
    modified: int = -1
    end: int = 0
    fingerprint: bytes = field(default_factory=lambda: fingerprint(b"", 0))
    changed_at: float = 0.0
    has_more: bool = True
    needs_check: bool = True
    position_dirty: bool = False
    is_deleted: bool = False
    incomplete_line_reported: bool = False

    def position(self) -> FilePosition:
        """Give what is stored of the file."""
        return FilePosition(self.name, self.fingerprint, self.end)

    def former_names(self) -> list[str]:
        """Name where the position may be stored if the file was rotated while nobody looked."""
        return [stored_path(path) for path in names_before_rotation(self.path)]

    def has_incomplete_line(self) -> bool:
        """Tell whether a line without its end waits behind what was taken, and nobody was told."""
        return not self.has_more and self.size > self.end and not self.incomplete_line_reported

    def resume(self, beginning: bytes, positions: Iterable[FilePosition]) -> bool:
        """Go on at the first of the positions in this folder whose content this file has."""
        folder = Path(self.name).parent
        for position in positions:
            if Path(position.path).parent == folder and is_same_file(position, beginning, self.size):
                self.end, self.fingerprint = position.offset, position.fingerprint
                return True
        return False

    def advance(self, end: int, beginning: bytes) -> None:
        """Go on behind what was taken."""
        self.end, self.fingerprint, self.position_dirty = end, fingerprint(beginning, end), False
        self.incomplete_line_reported = False


#: After how long without a change a torn line is reported, and a file that has no name any more let go.
_SETTLED_SECONDS = 60.0


class TrackerScan(NamedTuple):
    """What a look at the files found: those not seen before, and positions whose content is elsewhere by now."""

    new: list[FollowedFile]
    unmatched: list[FilePosition]
    problems: dict[Path, str]

    def names(self) -> set[str]:
        """Name the positions that must be known to tell where the new files go on."""
        return {file.name for file in self.new} | {name for file in self.new for name in file.former_names()}


class FileTracker:
    """Keeps sight of files while they are appended to, renamed, cut off and replaced."""

    def __init__(self, watch: FileFinder, handles: OpenFiles, clock: Callable[[], float]) -> None:
        self._watch = watch
        self._handles = handles
        self._clock = clock
        self._files: dict[FileIdentity, FollowedFile] = {}

    def files(self) -> list[FollowedFile]:
        """Give every file in sight."""
        return list(self._files.values())

    def scan(self) -> TrackerScan:
        """Look which files there are and which have changed."""
        listing = self._watch.list_files()
        look = TrackerScan([], [], dict(listing.problems))
        present: dict[FileIdentity, list[Path]] = {}
        for path, status in listing.files.items():
            present.setdefault((status.st_dev, status.st_ino), []).append(path)
        for file in self.files():
            if file.identity in present:
                self._see(file, present[file.identity], listing)
            else:
                self._see_nameless(file)
            if file.needs_check:
                self._verify(file, look)
        for identity, paths in present.items():
            if identity not in self._files:
                status = listing.files[paths[0]]
                file = FollowedFile(paths[0], stored_path(paths[0]), identity, status.st_size, status.st_mtime_ns)
                file.changed_at = self._clock()
                look.new.append(file)
        return look

    def resolve(self, look: TrackerScan, known: Mapping[str, FilePosition]) -> list[FollowedFile]:
        """Find where the new files go on: each at its own position, else where the same content was left."""
        present = {file.name for file in self.files()} | {file.name for file in look.new}
        strayed = [*look.unmatched, *(p for name, p in known.items() if name not in present)]
        own = {file.name: known[file.name] for file in look.new if file.name in known}
        settled, lost = [], []
        for file in look.new:
            try:
                beginning = self._handles.open(file).head()
                if beginning.startswith(GZIP_MAGIC):
                    look.problems[file.path] = "packed: take it with `lineage-bridge ingest`"
                    self._handles.close(file.identity)
                    continue
            except OSError as error:
                look.problems[file.path] = error.strerror or str(error)
                continue
            settled.append((file, beginning))
            position = own.get(file.name)
            if position is None or not file.resume(beginning, [position]):
                lost.append((file, beginning))
                strayed += [position] if position is not None else []
        for file, beginning in lost:
            file.position_dirty = file.resume(beginning, strayed)
        for file, _ in settled:
            self._files[file.identity] = file
        return [file for file, _ in settled]

    def read(self, file: FollowedFile, count: int) -> LineBatch | None:
        """Read on in a file; None when there is nothing to go on with now."""
        batch = self._handles.open(file).read(file.end, count)
        if batch is None or fingerprint(batch.beginning, file.end) != file.fingerprint:
            file.needs_check = True  # cut off since the look: the next one begins anew
            return None
        file.has_more = batch.end != file.end
        return batch if file.has_more else None

    def torn(self, file: FollowedFile) -> bytes:
        """Give the beginning of a line that waits for its end, once for each line."""
        torn = self._handles.open(file).incomplete_line(file.end)
        file.incomplete_line_reported = True
        return torn

    def is_idle(self, file: FollowedFile) -> bool:
        """Tell whether a file was not changed for so long that it may stay like this."""
        return not file.has_more and self._clock() - file.changed_at > _SETTLED_SECONDS

    def release(self, files: Iterable[FollowedFile]) -> None:
        """Close what need not stay open; forget files that have no name any more."""
        for file in files:
            self._handles.close(file.identity)
            if file.is_deleted:
                self._files.pop(file.identity, None)

    def _see(self, file: FollowedFile, paths: list[Path], listing: FileListing) -> None:
        if file.path not in paths:
            file.path, file.name = paths[0], stored_path(paths[0])
            file.position_dirty = file.end > 0
        file.position_dirty |= file.is_deleted and file.end > 0
        file.is_deleted = False
        status = listing.files[file.path]
        self._notice(file, status.st_size, status.st_mtime_ns)

    def _see_nameless(self, file: FollowedFile) -> None:
        file.is_deleted, file.position_dirty = True, False
        handle = self._handles.get(file.identity)
        try:
            status = handle.status() if handle is not None else None
        except OSError:  # gone from a server, too
            status = None
        if status is not None:
            self._notice(file, status.st_size, status.st_mtime_ns)
        else:
            self.release([file])
            file.needs_check = False

    def _notice(self, file: FollowedFile, size: int, modified: int) -> None:
        if (size, modified) != (file.size, file.modified):
            file.size, file.modified, file.changed_at = size, modified, self._clock()
            file.has_more = file.needs_check = True

    def _verify(self, file: FollowedFile, look: TrackerScan) -> None:
        """Begin anew when the file does not hold any more what was taken of it.

        Once more at the look after a change: a second change within one tick of the file system's clock
        that leaves the size as it was cannot be seen in the status.
        """
        file.needs_check = file.has_more
        try:
            handle = self._handles.open(file)
            if is_same_file(file.position(), handle.head(), handle.status().st_size):
                return
        except OSError:
            file.needs_check = True
            return  # whoever reads it meets the same, and tells
        look.unmatched.append(file.position())
        file.advance(0, b"")
        file.has_more = True
