"""Background thread that checkpoints the SQLite write-ahead log, so that commits do not have to."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import structlog

from bridge.store.file_guard import file_size, wal_path
from mappers.errors import LineageBridgeError, TransientError

_log = structlog.get_logger()

#: Interval between checkpoints: a page that is written twice in between is copied once.
_PAUSE_SECONDS = 0.5
#: Each pass is shorter than the one before; a pass that ends between two commits lets SQLite restart the log.
_PASSES = 4
#: A larger log is truncated once all of it is copied; while commits arrive, only one larger than the second limit.
#: Truncating and extending the log all the time would slow down commits.
_MAX_WAL_BYTES, _MAX_BUSY_WAL_BYTES = 64 << 20, 256 << 20


class Checkpointer:
    """A thread that checkpoints through its own connection. SQLite can checkpoint during reads and writes."""

    def __init__(self, path: Path, translate_error: Callable[[Exception], LineageBridgeError]) -> None:
        self._path = path
        self._wal_path = wal_path(path)
        self._translate_error = translate_error
        self._committed = threading.Event()
        self._stop = threading.Event()
        self._failure: LineageBridgeError | None = None
        self._thread = threading.Thread(target=self._run, name="checkpointer", daemon=True)
        self._thread.start()

    def notify_commit(self) -> None:
        """Schedule a checkpoint. Raises the error if an earlier checkpoint failed."""
        self._committed.set()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Stop the thread. Commits that are still in the log are safe there."""
        self._stop.set()
        self._committed.set()
        self._thread.join()

    def _run(self) -> None:
        """Checkpoint after commits until stopped. An error other than a transient one ends the thread."""
        connection = sqlite3.connect(self._path, isolation_level=None, timeout=0, check_same_thread=False)
        try:
            while not self._stop.wait(_PAUSE_SECONDS):
                self._committed.wait()
                self._committed.clear()
                if not self._checkpoint(connection):
                    self._committed.set()
        except sqlite3.Error as error:
            self._failure = self._translate_error(error)
        finally:
            connection.close()

    def _checkpoint(self, connection: sqlite3.Connection) -> bool:
        """Checkpoint the log. Return False if the checkpoint has to be tried again."""
        for _ in range(_PASSES):
            try:
                _, log_pages, copied_pages = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            except sqlite3.Error as error:
                if isinstance(self._translate_error(error), TransientError):
                    return False  # disk full or store locked: the log keeps everything until the next attempt
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_IOERR:
                    raise
                # Pages count as copied only after a flush: the next attempt copies all of them again.
                _log.error("checkpoint of the write-ahead log failed, retrying", reason=str(error))
                return False
            if log_pages == copied_pages:
                break
        if file_size(self._wal_path) <= (_MAX_BUSY_WAL_BYTES if self._committed.is_set() else _MAX_WAL_BYTES):
            return True
        # The log grew while a reader needed it. It can be truncated as soon as nobody reads or writes.
        is_busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy
