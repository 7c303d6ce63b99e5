"""Connections to a SQLite store, durable by default, and what its errors mean."""

import sqlite3
from pathlib import Path

from mappers.errors import ConfigError, StorageFailure, StoreBusy, StoreFull

_SCHEME = "sqlite:///"
_CACHE_KIB = 65_536
#: Where the log is moved by the commit itself, should nobody have moved it earlier.
_CHECKPOINT_PAGES = 32_000


def store_path(url: str) -> Path:
    """Read the file of a store from its URL."""
    if not url.startswith(_SCHEME):
        raise ConfigError(f"store.url {url!r} is not supported: it must start with {_SCHEME}")
    return Path(url.removeprefix(_SCHEME)).expanduser()


def open_writer(path: Path, *, max_pages: int | None = None) -> sqlite3.Connection:
    """Open the connection of the one writer: every commit reaches the disk before it returns.

    What the write-ahead log holds is moved into the store first: after a failed flush the kernel may call pages
    clean that never reached the disk, and commits appended behind such a hole would be lost in a power cut.
    """
    connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        f"cache_size = -{_CACHE_KIB}",
        f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
        "temp_store = MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}")
    if max_pages is not None:
        connection.execute(f"PRAGMA max_page_count = {max_pages}")
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open a connection that can only read."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    connection.execute("PRAGMA query_only = ON")
    connection.row_factory = sqlite3.Row
    return connection


def transient(error: sqlite3.OperationalError) -> StoreFull | StoreBusy | None:
    """Translate an error that passes by itself or by making room; None for one that must stop us.

    Only a failure that leaves the store as it was is translated. After any other error nobody knows
    what the disk holds, so going on would break the promise that acknowledged means kept.
    """
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_FULL:
        return StoreFull("the store is full: make room on the disk or raise its limit")
    if code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy("another process holds the store's write lock")
    return None


def storage_failure(error: sqlite3.Error) -> StorageFailure:
    """Say what to do after an error that leaves the content of the disk in doubt."""
    return StorageFailure(f"the store failed ({error}): check its disk, then start again: what was committed is safe")
