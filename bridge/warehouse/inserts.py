"""INSERT statements that load one snapshot of the store into an empty warehouse."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
import zstandard

from bridge.store.database import Database
from bridge.warehouse.column_types import BoundedText, Flag, HexHash, Keyword, LongText, UtcTimestamp, UuidText
from bridge.warehouse.dialect import WarehouseDialect
from bridge.warehouse.literals import Value, literal
from bridge.warehouse.openlineage_tables import ol_schema_version
from bridge.warehouse.sqlalchemy_dialect import sqlalchemy_dialect
from bridge.warehouse.table_sets import TableSet
from mappers.canonical.identity import bounded_key

_MAX_ROWS = 200
_MAX_CHARACTERS = 200_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def insert_statements(db: Database, org: str, dialect: WarehouseDialect, table_set: TableSet) -> Iterator[str]:
    """Yield the statements that load a snapshot of the store into an empty warehouse, parents before children.

    OL_SCHEMA_VERSION is left out, because the DDL fills it.
    """
    uses_transaction = dialect in {WarehouseDialect.sqlite, WarehouseDialect.postgresql}
    if uses_transaction:
        yield "BEGIN;\n"
    with db.snapshot():
        for table in table_set.tables:
            if table is not ol_schema_version:
                yield from _batch_statements(dialect, table, _read_rows(db, org, dialect, table))
    if uses_transaction:
        yield "COMMIT;\n"


class _RowLiteral(NamedTuple):
    """A row of a VALUES list, and the UPDATE statements that append the rest of its long strings."""

    values: str
    updates: list[str]


def _read_rows(db: Database, org: str, dialect: WarehouseDialect, table: sa.Table) -> Iterator[_RowLiteral]:
    """Read the rows of a table; yields only the first row of each primary key."""
    converters = [_CONVERTERS[type(column.type)] for column in table.columns]
    key_positions = [position for position, column in enumerate(table.columns) if column.primary_key]
    names = _column_names(dialect, table)
    previous_key = None
    # Table and column names are constants; values are bound.
    select_list = ", ".join(map(_column_expression, table.columns.keys()))
    query = f"SELECT {select_list} FROM {table.name} WHERE org_id = ?1 ORDER BY {_order_by_columns(table)}"
    for row in db.stream(query, org):
        values = [None if value is None else convert(value) for convert, value in zip(converters, row, strict=True)]
        chunks = [_text_chunks(dialect, value) for value in values]
        literals = [literal(dialect, first_chunk) for first_chunk, *_ in chunks]
        key = " AND ".join(f"{names[position]} = {literals[position]}" for position in key_positions)
        if key != previous_key:
            updates = [
                f"UPDATE {table.name.upper()} SET {name} = {name} || {literal(dialect, chunk)} WHERE {key};\n"
                for name, (_, *later_chunks) in zip(names, chunks, strict=True)
                for chunk in later_chunks
            ]
            yield _RowLiteral(f"({', '.join(literals)})", updates)
        previous_key = key


def _text_chunks(dialect: WarehouseDialect, value: Value) -> list[Value]:
    """Split a long string for dialects that limit the length of statements: two megabytes in DB2, one in Teradata."""
    if (
        dialect in {WarehouseDialect.sqlite, WarehouseDialect.postgresql}
        or not isinstance(value, str)
        or len(value) <= _MAX_CHARACTERS
    ):
        return [value]
    return [value[start : start + _MAX_CHARACTERS] for start in range(0, len(value), _MAX_CHARACTERS)]


def _column_names(dialect: WarehouseDialect, table: sa.Table) -> list[str]:
    return [sqlalchemy_dialect(dialect).identifier_preparer.format_column(column) for column in table.columns]


def _column_expression(column: str) -> str:
    """Return the SELECT expression of a column; JSON is read as text, so that the driver cannot change numbers."""
    return f"CAST({column} AS TEXT)" if column.endswith("_json") else column


def _order_by_columns(table: sa.Table) -> str:
    """List the key and then all bounded columns, so that the exported row of a key is deterministic."""
    bounded_columns = [
        column.name for column in table.columns if not (column.primary_key or isinstance(column.type, LongText))
    ]
    return ", ".join([*table.primary_key.columns.keys(), *bounded_columns])


def _batch_statements(dialect: WarehouseDialect, table: sa.Table, rows: Iterator[_RowLiteral]) -> Iterator[str]:
    """Yield INSERT statements of bounded length with their UPDATE statements; Teradata gets one row per INSERT."""
    insert_head = f"INSERT INTO {table.name.upper()} ({', '.join(_column_names(dialect, table))}) VALUES\n"
    max_rows = 1 if dialect is WarehouseDialect.teradata else _MAX_ROWS
    batch: list[_RowLiteral] = []
    character_count = 0
    for row in rows:
        if batch and (len(batch) == max_rows or character_count + len(row.values) > _MAX_CHARACTERS):
            yield from _insert_and_update_statements(insert_head, batch)
            batch, character_count = [], 0
        batch.append(row)
        character_count += len(row.values)
    if batch:
        yield from _insert_and_update_statements(insert_head, batch)


def _insert_and_update_statements(insert_head: str, rows: list[_RowLiteral]) -> Iterator[str]:
    yield insert_head + ",\n".join(row.values for row in rows) + ";\n"
    for row in rows:
        yield from row.updates


def _uuid_text(value: bytes | str) -> str:
    return str(UUID(bytes=value)) if isinstance(value, bytes) else value


def _long_text(value: bytes | str) -> str:
    """Convert to text; bytes are the compressed payload of an event."""
    return zstandard.decompress(value).decode() if isinstance(value, bytes) else value


def _to_datetime(value: int | str) -> datetime:
    """Convert a time: tables contain microseconds, views contain ISO 8601 strings."""
    if isinstance(value, int):
        return _EPOCH + timedelta(microseconds=value)
    return datetime.fromisoformat(value)


_CONVERTERS: dict[type[sa.types.TypeEngine[Any]], Callable[[Any], Value]] = {
    UuidText: _uuid_text,
    HexHash: bytes.hex,
    Keyword: str,
    BoundedText: bounded_key,
    LongText: _long_text,
    UtcTimestamp: _to_datetime,
    Flag: bool,
    sa.BigInteger: int,
    sa.Float: float,
}
