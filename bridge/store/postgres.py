"""Stores in a PostgreSQL database, shared by several processes, and what PostgreSQL's errors mean."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

import psycopg
import structlog
from psycopg import errors as pg
from psycopg.rows import tuple_row

from bridge.errors import StorageFailure, StoreBusy, StoreFull, StoreUnreachable, UnstorableRow
from bridge.store.database import Insert
from bridge.store.partitions import SCHEMA_LOCK, create_partitions, today
from bridge.store.postgres_arrays import array_dumpers, encode_array
from bridge.store.search.expression import SearchExpression, to_tsquery
from bridge.store.upsert import upsert_arrays
from mappers.canonical.identity import digest
from mappers.canonical.merge import Row, merge_plan, value_type
from mappers.canonical.rows import TABLES
from mappers.errors import LineageBridgeError

_log = structlog.get_logger()

_PATIENCE = "SET lock_timeout = 30000;"
_LETTERS = "abcdef"
#: An offset keeps the planner from reading entries in their order, one by one, because it takes words for common.
_MATCHING = """
(SELECT * FROM search_entry WHERE array_to_tsvector(string_to_array(words, ' ')) @@ CAST(?{0} AS tsquery) OFFSET 0)
"""
_MARK = re.compile(r"\?(\d+)")
#: What a connection relies on, whatever the server's defaults are.
_SESSION = """
SET synchronous_commit = on; SET default_transaction_isolation = 'read committed'; SET client_min_messages = error;
"""
#: Every statement of the writer finds few rows by an index, and others by those. Planning anew each time would cost
#: more than the statements do.
_WRITING = """
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off;
SET join_collapse_limit = 1; SET plan_cache_mode = force_generic_plan; SET jit = off;
"""
#: Sessions of ours that hold up others, and have not said anything for so many seconds: their process stands still.
#: In a pipeline they are not idle, so that the server's own time-outs do not know them.
_END_STANDSTILL = """
SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.usename = current_user AND a.application_name = 'lineage-bridge'
  AND a.wait_event = 'ClientRead' AND a.state_change < now() - make_interval(secs => ?1)
  AND a.pid IN (SELECT unnest(pg_blocking_pids(w.pid)) FROM pg_locks w WHERE NOT w.granted)
"""
#: Readers find few rows by an index in each of many small statements, which are planned once.
_READING = """
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SET plan_cache_mode = force_generic_plan; SET jit = off;
"""
#: After how many commits plans are made anew: those made while a table was empty read it whole for ever.
_ANALYZED_AT = frozenset({16, 128, 1024, 8192})
_ANALYZE = f"ANALYZE {', '.join(TABLES)}, column_head"
_COLUMNS = """
SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ?1
ORDER BY ordinal_position
"""
#: What transactions that write events hold together.
_LOG_LOCK = 7_305_442_180_413_002
_WRITERS = """
SELECT virtualtransaction FROM pg_locks WHERE locktype = 'advisory' AND granted AND mode = 'ShareLock'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND classid = ?1 AND objid = ?2 AND objsubid = 1
"""
_SETTLED_WITHIN = 30
_REFUSALS = (pg.DataError, pg.IntegrityError, pg.ProgramLimitExceeded, pg.ProgrammingError, pg.NotSupportedError)
_BUSY = (pg.SerializationFailure, pg.DeadlockDetected, pg.LockNotAvailable)
_FULL = (pg.DiskFull, pg.OutOfMemory, pg.TooManyConnections)


class PostgresDatabase:
    """A connection to a PostgreSQL store; one that was lost is made anew for the next transaction."""

    embedded = False

    def __init__(self, url: str, *, writing: bool) -> None:
        self._url = url
        self._session = _SESSION + (_WRITING if writing else _READING)
        self._patience = _PATIENCE
        self._inside = False
        self._commits = 0
        self._day = today()
        self._writing = writing
        self._connection = self._connect()
        self.version = f"PostgreSQL {self._connection.info.server_version // 10_000}"

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        try:
            connection = psycopg.connect(
                self._url, autocommit=True, cursor_factory=psycopg.RawCursor, row_factory=tuple_row,
                application_name="lineage-bridge", connect_timeout=10, prepare_threshold=5 if self._writing else 0,
            )  # fmt: skip
            connection.execute(self._session + self._patience, prepare=False)
            for made, dumper in array_dumpers().items():
                connection.adapters.register_dumper(made, dumper)
        except psycopg.Error as error:
            raise translate_error(error) from error
        return connection

    def _connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Give the connection, made anew if it was lost; in the midst of a transaction it is not replaced."""
        if self._connection.closed and not self._inside:
            self._connection = self._connect()
        return self._connection

    def fetch_all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query."""
        try:
            return self._connected().execute(_numbered(sql), values).fetchall()
        except psycopg.Error as error:
            raise translate_error(error) from error

    def fetch_for_ids(self, sql: str, ids: Iterable[bytes], *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query whose `{ids}` means one of these ids."""
        wanted = list(ids)
        if not wanted:
            return []
        return self.fetch_all(
            sql.replace("{ids}", f"= ANY(?{len(values) + 1})"), *values, encode_array(bytes, wanted)
        )

    def fetch_for_keys(self, sql: str, ids: Sequence[tuple[Any, ...]], *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query in which `{keys}` is a table of these keys, its columns a, b, c."""
        if not ids:
            return []
        columns = [encode_array(type(column[0]), column) for column in zip(*ids, strict=True)]
        return self.fetch_all(_given(sql, len(values), len(columns)), *values, *columns)

    def fetch_matches(self, sql: str, sought: SearchExpression, *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query in which `{matches}` is a table of the search entries that are sought."""
        return self.fetch_all(
            sql.replace("{matches}", _MATCHING.format(len(values) + 1)), *values, to_tsquery(sought)
        )

    def stream(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Give the rows of a query one by one, without holding them all."""
        try:
            yield from self._connected().cursor().stream(_numbered(sql), values)
        except psycopg.Error as error:
            raise translate_error(error) from error

    def column_names(self, view: str) -> tuple[str, ...]:
        """Name the columns of a table or view."""
        return tuple(name for (name,) in self.fetch_all(_COLUMNS, view))

    def execute(self, sql: str, *values: Any) -> None:
        """Execute a statement."""
        try:
            self._connected().execute(_numbered(sql), values)
        except psycopg.Error as error:
            raise translate_error(error) from error

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""
        for row in rows:
            self.execute(sql, *row)

    def insert(self, statement: Insert, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows of which no two have the same key."""
        if rows:
            columns = map(encode_array, statement.columns.values(), zip(*rows, strict=True))
            names = ", ".join(statement.columns)
            arrays = ", ".join(f"?{i + 1}" for i in range(len(statement.columns)))
            source = f"SELECT * FROM unnest({arrays})"
            self.execute(f"INSERT INTO {statement.table} ({names}) {source} {statement.conflict}", *columns)

    def merge_rows(self, row_class: type[Row], rows: Sequence[Row]) -> None:
        """Merge rows of one class, in the order of their keys, into their table."""
        if rows:
            (org, *_), *columns = zip(*rows, strict=True)
            kinds = _kinds(row_class)
            self.execute(upsert_arrays(row_class), org, *map(encode_array, kinds, columns))

    def lock(self, what: str) -> None:
        """Let no other transaction that asks for the same lock go on before this one ends."""
        self.execute(
            "SELECT pg_advisory_xact_lock(?1)", int.from_bytes(digest(what.encode())[:8], "big", signed=True)
        )

    def lock_rows(self, sql: str, *values: Any) -> None:
        """Let nobody else change the rows of a query before this transaction ends."""
        self.execute(f"{sql} FOR UPDATE", *values)

    @contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[None]:
        """Do everything inside or nothing of it; `keep=False` does nothing of it anyway.

        Statements whose results nobody reads are sent without waiting for the one before. A transaction that
        fails takes its connection along: nobody knows which of its statements the server has come to prepare.
        """
        self._connected()
        if self._writing and self._day != today():
            self._make_partitions()
        self._inside = True
        try:
            with self._connection.pipeline():
                self.execute("BEGIN")
                if self._writing:
                    self.execute(f"SELECT pg_advisory_xact_lock_shared({_LOG_LOCK})")
                yield
                self.execute("COMMIT" if keep else "ROLLBACK")
        except psycopg.Error as error:
            self._connection.close()
            raise translate_error(error) from error
        except BaseException:
            self._connection.close()
            raise
        finally:
            self._inside = False
        self._commits += 1
        if self._commits in _ANALYZED_AT:
            self.execute(_ANALYZE)

    def _make_partitions(self) -> None:
        """Make the log's partitions for the days that a daemon lives to see."""
        try:
            with self._connection.transaction():
                self._connection.execute(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
                create_partitions(self._connection, today())
        except psycopg.Error as error:
            _log.warning("no partitions for the days ahead: their events lie in run_event_default", reason=str(error))
        self._day = today()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one state of the store, whatever is written meanwhile."""
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._inside = True
        try:
            yield
        finally:
            self._inside = False
            self.execute("ROLLBACK")

    def last_stable_seq(self) -> int:
        """Wait for the transactions that may hold numbers of the log that were given out by now.

        Numbers are given out before they are committed: who reads on behind the last that it sees would miss those
        that come later. Nobody is held up by the wait.
        """
        number: int = self.fetch_all("SELECT last_value FROM run_event_seq")[0][0]
        writing = set(self.fetch_all(_WRITERS, *divmod(_LOG_LOCK, 1 << 32)))
        deadline = time.monotonic() + _SETTLED_WITHIN
        while writing and time.monotonic() < deadline:
            time.sleep(0.005)
            writing &= set(self.fetch_all(_WRITERS, *divmod(_LOG_LOCK, 1 << 32)))
        if writing:
            raise StoreBusy(f"transactions that began {_SETTLED_WITHIN} s ago are still writing events: ask again")
        return number

    def set_lock_timeout(self, seconds: float) -> None:
        """Set how long a write waits for another process before it is StoreBusy."""
        self._patience = f"SET lock_timeout = {int(seconds * 1000)};"
        self.execute(self._patience)

    def terminate_stalled_sessions(self, seconds: float) -> int:
        """End the sessions of processes that stand still in a transaction and hold up others."""
        return len(self.fetch_all(_END_STANDSTILL, float(seconds)))

    def integrity_problems(self) -> list[str]:
        """Say what is wrong with the database: settings under which what was acknowledged could be lost."""
        settings = self.fetch_all("SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes')")
        return [f"the database server runs with {name} = {value}" for name, value in settings if value != "on"]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@cache
def _kinds(row_class: type[Row]) -> list[type]:
    """Give the types of a row's columns behind the organisation."""
    return [value_type(hint) for hint in merge_plan(row_class).types[1:]]


@cache
def _given(sql: str, fixed: int, width: int) -> str:
    arrays = ", ".join(f"?{fixed + i + 1}" for i in range(width))
    return sql.replace("{keys}", f"(SELECT * FROM unnest({arrays}) AS u ({', '.join(_LETTERS[:width])}))")


@lru_cache(maxsize=512)
def _numbered(sql: str) -> str:
    return _MARK.sub(r"$\1", sql)


def translate_error(error: Exception) -> LineageBridgeError:
    """Say what an error means: the row's fault, passing, or the server's data in doubt.

    A connection lost at a commit leaves open whether it happened. That passes too: who sends an event again
    changes nothing by it.
    """
    said = str(error).strip().partition("\n")[0]
    if isinstance(error, _BUSY):
        return StoreBusy(f"another process holds what this one needs ({said})")
    if isinstance(error, _FULL):
        return StoreFull(f"the database server has no room: {said}")
    if isinstance(error, _REFUSALS):
        return UnstorableRow(said)
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | pg.ReadOnlySqlTransaction):
        return StoreUnreachable(f"the database server does not answer: {said}")
    return StorageFailure(f"the database failed ({said}): see the server's log, then start again")
