"""Keeps a bounded number of followed files open."""

from pathlib import Path
from typing import Protocol

from connectors.openlineage.growing_file import FileIdentity, GrowingFile

_MAX_OPEN_FILES = 200


class OpenableFile(Protocol):
    """A file that can be opened, identified by path and inode."""

    path: Path
    identity: FileIdentity
    is_deleted: bool


class OpenFiles:
    """Keeps the most recently read files open: an open file can still be read after it is renamed or deleted."""

    def __init__(self, max_line: int, max_open: int = _MAX_OPEN_FILES) -> None:
        self._max_line = max_line
        self._max_open = max_open
        self._open: dict[FileIdentity, tuple[OpenableFile, GrowingFile]] = {}

    def get(self, identity: FileIdentity) -> GrowingFile | None:
        _, handle = self._open.get(identity, (None, None))
        return handle

    def open(self, file: OpenableFile) -> GrowingFile:
        """Open a file. Raises OSError if that fails, or if the path now refers to another file."""
        _, handle = self._open.pop(file.identity, (file, None))
        if handle is None:
            handle = GrowingFile(file.path, self._max_line)
            status = handle.status()
            if (status.st_dev, status.st_ino) != file.identity:
                handle.close()
                raise FileNotFoundError(2, "moved since the last scan", str(file.path))
        while len(self._open) >= self._max_open:
            # Keep deleted files open: they cannot be opened again, and may contain unread lines.
            candidates = (identity for identity, (open_file, _) in self._open.items() if not open_file.is_deleted)
            oldest_identity = next(iter(self._open))
            self.close(next(candidates, oldest_identity))
        self._open[file.identity] = (file, handle)
        return handle

    def close(self, identity: FileIdentity) -> None:
        """Close a file, if it is open."""
        _, handle = self._open.pop(identity, (None, None))
        if handle is not None:
            handle.close()

    def close_all(self) -> None:
        for identity in list(self._open):
            self.close(identity)
