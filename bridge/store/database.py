"""One connection to a store, whichever kind of store it is.

All SQL of the store is written once, in words that SQLite and PostgreSQL share: values are bound as `?1`, `?2`, …,
and `{ids}` stands for a list of ids. Where the two differ, a method here says what is meant.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from bridge.store.search.expression import SearchExpression
from mappers.canonical.merge import Row


class Insert(NamedTuple):
    """An insertion of many rows: where, which columns of which types, and what to do with rows that are there."""

    table: str
    columns: dict[str, type]
    conflict: str


class Database(Protocol):
    """A connection. Every failure is one of this project's errors: RefusedRow, transient, or StorageFailure."""

    #: Whether commits are work of this process, rather than of a server it waits for.
    embedded: bool
    #: What the database calls itself, with its version.
    version: str

    def fetch_all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query."""

    def fetch_for_ids(self, sql: str, ids: Iterable[bytes], *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query whose `{ids}` means one of these ids."""

    def fetch_for_keys(self, sql: str, ids: Sequence[tuple[Any, ...]], *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query in which `{keys}` is a table of these keys, its columns a, b, c."""

    def fetch_matches(self, sql: str, sought: SearchExpression, *values: Any) -> list[tuple[Any, ...]]:
        """Give all rows of a query in which `{matches}` is a table of the search entries that are sought."""

    def stream(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Give the rows of a query one by one, without holding them all."""

    def column_names(self, view: str) -> tuple[str, ...]:
        """Name the columns of a table or view."""

    def execute(self, sql: str, *values: Any) -> None:
        """Execute a statement."""

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""

    def insert(self, statement: Insert, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows of which no two have the same key."""

    def merge_rows(self, row_class: type[Row], rows: Sequence[Row]) -> None:
        """Merge rows of one class, in the order of their keys, into their table."""

    def lock(self, what: str) -> None:
        """Let no other transaction that asks for the same lock go on before this one ends."""

    def lock_rows(self, sql: str, *values: Any) -> None:
        """Let nobody else change the rows of a query before this transaction ends."""

    def transaction(self, *, keep: bool = True) -> AbstractContextManager[None]:
        """Do everything inside or nothing of it; `keep=False` does nothing of it anyway."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Read one state of the store, whatever is written meanwhile."""

    def last_stable_seq(self) -> int:
        """Give a number of the event log up to which nobody is still to commit anything."""

    def set_lock_timeout(self, seconds: float) -> None:
        """Set how long a write waits for another process before it is StoreBusy."""

    def terminate_stalled_sessions(self, seconds: float) -> int:
        """End what processes of ours do that hold up others and have stood still for so long; tells how many."""

    def integrity_problems(self) -> list[str]:
        """Say what is wrong with the database itself."""

    def close(self) -> None:
        """Close the connection."""
