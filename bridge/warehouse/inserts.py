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


def insert_statements(db: Database, org: str, house: WarehouseDialect, part: TableSet) -> Iterator[str]:
    """Write the statements that load one state of the store into an empty warehouse, parents before children.

    The row of OL_SCHEMA_VERSION comes with the tables.
    """
    all_or_nothing = house in {WarehouseDialect.sqlite, WarehouseDialect.postgresql}
    if all_or_nothing:
        yield "BEGIN;\n"
    with db.snapshot():
        for table in part.tables:
            if table is not ol_schema_version:
                yield from _statements(house, table, _lines(db, org, house, table))
    if all_or_nothing:
        yield "COMMIT;\n"


class _RowLiteral(NamedTuple):
    """A row as it is spelled, and the statements that add what one statement cannot hold of its texts."""

    row: str
    more: list[str]


def _lines(db: Database, org: str, house: WarehouseDialect, table: sa.Table) -> Iterator[_RowLiteral]:
    """Spell the rows of a table; of several with the same key the first one stands."""
    plain = [_CONVERTERS[type(column.type)] for column in table.columns]
    keys = [place for place, column in enumerate(table.columns) if column.primary_key]
    names = _names(house, table)
    before = None
    # Table and column names are the code's own; values are bound.
    asked = ", ".join(map(_as_text, table.columns.keys()))
    query = f"SELECT {asked} FROM {table.name} WHERE org_id = ?1 ORDER BY {_order(table)}"
    for row in db.stream(query, org):
        values = [None if value is None else say(value) for say, value in zip(plain, row, strict=True)]
        pieces = [_split_text(house, value) for value in values]
        spelled = [literal(house, first) for first, *_ in pieces]
        key = [f"{names[place]} = {spelled[place]}" for place in keys]
        if key != before:
            where = " AND ".join(key)
            more = [
                f"UPDATE {table.name.upper()} SET {name} = {name} || {literal(house, piece)} WHERE {where};\n"
                for name, (_, *others) in zip(names, pieces, strict=True)
                for piece in others
            ]
            yield _RowLiteral(f"({', '.join(spelled)})", more)
        before = key


def _split_text(house: WarehouseDialect, value: Value) -> list[Value]:
    """Take a text apart where a house bounds the length of a statement: two megabytes on DB2, one on Teradata."""
    if (
        house in {WarehouseDialect.sqlite, WarehouseDialect.postgresql}
        or not isinstance(value, str)
        or len(value) <= _MAX_CHARACTERS
    ):
        return [value]
    return [value[start : start + _MAX_CHARACTERS] for start in range(0, len(value), _MAX_CHARACTERS)]


def _names(house: WarehouseDialect, table: sa.Table) -> list[str]:
    return [sqlalchemy_dialect(house).identifier_preparer.format_column(column) for column in table.columns]


def _as_text(column: str) -> str:
    """Ask for JSON as it is written: the driver of one store would read it, and change its numbers."""
    return f"CAST({column} AS TEXT)" if column.endswith("_json") else column


def _order(table: sa.Table) -> str:
    """Order by the key, and what has the same key by the rest, so that it is always the same row that stands."""
    rest = [column.name for column in table.columns if not (column.primary_key or isinstance(column.type, LongText))]
    return ", ".join([*table.primary_key.columns.keys(), *rest])


def _statements(house: WarehouseDialect, table: sa.Table, lines: Iterator[_RowLiteral]) -> Iterator[str]:
    """Put rows into statements of a bounded length; Teradata takes one row a statement."""
    head = f"INSERT INTO {table.name.upper()} ({', '.join(_names(house, table))}) VALUES\n"
    most = 1 if house is WarehouseDialect.teradata else _MAX_ROWS
    waiting: list[_RowLiteral] = []
    size = 0
    for line in lines:
        if waiting and (len(waiting) == most or size + len(line.row) > _MAX_CHARACTERS):
            yield from _statement(head, waiting)
            waiting, size = [], 0
        waiting.append(line)
        size += len(line.row)
    if waiting:
        yield from _statement(head, waiting)


def _statement(head: str, lines: list[_RowLiteral]) -> Iterator[str]:
    yield head + ",\n".join(line.row for line in lines) + ";\n"
    for line in lines:
        yield from line.more


def _id(value: bytes | str) -> str:
    return str(UUID(bytes=value)) if isinstance(value, bytes) else value


def _long(value: bytes | str) -> str:
    """Give a text, or the event that was sent: its bytes are kept compressed."""
    return zstandard.decompress(value).decode() if isinstance(value, bytes) else value


def _moment(value: int | str) -> datetime:
    """Give a time, whether from a table or from a view."""
    if isinstance(value, int):
        return _EPOCH + timedelta(microseconds=value)
    return datetime.fromisoformat(value)


_CONVERTERS: dict[type[sa.types.TypeEngine[Any]], Callable[[Any], Value]] = {
    UuidText: _id,
    HexHash: bytes.hex,
    Keyword: str,
    BoundedText: bounded_key,
    LongText: _long,
    UtcTimestamp: _moment,
    Flag: bool,
    sa.BigInteger: int,
    sa.Float: float,
}
