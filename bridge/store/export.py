"""The canonical export: what the events assert and what follows from it, the same bytes for the same events."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec

from mappers.canonical.facts import TABLES
from mappers.canonical.merge import plan_of

#: What follows from the statements: computed columns, and whole views with the columns that order them.
_FOLLOWS = {"ol_dataset": ("class_id", "is_active"), "column_lineage": ("is_active",)}
_VIEWS = {
    "current_schema": ("class_id",),
    "run_outcome": ("run_id",),
    "dataset_version_read": ("class_id", "version_id"),
}


def export_canonical(connection: sqlite3.Connection, org: str) -> Iterator[bytes]:
    """Write one JSON line a row, tables and rows in a fixed order. Reads one state of the store."""
    connection.execute("BEGIN")
    try:
        for table, row_class in TABLES.items():
            plan = plan_of(row_class)
            columns = (*plan.names[1:], *_FOLLOWS.get(table, ()))
            yield from _rows(connection, org, table, columns, plan.names[1 : plan.keys])
        for view, order in _VIEWS.items():
            columns = tuple(c for (c,) in connection.execute("SELECT name FROM pragma_table_info(?)", (view,)))
            yield from _rows(connection, org, view, tuple(c for c in columns if c != "org_id"), order)
    finally:
        connection.execute("ROLLBACK")


def _rows(
    connection: sqlite3.Connection, org: str, table: str, columns: tuple[str, ...], order: tuple[str, ...]
) -> Iterator[bytes]:
    # Table and column names are the code's own; values are bound.
    query = f"SELECT {', '.join(columns)} FROM {table} WHERE org_id = ? ORDER BY {', '.join(order)}"
    for row in connection.execute(query, (org,)):
        yield msgspec.json.encode([table, dict(zip(columns, map(_plain, row), strict=True))]) + b"\n"


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
