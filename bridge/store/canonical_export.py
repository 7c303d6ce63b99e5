"""Canonical export: one JSON line per row, byte-identical for the same events."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from bridge.store.database import Database
from mappers.canonical.merge import merge_plan
from mappers.canonical.rows import TABLES

#: Columns that are computed from the merged rows, by table.
_COMPUTED = {"ol_dataset": ("class_id", "is_active"), "column_lineage": ("is_active",)}
#: Exported views, and the columns that their rows are sorted by.
_VIEWS = {
    "class_schema": ("class_id",),
    "run_outcome": ("run_id",),
    "dataset_version_read": ("class_id", "version_id"),
}
#: Columns with times, and with register orders, which begin with a time.
_TIME = re.compile(r"(_at|_seen|_order|^event_time|^declared_io|^declared_lineage)$")


def export_canonical(db: Database, org: str, *, without_times: bool = False) -> Iterator[bytes]:
    """Export one JSON line per row from one snapshot of the store. Tables and rows have a fixed order.

    With `without_times`, stores that received the same events at different times have equal exports.
    """
    with db.snapshot():
        for table, row_class in TABLES.items():
            plan = merge_plan(row_class)
            merged_columns, key_columns = plan.names[1:], plan.names[1 : plan.key_count]  # without org_id
            columns = _select_columns((*merged_columns, *_COMPUTED.get(table, ())), without_times=without_times)
            yield from _json_lines(db, org, table, columns, key_columns)
        for view, sort_columns in _VIEWS.items():
            view_columns = tuple(column for column in db.column_names(view) if column != "org_id")
            columns = _select_columns(view_columns, without_times=without_times)
            yield from _json_lines(db, org, view, columns, sort_columns)


def _select_columns(columns: tuple[str, ...], *, without_times: bool) -> tuple[str, ...]:
    if not without_times:
        return columns
    return tuple(column for column in columns if not _TIME.search(column))


def _json_lines(
    db: Database, org: str, table: str, columns: tuple[str, ...], sort_columns: tuple[str, ...]
) -> Iterator[bytes]:
    """Yield each row of a table or view as a JSON array of the table name and the values by column."""
    # The names of tables and columns are constants of the code, so they need no quoting.
    query = f"SELECT {', '.join(columns)} FROM {table} WHERE org_id = ?1 ORDER BY {', '.join(sort_columns)}"
    for row in db.stream(query, org):
        values_by_column = dict(zip(columns, map(_to_json_value, row), strict=True))
        yield msgspec.json.encode([table, values_by_column]) + b"\n"


def _to_json_value(value: Any) -> Any:
    """Convert ids to hexadecimal strings, and booleans to integers, because SQLite has no booleans."""
    if isinstance(value, bytes):
        return value.hex()
    return int(value) if isinstance(value, bool) else value
