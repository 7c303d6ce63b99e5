"""Stores in a SQLite file, durable by default, and what SQLite's errors mean."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from bridge.errors import StorageFailure, StoreBusy, StoreFull, UnstorableRow
from bridge.store.checkpointer import Checkpointer
from bridge.store.database import Insert
from bridge.store.search.expression import SearchExpression, to_fts5
from bridge.store.upsert import upsert_row
from mappers.canonical.merge import Row
from mappers.errors import LineageBridgeError

_CACHE_KIB = 32_768
#: Where the log is moved by the commit itself, should nobody have moved it earlier.
_CHECKPOINT_PAGES = 32_000
_MAX_IDS = 512
_LETTERS = "abcdef"
_MATCHING = """
(SELECT e.* FROM search_words CROSS JOIN search_entry e ON e.entry = search_words.rowid
 WHERE search_words MATCH ?{0})
"""

_REFUSALS = (
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    sqlite3.IntegrityError,
    sqlite3.DataError,
    OverflowError,
    UnicodeEncodeError,
)
_ERRORS = (sqlite3.Error, OverflowError, UnicodeEncodeError)

_NULL = re.compile(r"NULL value in (\w+)\.\w+")
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name"


class SqliteDatabase:
    """A connection to a SQLite store. Not for several threads at once."""

    embedded = True
    version = f"SQLite {sqlite3.sqlite_version}"

    def __init__(self, connection: sqlite3.Connection, checkpointer: Checkpointer | None = None) -> None:
        self.connection = connection
        self._checkpointer = checkpointer

    @classmethod
    def for_writing(cls, path: Path, *, max_pages: int | None = None) -> Self:
        """Open the connection of a writer: every commit reaches the disk before it returns.

        What the write-ahead log holds is moved into the store first: after a failed flush the kernel may call
        pages clean that never reached the disk, and commits appended behind such a hole would be lost in a power
        cut.
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
        return cls(connection, Checkpointer(path, translate_error))

    @classmethod
    def for_background_writes(cls, path: Path, *, max_pages: int | None = None, durable: bool = False) -> Self:
        """Open a connection for what is written beside the events.

        What can be computed again need not be durable: its commits wait for no disk, and none is torn. They reach the
        disk with the writer's next commit, or when the log is moved.
        """
        connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        if max_pages is not None:
            connection.execute(f"PRAGMA max_page_count = {max_pages}")
        return cls(connection)

    @classmethod
    def for_reading(cls, path: Path) -> Self:
        """Open a connection that can only read."""
        connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
        connection.execute("PRAGMA query_only = ON")
        return cls(connection)

    def fetch_all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query."""
        try:
            return self.connection.execute(sql, values).fetchall()
        except _ERRORS as error:
            raise translate_error(error) from error

    def fetch_for_ids(self, sql: str, ids: Iterable[bytes], *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query whose `{ids}` means one of these ids."""
        wanted, found = list(ids), []
        for i in range(0, len(wanted), _MAX_IDS):
            part = wanted[i : i + _MAX_IDS]
            size = 1 << (len(part) - 1).bit_length()  # few sizes make few statements to prepare
            part.extend(part[-1:] * (size - len(part)))
            found.extend(self.fetch_all(_among(sql, len(values), size), *values, *part))
        return found

    def fetch_for_keys(self, sql: str, ids: Sequence[tuple[Any, ...]], *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query in which `{keys}` is a table of these keys, its columns a, b, c."""
        found: list[tuple[Any, ...]] = []
        for i in range(0, len(ids), _MAX_IDS):
            part = ids[i : i + _MAX_IDS]
            whole = _given(sql, len(values), len(part), len(part[0]))
            found.extend(self.fetch_all(whole, *values, *(value for row in part for value in row)))
        return found

    def fetch_matches(self, sql: str, sought: SearchExpression, *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query in which `{matches}` is a table of the search entries that are sought."""
        return self.fetch_all(sql.replace("{matches}", _MATCHING.format(len(values) + 1)), *values, to_fts5(sought))

    def stream(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Give the rows of a query one by one, without holding them all."""
        try:
            yield from self.connection.execute(sql, values)
        except _ERRORS as error:
            raise translate_error(error) from error

    def column_names(self, view: str) -> tuple[str, ...]:
        """Name the columns of a table or view."""
        return tuple(name for (name,) in self.fetch_all("SELECT name FROM pragma_table_info(?1)", view))

    def execute(self, sql: str, *values: Any) -> None:
        """Execute a statement."""
        self.fetch_all(sql, *values)

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""
        try:
            self.connection.executemany(sql, rows)
        except _ERRORS as error:
            raise translate_error(error) from error

    def insert(self, statement: Insert, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows of which no two have the same key."""
        marks = ", ".join("?" * len(statement.columns))
        columns = ", ".join(statement.columns)
        self.execute_many(f"INSERT INTO {statement.table} ({columns}) VALUES ({marks}) {statement.conflict}", rows)

    def merge_rows(self, row_class: type[Row], rows: Sequence[Row]) -> None:
        """Merge rows of one class, in the order of their keys, into their table."""
        self.execute_many(upsert_row(row_class), rows)

    def lock(self, what: str) -> None:
        """Do nothing: there is one writing transaction at a time."""

    def lock_rows(self, sql: str, *values: Any) -> None:
        """Do nothing: there is one writing transaction at a time."""

    @contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[None]:
        """Do everything inside or nothing of it; `keep=False` does nothing of it anyway."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            if keep:
                self.execute("COMMIT")
        finally:
            if self.connection.in_transaction:
                self.execute("ROLLBACK")
        if keep and self._checkpointer is not None:
            self._checkpointer.notify_commit()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one state of the store, whatever is written meanwhile."""
        self.execute("BEGIN")
        try:
            yield
        finally:
            self.execute("ROLLBACK")

    def last_stable_seq(self) -> int:
        """Give the last number: one transaction writes at a time, in the order of the numbers."""
        return self.fetch_all("SELECT coalesce(max(seq), 0) FROM run_event")[0][0]  # type: ignore[no-any-return]

    def set_lock_timeout(self, seconds: float) -> None:
        """Set how long a write waits for another process before it is StoreBusy."""
        self.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    def terminate_stalled_sessions(self, seconds: float) -> int:  # noqa: ARG002 - the signature is the protocol's
        """Nobody can end another process's transaction here."""
        return 0

    def integrity_problems(self) -> list[str]:
        """Say what is wrong with the file.

        Of a table whose rows are all key, SQLite's quick look finds a null where there is none, and ends after a
        hundred of them: where it does, every table is looked at by itself, and such a table whole.
        """
        found = self._looked("quick_check")
        suspect = {match[1] for said in found if (match := _NULL.fullmatch(said))}
        if suspect:
            tables = [name for (name,) in self.fetch_all(_TABLES)]
            found = [said for said in found if not _NULL.fullmatch(said)]
            for name in tables:
                found += self._looked(f"{'integrity' if name in suspect else 'quick'}_check('{name}')")
        return [f"the store's file: {said}" for said in dict.fromkeys(found)]

    def _looked(self, pragma: str) -> list[str]:
        return [said for (said,) in self.fetch_all(f"PRAGMA {pragma}") if said != "ok"]

    def close(self) -> None:
        """Close the connection."""
        if self._checkpointer is not None:
            self._checkpointer.close()
        self.connection.close()


@lru_cache(maxsize=256)
def _among(sql: str, fixed: int, count: int) -> str:
    marks = ", ".join(f"?{fixed + i}" for i in range(1, count + 1))
    return sql.replace("{ids}", f"IN ({marks})")


@lru_cache(maxsize=256)
def _given(sql: str, fixed: int, count: int, width: int) -> str:
    names = ", ".join(f"column{i + 1} AS {_LETTERS[i]}" for i in range(width))
    rows = ", ".join(
        "(" + ", ".join(f"?{fixed + row * width + i + 1}" for i in range(width)) + ")" for row in range(count)
    )
    return sql.replace("{keys}", f"(SELECT {names} FROM (VALUES {rows}))")


def translate_error(error: Exception) -> LineageBridgeError:
    """Say what an error means: the row's fault, passing by itself, or the content of the disk in doubt.

    Only a failure that leaves the store as it was passes. After any other error nobody knows what the disk
    holds, so going on would break the promise that acknowledged means kept.
    """
    if isinstance(error, _REFUSALS):
        return UnstorableRow(str(error))
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_FULL:
        return StoreFull("the store is full: make room on the disk or raise its limit")
    if code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy("another process holds the store's write lock")
    return StorageFailure(f"the store failed ({error}): check its disk, then start again: what was committed is safe")
