"""Connection protocol that SQLite and PostgreSQL stores implement.

SQL is written once, in the subset that both databases share: values are bound as `?1`, `?2`, …, and `{ids}`, `{keys}`
and `{matches}` stand for what `fetch_for_ids`, `fetch_for_keys` and `fetch_matches` bind. Where the databases differ,
the protocol has a method.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from bridge.store.search.expression import SearchExpression
from mappers.canonical.merge import Row


class Insert(NamedTuple):
    """An INSERT of many rows: column names with their Python types, and the ON CONFLICT clause."""

    table: str
    columns: dict[str, type]
    conflict: str


class Database(Protocol):
    """A connection. Every failure is raised as UnstorableRow, as a transient error or as StorageFailure."""

    #: True if this process commits by itself, false if a database server does.
    embedded: bool
    #: Product name and version.
    version: str

    def fetch_all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]: ...

    def fetch_for_ids(self, sql: str, ids: Iterable[bytes], *values: Any) -> list[tuple[Any, ...]]:
        """Fetch the rows of a query in which `column {ids}` tests whether a column equals one of these ids."""

    def fetch_for_keys(self, sql: str, keys: Sequence[tuple[Any, ...]], *values: Any) -> list[tuple[Any, ...]]:
        """Fetch the rows of a query in which `{keys}` is a table of these keys. Its columns are a, b, c and so on."""

    def fetch_matches(self, sql: str, expression: SearchExpression, *values: Any) -> list[tuple[Any, ...]]:
        """Fetch the rows of a query in which `{matches}` is a table of the search entries that match."""

    def stream(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Fetch rows one by one, without holding all of them in memory."""

    def column_names(self, view: str) -> tuple[str, ...]:
        """List the columns of a table or view in order."""

    def execute(self, sql: str, *values: Any) -> None: ...

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement once for each row of values."""

    def insert(self, statement: Insert, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows with distinct keys."""

    def merge_rows(self, row_class: type[Row], rows: Sequence[Row]) -> None:
        """Upsert rows of a single row class. `rows` must be sorted by key."""

    def lock(self, name: str, *, shared: bool = False) -> None:
        """Hold a named lock until the transaction ends. Several transactions can hold a shared lock."""

    def lock_rows(self, sql: str, *values: Any) -> None:
        """Lock the rows of a query until the transaction ends."""

    def transaction(self, *, commit: bool = True) -> AbstractContextManager[None]:
        """Run the block in one transaction, rolled back on an exception or with `commit=False`."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Run the block on one snapshot of the store, unaffected by concurrent writes."""

    def last_stable_seq(self) -> int:
        """Return a `seq` of the event log such that no open transaction can commit a smaller one."""

    def check_files(self) -> None:
        """Raise StoreLost if the files of an embedded store are not those that were opened."""

    def set_lock_timeout(self, seconds: float) -> None:
        """Set how long a write waits for another process before it raises StoreBusy or StoreLocked."""

    def set_interrupt(self, check: Callable[[], None] | None, seconds: float = 0.0) -> None:
        """Call a function before each statement, and during statements if possible, until it is replaced by None.

        If it raises an error, the statement is not executed. A statement also ends with QueryTimeout after `seconds`.
        """

    def terminate_stalled_sessions(self, seconds: float) -> int:
        """Terminate our blocking sessions that have been idle for this long, and return their number."""

    def integrity_problems(self) -> list[str]:
        """Check the integrity of the database, and return one message per problem."""

    def close(self) -> None: ...
