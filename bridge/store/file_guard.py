"""Notices when the files of a SQLite store are deleted, moved, replaced or truncated while they are open.

SQLite continues to work on the open files then, and everything that it commits is lost.
"""

import os
from pathlib import Path

from bridge.errors import StoreLost

_WAL_HEADER_BYTES = 32
_WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
#: Position of the salts, which change whenever SQLite starts the write-ahead log anew.
_SALTS = slice(16, 24)


def wal_path(store_file: Path) -> Path:
    """Return the path of the write-ahead log of a store file."""
    return store_file.with_name(f"{store_file.name}-wal")


def file_size(path: Path) -> int:
    """Return the size of a file, or 0 if it does not exist or cannot be accessed."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


class StoreFileGuard:
    """Remembers the identity and size of a store file and of its write-ahead log.

    The store file itself is never opened, because closing it would release the locks of SQLite.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path.absolute())
        self._wal_path = str(wal_path(path.absolute()))
        self._inode = self._size = 0
        self._wal_inode = self._wal_size = 0
        self._wal_salts = b""
        self._wal_descriptor: int | None = None
        self.check()

    def check(self) -> None:
        """Raise StoreLost if a file is not the one that was opened, or has lost content."""
        inode, size = self._stat(self._path)
        if self._inode not in (0, inode):
            raise StoreLost(f"the store file {self._path} was deleted, moved or replaced")
        if size < self._size:
            raise StoreLost(f"the store file {self._path} was truncated from {self._size} to {size} bytes")
        self._check_wal()
        self._inode, self._size = inode, size

    def close(self) -> None:
        if self._wal_descriptor is not None:
            os.close(self._wal_descriptor)
            self._wal_descriptor = None

    def _check_wal(self) -> None:
        inode, size = self._stat(self._wal_path)
        if self._wal_inode not in (0, inode):
            raise StoreLost(f"the write-ahead log {self._wal_path} was deleted, moved or replaced")
        if not inode:
            return
        self._wal_inode = inode
        if self._wal_descriptor is None:
            self._wal_descriptor = os.open(self._wal_path, os.O_RDONLY | os.O_CLOEXEC)
        header = os.pread(self._wal_descriptor, _WAL_HEADER_BYTES, 0)
        if (problem := self._wal_problem(header, size)) is not None:
            size = os.fstat(self._wal_descriptor).st_size
            if header != os.pread(self._wal_descriptor, _WAL_HEADER_BYTES, 0):
                return  # SQLite is starting the log anew or truncating it: the next call decides
            if (problem := self._wal_problem(header, size)) is not None:
                raise StoreLost(problem)
        self._wal_size, self._wal_salts = size, header[_SALTS]

    def _wal_problem(self, header: bytes, size: int) -> str | None:
        if header and not header.startswith(_WAL_MAGIC):
            return f"the write-ahead log {self._wal_path} was truncated or overwritten"
        if size < self._wal_size and header and header[_SALTS] == self._wal_salts:
            return f"the write-ahead log {self._wal_path} was truncated from {self._wal_size} to {size} bytes"
        return None

    @staticmethod
    def _stat(path: str) -> tuple[int, int]:
        """Return inode and size of a file, or zeros if it does not exist or cannot be accessed."""
        try:
            status = os.stat(path)  # noqa: PTH116 - `Path.stat` takes twice as long, and commits wait for it
        except OSError:
            return 0, 0
        return status.st_ino, status.st_size
