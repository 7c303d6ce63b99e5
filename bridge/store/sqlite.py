"""SQLite connection: pragmas, batching of ids and translation of errors."""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from bridge.errors import QueryTimeout, StorageFailure, StoreBusy, StoreFull, UnstorableRow
from bridge.store.checkpointer import Checkpointer
from bridge.store.database import Insert
from bridge.store.file_guard import StoreFileGuard
from bridge.store.search.expression import SearchExpression, to_fts5
from bridge.store.upsert import upsert_row
from mappers.canonical.merge import Row
from mappers.errors import LineageBridgeError

_CACHE_KIB = 32_768
#: A commit checkpoints a log of this size by itself, in case the checkpointer has not done so.
_CHECKPOINT_PAGES = 32_000
_MAX_IDS = 512
#: Steps of SQLite's virtual machine, about a millisecond.
_STEPS_BETWEEN_CHECKS = 20_000
_KEY_COLUMNS = "abcdef"
_MATCHES_SQL = """
(SELECT e.* FROM search_words CROSS JOIN search_entry e ON e.entry = search_words.rowid
 WHERE search_words MATCH ?{0})
"""

_ROW_ERRORS = (
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    sqlite3.IntegrityError,
    sqlite3.DataError,
    OverflowError,
    UnicodeEncodeError,
)
_ERRORS = (sqlite3.Error, OverflowError, UnicodeEncodeError, UnicodeDecodeError)

_NULL_PROBLEM = re.compile(r"NULL value in (\w+)\.\w+")
_TABLE_NAMES = "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name"


class SqliteDatabase:
    """A connection to a SQLite store. Not thread-safe."""

    embedded = True
    version = f"SQLite {sqlite3.sqlite_version}"

    def __init__(
        self,
        connection: sqlite3.Connection,
        checkpointer: Checkpointer | None = None,
        guard: StoreFileGuard | None = None,
    ) -> None:
        self.connection = connection
        self._checkpointer = checkpointer
        self._guard = guard
        self._check_interrupt: Callable[[], None] | None = None

    @classmethod
    def for_writing(cls, path: Path, *, max_pages: int | None = None) -> Self:
        """Open the writer's connection: every commit reaches the disk before it returns.

        Checkpoints the write-ahead log first: after a failed flush the kernel may report pages as clean that never
        reached the disk, and commits appended after such a gap would be lost in a power cut.
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
        return cls(connection, Checkpointer(path, translate_error), StoreFileGuard(path))

    @classmethod
    def for_background_writes(cls, path: Path, *, max_pages: int | None = None, durable: bool = False) -> Self:
        """Open a connection for writes other than events.

        Without `durable`, commits are atomic but do not wait for the disk: they reach it with the writer's next
        commit or the next checkpoint. That is enough for data that can be recomputed.
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
        if self._check_interrupt is not None:
            self._check_interrupt()
        try:
            return self.connection.execute(sql, values).fetchall()
        except _ERRORS as error:
            if self._check_interrupt is not None:
                self._check_interrupt()  # raises the reason why the statement was interrupted
            raise translate_error(error) from error

    def fetch_for_ids(self, sql: str, ids: Iterable[bytes], *values: Any) -> list[tuple[Any, ...]]:
        id_list = list(ids)
        rows: list[tuple[Any, ...]] = []
        for start in range(0, len(id_list), _MAX_IDS):
            batch = id_list[start : start + _MAX_IDS]
            # Padding to a power of two leaves few distinct statements to prepare.
            padded_size = 1 << (len(batch) - 1).bit_length()
            batch.extend(batch[-1:] * (padded_size - len(batch)))
            rows.extend(self.fetch_all(_expand_ids(sql, len(values), padded_size), *values, *batch))
        return rows

    def fetch_for_keys(self, sql: str, keys: Sequence[tuple[Any, ...]], *values: Any) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for start in range(0, len(keys), _MAX_IDS):
            batch = keys[start : start + _MAX_IDS]
            key_values = [value for key in batch for value in key]
            batch_sql = _expand_keys(sql, len(values), len(batch), column_count=len(batch[0]))
            rows.extend(self.fetch_all(batch_sql, *values, *key_values))
        return rows

    def fetch_matches(self, sql: str, expression: SearchExpression, *values: Any) -> list[tuple[Any, ...]]:
        return self.fetch_all(
            sql.replace("{matches}", _MATCHES_SQL.format(len(values) + 1)), *values, to_fts5(expression)
        )

    def stream(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self.connection.execute(sql, values)
        except _ERRORS as error:
            raise translate_error(error) from error

    def column_names(self, view: str) -> tuple[str, ...]:
        return tuple(name for (name,) in self.fetch_all("SELECT name FROM pragma_table_info(?1)", view))

    def execute(self, sql: str, *values: Any) -> None:
        self.fetch_all(sql, *values)

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        try:
            self.connection.executemany(sql, rows)
        except _ERRORS as error:
            raise translate_error(error) from error

    def insert(self, statement: Insert, rows: Sequence[Sequence[Any]]) -> None:
        placeholders = ", ".join("?" * len(statement.columns))
        columns = ", ".join(statement.columns)
        self.execute_many(
            f"INSERT INTO {statement.table} ({columns}) VALUES ({placeholders}) {statement.conflict}", rows
        )

    def merge_rows(self, row_class: type[Row], rows: Sequence[Row]) -> None:
        self.execute_many(upsert_row(row_class), rows)

    def lock(self, name: str, *, shared: bool = False) -> None:
        """Do nothing: SQLite has one writing transaction at a time."""

    def lock_rows(self, sql: str, *values: Any) -> None:
        """Do nothing: SQLite has one writing transaction at a time."""

    def check_files(self) -> None:
        if self._guard is not None:
            self._guard.check()

    @contextmanager
    def transaction(self, *, commit: bool = True) -> Iterator[None]:
        self.check_files()
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            if commit:
                self.execute("COMMIT")
        finally:
            if self.connection.in_transaction:
                self.execute("ROLLBACK")
        self.check_files()
        if commit and self._checkpointer is not None:
            self._checkpointer.notify_commit()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self.execute("BEGIN")
        try:
            yield
        finally:
            self.connection.rollback()

    def last_stable_seq(self) -> int:
        """Return the largest `seq`: transactions are serialized, so none can commit a smaller one."""
        ((last_seq,),) = self.fetch_all("SELECT coalesce(max(seq), 0) FROM run_event")
        return int(last_seq)

    def set_lock_timeout(self, seconds: float) -> None:
        self.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    def set_interrupt(self, check: Callable[[], None] | None, seconds: float = 0.0) -> None:  # noqa: ARG002 - `check` also ends statements
        self._check_interrupt = check
        self.connection.set_progress_handler(check and (lambda: _raises_error(check)), _STEPS_BETWEEN_CHECKS)

    def terminate_stalled_sessions(self, seconds: float) -> int:  # noqa: ARG002 - part of the protocol
        """Do nothing: a process cannot end another process's transaction."""
        return 0

    def integrity_problems(self) -> list[str]:
        """Run `quick_check`. Also run `integrity_check` on tables for which `quick_check` is unreliable.

        In tables whose columns are all part of the key, `quick_check` may report nulls that do not exist, and it
        stops after a hundred problems. If it reports such nulls, every table is checked separately, and the affected
        tables are checked with `integrity_check`.
        """
        problems = self._run_check("quick_check")
        unreliable_tables = {match[1] for problem in problems if (match := _NULL_PROBLEM.fullmatch(problem))}
        if unreliable_tables:
            tables = [name for (name,) in self.fetch_all(_TABLE_NAMES)]
            problems = [problem for problem in problems if not _NULL_PROBLEM.fullmatch(problem)]
            for name in tables:
                check = "integrity_check" if name in unreliable_tables else "quick_check"
                problems += self._run_check(f"{check}('{name}')")
        return [f"store file: {problem}" for problem in dict.fromkeys(problems)]

    def _run_check(self, pragma: str) -> list[str]:
        """Run a check, and return the problems that it reports."""
        return [problem for (problem,) in self.fetch_all(f"PRAGMA {pragma}") if problem != "ok"]

    def close(self) -> None:
        if self._checkpointer is not None:
            self._checkpointer.close()
        if self._guard is not None:
            self._guard.close()
        self.connection.close()


def _raises_error(check: Callable[[], None]) -> bool:
    try:
        check()
    except LineageBridgeError:
        return True
    return False


@lru_cache(maxsize=256)
def _expand_ids(sql: str, value_count: int, id_count: int) -> str:
    placeholders = ", ".join(f"?{value_count + i}" for i in range(1, id_count + 1))
    return sql.replace("{ids}", f"IN ({placeholders})")


@lru_cache(maxsize=256)
def _expand_keys(sql: str, value_count: int, row_count: int, column_count: int) -> str:
    """Replace `{keys}` by a table of rows. Its placeholders follow those of the other values."""
    names = ", ".join(f"column{number} AS {name}" for number, name in enumerate(_KEY_COLUMNS[:column_count], 1))
    rows = []
    for row_index in range(row_count):
        first = value_count + row_index * column_count + 1
        placeholders = ", ".join(f"?{number}" for number in range(first, first + column_count))
        rows.append(f"({placeholders})")
    return sql.replace("{keys}", f"(SELECT {names} FROM (VALUES {', '.join(rows)}))")


def translate_error(error: Exception) -> LineageBridgeError:
    """Translate a driver error to UnstorableRow, to a TransientError, or to StorageFailure.

    Only a failure that leaves the store unchanged is transient. After any other error, continuing would break the
    promise that acknowledged events are stored.
    """
    if isinstance(error, _ROW_ERRORS):
        return UnstorableRow(str(error))
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_FULL:
        return StoreFull("the store is full: free disk space or raise store.max_size_mb")
    if code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy("another process holds the store's write lock")
    if code == sqlite3.SQLITE_INTERRUPT:
        return QueryTimeout("the query was interrupted, because it took too long")
    return StorageFailure(f"the store failed ({error}): check the disk, then restart; committed data is safe")
