"""Keeps a bounded number of followed files open."""

from pathlib import Path
from typing import Protocol

from connectors.openlineage.growing_file import FileIdentity, GrowingFile

_MAX_OPEN_FILES = 200


class OpenableFile(Protocol):
    """What can be opened: a file by its name and inode."""

    path: Path
    identity: FileIdentity
    is_deleted: bool


class OpenFiles:
    """Keeps the files open that were read last: an open file can be read on when it is renamed or deleted."""

    def __init__(self, limit: int, most: int = _MAX_OPEN_FILES) -> None:
        self._limit = limit
        self._most = most
        self._open: dict[FileIdentity, tuple[OpenableFile, GrowingFile]] = {}

    def get(self, identity: FileIdentity) -> GrowingFile | None:
        """Give an open file, None when it is not open."""
        found = self._open.get(identity)
        return found[1] if found else None

    def open(self, file: OpenableFile) -> GrowingFile:
        """Open a file; raises OSError when it cannot be opened or is not what it was when it was looked for."""
        _, handle = self._open.pop(file.identity, (file, None))
        if handle is None:
            handle = GrowingFile(file.path, self._limit)
            status = handle.status()
            if (status.st_dev, status.st_ino) != file.identity:
                handle.close()
                raise FileNotFoundError(2, "moved since it was looked for", str(file.path))
        while len(self._open) >= self._most:
            # One without a name could not be opened again, and might not be at its end.
            named = (identity for identity, (kept, _) in self._open.items() if not kept.is_deleted)
            self.close(next(named, next(iter(self._open))))
        self._open[file.identity] = (file, handle)
        return handle

    def close(self, identity: FileIdentity) -> None:
        """Close a file, if it is open."""
        found = self._open.pop(identity, None)
        if found is not None:
            found[1].close()

    def close_all(self) -> None:
        """Close every file."""
        for identity in list(self._open):
            self.close(identity)
