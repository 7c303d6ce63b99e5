"""Moves SQLite's write-ahead log into the store's file, beside the writer instead of in its way."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import structlog

from mappers.errors import LineageBridgeError, TransientError

_log = structlog.get_logger()

#: How long commits gather before the log is moved: pages written twice in between are moved once.
_PAUSE_SECONDS = 0.5
#: Each pass is shorter than the one before; one that ends between two commits lets the log begin anew.
_PASSES = 4


class Checkpointer:
    """A thread with a connection of its own. SQLite lets it work while others read and write."""

    def __init__(self, path: Path, translated: Callable[[Exception], LineageBridgeError]) -> None:
        self._path = path
        self._translated = translated
        self._work = threading.Event()
        self._stop = threading.Event()
        self._failure: LineageBridgeError | None = None
        self._thread = threading.Thread(target=self._run, name="checkpointer", daemon=True)
        self._thread.start()

    def notify_commit(self) -> None:
        """Take note that there is something to move; raises the failure of an earlier move."""
        self._work.set()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """End the thread; what the log still holds is safe in it."""
        self._stop.set()
        self._work.set()
        self._thread.join()

    def _run(self) -> None:
        connection = sqlite3.connect(self._path, isolation_level=None, timeout=0, check_same_thread=False)
        try:
            while not self._stop.wait(_PAUSE_SECONDS):
                self._work.wait()
                self._work.clear()
                if not self._move(connection):
                    self._work.set()
        except sqlite3.Error as error:
            self._failure = self._translated(error)
        finally:
            connection.close()

    def _move(self, connection: sqlite3.Connection) -> bool:
        """Move what there is; tells whether nothing has to be tried again."""
        for _ in range(_PASSES):
            try:
                _, logged, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            except sqlite3.Error as error:
                if isinstance(self._translated(error), TransientError):
                    return False  # no room, or not alone: the log keeps everything until the next try
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_IOERR:
                    raise
                # Nothing counts as moved before it was flushed: the next try writes all of it again.
                _log.error("the log could not be moved into the store: trying again", reason=str(error))
                return False
            if logged == moved:
                break
        return True
