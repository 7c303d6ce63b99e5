"""Canonical export: one JSON line per row, byte-identical for the same events."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from bridge.store.database import Database
from mappers.canonical.merge import merge_plan
from mappers.canonical.rows import TABLES

#: What follows from the statements: computed columns, and whole views with the columns that order them.
_FOLLOWS = {"ol_dataset": ("class_id", "is_active"), "column_lineage": ("is_active",)}
_VIEWS = {
    "class_schema": ("class_id",),
    "run_outcome": ("run_id",),
    "dataset_version_read": ("class_id", "version_id"),
}
#: Columns that hold when something was said or happened, and the orders of statements, which begin with it.
_TIME = re.compile(r"(_at|_seen|_order|^event_time|^declared_io|^declared_lineage)$")


def export_canonical(db: Database, org: str, *, without_times: bool = False) -> Iterator[bytes]:
    """Write one JSON line a row, tables and rows in a fixed order. Reads one state of the store.

    Without times, stores are compared that heard the same at other times.
    """
    with db.snapshot():
        for table, row_class in TABLES.items():
            plan = merge_plan(row_class)
            columns = (*plan.names[1:], *_FOLLOWS.get(table, ()))
            yield from _rows(db, org, table, _chosen(columns, without_times), plan.names[1 : plan.key_count])
        for view, order in _VIEWS.items():
            columns = tuple(column for column in db.column_names(view) if column != "org_id")
            yield from _rows(db, org, view, _chosen(columns, without_times), order)


def _chosen(columns: tuple[str, ...], without_times: bool) -> tuple[str, ...]:
    return tuple(column for column in columns if not _TIME.search(column)) if without_times else columns


def _rows(db: Database, org: str, table: str, columns: tuple[str, ...], order: tuple[str, ...]) -> Iterator[bytes]:
    # Table and column names are the code's own; values are bound.
    query = f"SELECT {', '.join(columns)} FROM {table} WHERE org_id = ?1 ORDER BY {', '.join(order)}"
    for row in db.stream(query, org):
        yield msgspec.json.encode([table, dict(zip(columns, map(_plain, row), strict=True))]) + b"\n"


def _plain(value: Any) -> Any:
    """Spell a value as both kinds of store do: one of them has no booleans."""
    if isinstance(value, bytes):
        return value.hex()
    return int(value) if isinstance(value, bool) else value
