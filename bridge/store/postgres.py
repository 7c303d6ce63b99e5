"""PostgreSQL connection: session settings, pipelining and translation of errors."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

import psycopg
import structlog
from psycopg import errors as pg
from psycopg.rows import tuple_row

from bridge.errors import (
    QueryTimeout,
    StorageFailure,
    StoreBusy,
    StoreFull,
    StoreLocked,
    StoreUnreachable,
    UnstorableRow,
)
from bridge.store.database import Insert
from bridge.store.partitions import SCHEMA_LOCK, create_partitions, today
from bridge.store.postgres_arrays import array_dumpers, encode_array
from bridge.store.search.expression import SearchExpression, to_tsquery
from bridge.store.upsert import upsert_arrays
from mappers.canonical.identity import digest
from mappers.canonical.merge import Row, merge_plan, value_type
from mappers.canonical.rows import TABLES
from mappers.errors import LineageBridgeError, TransientError

_log = structlog.get_logger()

_DEFAULT_LOCK_TIMEOUT = "SET lock_timeout = 30000;"
_KEY_COLUMNS = "abcdef"
#: OFFSET 0 keeps the planner from scanning the entries in order when it assumes that a word is common.
_MATCHES_SQL = """
(SELECT * FROM search_entry WHERE array_to_tsvector(string_to_array(words, ' ')) @@ CAST(?{0} AS tsquery) OFFSET 0)
"""
_PLACEHOLDER = re.compile(r"\?(\d+)")
#: Settings that the code relies on, regardless of the server's defaults.
_SESSION_SETTINGS = """
SET synchronous_commit = on; SET default_transaction_isolation = 'read committed'; SET client_min_messages = error;
"""
#: Statements of the writer look up a few rows by index and join from there. Planning them again each time would
#: cost more than running them.
_WRITER_SETTINGS = """
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off;
SET join_collapse_limit = 1; SET plan_cache_mode = force_generic_plan; SET jit = off;
"""
#: Terminates our sessions that block others and have sent nothing for ?1 seconds, because their process hangs.
#: Timeouts of the server do not end them: a session within a pipeline does not count as idle.
_TERMINATE_STALLED = """
SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.usename = current_user AND a.application_name = 'lineage-bridge'
  AND a.wait_event = 'ClientRead' AND a.state_change < now() - make_interval(secs => ?1)
  AND a.pid IN (SELECT unnest(pg_blocking_pids(w.pid)) FROM pg_locks w WHERE NOT w.granted)
"""
#: Readers run many small statements that look up a few rows by index and are planned once.
_READER_SETTINGS = """
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SET plan_cache_mode = force_generic_plan; SET jit = off;
"""
#: Numbers of commits after which to run ANALYZE: a plan made while a table was empty would always scan it.
_ANALYZE_AFTER = frozenset({16, 128, 1024, 8192})
_ANALYZE = f"ANALYZE {', '.join(TABLES)}, column_report, column_head"
_COLUMNS = """
SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ?1
ORDER BY ordinal_position
"""
#: Advisory lock that every transaction of a writer holds in share mode.
_LOG_LOCK = 7_305_442_180_413_002
_OPEN_WRITERS = """
SELECT virtualtransaction FROM pg_locks WHERE locktype = 'advisory' AND granted AND mode = 'ShareLock'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND classid = ?1 AND objid = ?2 AND objsubid = 1
"""
_STABLE_TIMEOUT_SECONDS = 30
_ROW_ERRORS = (pg.DataError, pg.IntegrityError, pg.ProgramLimitExceeded, pg.ProgrammingError, pg.NotSupportedError)
_TRANSIENT_ERRORS: tuple[tuple[tuple[type[psycopg.Error], ...], type[TransientError], str], ...] = (
    ((pg.SerializationFailure, pg.DeadlockDetected), StoreBusy, "another transaction holds a lock that is needed"),
    ((pg.LockNotAvailable,), StoreLocked, "another session of the database holds a lock that is needed"),
    ((pg.QueryCanceled,), QueryTimeout, "the database ended a query, because it took too long"),
    (
        (pg.DiskFull, pg.OutOfMemory, pg.TooManyConnections),
        StoreFull,
        "the database server has run out of space, memory or connections",
    ),
)


class PostgresDatabase:
    """A connection to a PostgreSQL store. A lost connection is reopened for the next transaction."""

    embedded = False

    def __init__(self, url: str, *, writing: bool) -> None:
        self._url = url
        self._session_settings = _SESSION_SETTINGS + (_WRITER_SETTINGS if writing else _READER_SETTINGS)
        self._lock_timeout = _DEFAULT_LOCK_TIMEOUT
        self._check_interrupt: Callable[[], None] | None = None
        self._in_transaction = False
        self._commit_count = 0
        self._partition_day = today()
        self._writing = writing
        self._connection = self._connect()
        self.version = f"PostgreSQL {self._connection.info.server_version // 10_000}"

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Open a connection, and apply the session settings."""
        try:
            connection = psycopg.connect(
                self._url, autocommit=True, cursor_factory=psycopg.RawCursor, row_factory=tuple_row,
                application_name="lineage-bridge", connect_timeout=10, prepare_threshold=5 if self._writing else 0,
            )  # fmt: skip
            connection.execute(self._session_settings + self._lock_timeout, prepare=False)
            for array_class, dumper in array_dumpers().items():
                connection.adapters.register_dumper(array_class, dumper)
        except psycopg.Error as error:
            raise translate_error(error) from error
        return connection

    def _ensure_connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Return the connection. A lost connection is reopened, except within a transaction."""
        if self._connection.closed and not self._in_transaction:
            self._connection = self._connect()
        return self._connection

    def fetch_all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        if self._check_interrupt is not None:
            self._check_interrupt()
        try:
            return self._ensure_connected().execute(_with_dollar_placeholders(sql), values).fetchall()
        except psycopg.Error as error:
            raise translate_error(error) from error

    def fetch_for_ids(self, sql: str, ids: Iterable[bytes], *values: Any) -> list[tuple[Any, ...]]:
        id_list = list(ids)
        if not id_list:
            return []
        return self.fetch_all(
            sql.replace("{ids}", f"= ANY(?{len(values) + 1})"), *values, encode_array(bytes, id_list)
        )

    def fetch_for_keys(self, sql: str, keys: Sequence[tuple[Any, ...]], *values: Any) -> list[tuple[Any, ...]]:
        if not keys:
            return []
        columns = [encode_array(type(column[0]), column) for column in zip(*keys, strict=True)]
        return self.fetch_all(_expand_keys(sql, len(values), len(columns)), *values, *columns)

    def fetch_matches(self, sql: str, expression: SearchExpression, *values: Any) -> list[tuple[Any, ...]]:
        return self.fetch_all(
            sql.replace("{matches}", _MATCHES_SQL.format(len(values) + 1)), *values, to_tsquery(expression)
        )

    def stream(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._ensure_connected().cursor().stream(_with_dollar_placeholders(sql), values)
        except psycopg.Error as error:
            raise translate_error(error) from error

    def column_names(self, view: str) -> tuple[str, ...]:
        return tuple(name for (name,) in self.fetch_all(_COLUMNS, view))

    def execute(self, sql: str, *values: Any) -> None:
        try:
            self._ensure_connected().execute(_with_dollar_placeholders(sql), values)
        except psycopg.Error as error:
            raise translate_error(error) from error

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        for row in rows:
            self.execute(sql, *row)

    def insert(self, statement: Insert, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            columns = map(encode_array, statement.columns.values(), zip(*rows, strict=True))
            names = ", ".join(statement.columns)
            placeholders = ", ".join(f"?{number}" for number in range(1, len(statement.columns) + 1))
            source = f"SELECT * FROM unnest({placeholders})"
            self.execute(f"INSERT INTO {statement.table} ({names}) {source} {statement.conflict}", *columns)

    def merge_rows(self, row_class: type[Row], rows: Sequence[Row]) -> None:
        if rows:
            orgs, *columns = zip(*rows, strict=True)
            org, *_ = orgs  # the same for all rows
            arrays = map(encode_array, _column_types(row_class), columns)
            self.execute(upsert_arrays(row_class), org, *arrays)

    def lock(self, name: str, *, shared: bool = False) -> None:
        function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        self.execute(f"SELECT {function}(?1)", int.from_bytes(digest(name.encode())[:8], "big", signed=True))

    def lock_rows(self, sql: str, *values: Any) -> None:
        self.execute(f"{sql} FOR UPDATE", *values)

    @contextmanager
    def transaction(self, *, commit: bool = True) -> Iterator[None]:
        """Run the block in one transaction, rolled back on an exception or with `commit=False`.

        Statements without a result are pipelined. A failed transaction closes the connection, because it is unknown
        which of its statements the server has prepared.
        """
        self._ensure_connected()
        if self._writing and self._partition_day != today():
            self._create_partitions()
        self._in_transaction = True
        try:
            with self._connection.pipeline():
                self.execute("BEGIN")
                if self._writing:
                    self.execute(f"SELECT pg_advisory_xact_lock_shared({_LOG_LOCK})")
                yield
                self.execute("COMMIT" if commit else "ROLLBACK")
        except psycopg.Error as error:
            self._connection.close()
            raise translate_error(error) from error
        except BaseException:
            self._connection.close()
            raise
        finally:
            self._in_transaction = False
        self._commit_count += 1
        if self._commit_count in _ANALYZE_AFTER:
            self.execute(_ANALYZE)

    def _create_partitions(self) -> None:
        """Create the partitions for the coming days. A failure is only logged; creation is retried the next day."""
        try:
            with self._connection.transaction():
                self._connection.execute(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
                create_partitions(self._connection, today())
        except psycopg.Error as error:
            _log.warning(
                "partitions for the coming days were not created: their events are stored in run_event_default",
                reason=str(error),
            )
        self._partition_day = today()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._in_transaction = True
        try:
            yield
        finally:
            self._in_transaction = False
            self.execute("ROLLBACK")

    def last_stable_seq(self) -> int:
        """Return the last allocated number once all transactions that may commit a smaller number have ended.

        Numbers are allocated before they are committed: a reader that continues after the largest visible one would
        miss smaller numbers committed later. Waiting blocks no writer. Raises StoreBusy after 30 seconds.
        """
        ((last_seq,),) = self.fetch_all("SELECT last_value FROM run_event_seq")
        lock_key = divmod(_LOG_LOCK, 1 << 32)  # pg_locks shows the upper and lower half in separate columns
        open_writers = set(self.fetch_all(_OPEN_WRITERS, *lock_key))
        deadline = time.monotonic() + _STABLE_TIMEOUT_SECONDS
        while open_writers and time.monotonic() < deadline:
            time.sleep(0.005)
            open_writers &= set(self.fetch_all(_OPEN_WRITERS, *lock_key))
        if open_writers:
            raise StoreBusy(
                f"transactions opened {_STABLE_TIMEOUT_SECONDS} s ago are still writing events: try again"
            )
        return int(last_seq)

    def set_lock_timeout(self, seconds: float) -> None:
        self._lock_timeout = f"SET lock_timeout = {int(seconds * 1000)};"
        self.execute(self._lock_timeout)

    def set_interrupt(self, check: Callable[[], None] | None, seconds: float = 0.0) -> None:
        self._check_interrupt = check
        if check is not None:
            self.execute(f"SET statement_timeout = {max(1, int(seconds * 1000))}")

    def check_files(self) -> None:
        """Do nothing: the files belong to the server."""

    def terminate_stalled_sessions(self, seconds: float) -> int:
        return len(self.fetch_all(_TERMINATE_STALLED, float(seconds)))

    def integrity_problems(self) -> list[str]:
        """Report settings under which acknowledged events could be lost."""
        settings = self.fetch_all("SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes')")
        return [f"the database server runs with {name} = {value}" for name, value in settings if value != "on"]

    def close(self) -> None:
        self._connection.close()


@cache
def _column_types(row_class: type[Row]) -> list[type]:
    """List the types of the columns after `org_id`."""
    return [value_type(hint) for hint in merge_plan(row_class).types[1:]]


@cache
def _expand_keys(sql: str, value_count: int, column_count: int) -> str:
    """Replace `{keys}` by a table of arrays. Its placeholders follow those of the other values."""
    placeholders = ", ".join(f"?{value_count + number}" for number in range(1, column_count + 1))
    names = ", ".join(_KEY_COLUMNS[:column_count])
    return sql.replace("{keys}", f"(SELECT * FROM unnest({placeholders}) AS u ({names}))")


@lru_cache(maxsize=512)
def _with_dollar_placeholders(sql: str) -> str:
    return _PLACEHOLDER.sub(r"$\1", sql)


def translate_error(error: Exception) -> LineageBridgeError:
    """Translate a driver error to UnstorableRow, to a TransientError, or to StorageFailure.

    If the connection is lost during a commit, the outcome is unknown. That counts as transient as well, because
    sending an event again changes nothing.
    """
    message, _, _ = str(error).strip().partition("\n")
    for error_types, translated_type, cause in _TRANSIENT_ERRORS:
        if isinstance(error, error_types):
            return translated_type(f"{cause}: {message}")
    if isinstance(error, _ROW_ERRORS):
        return UnstorableRow(message)
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | pg.ReadOnlySqlTransaction):
        return StoreUnreachable(f"the database server does not respond: {message}")
    return StorageFailure(f"the database failed ({message}): see the server's log, then restart")
