"""The rows of the store as INSERT statements for a warehouse."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa
import zstandard

from bridge.store.database import Database
from bridge.warehouse.columns import Flag, Hash, Id, Long, Moment, Name, Word
from bridge.warehouse.dialects import dialect_of
from bridge.warehouse.house import House
from bridge.warehouse.literals import Value, literal
from bridge.warehouse.openlineage import ol_schema_version
from bridge.warehouse.parts import Part
from mappers.canonical.bounded import bounded

_MOST_ROWS = 200
_MOST_CHARACTERS = 250_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def insert_rows(db: Database, org: str, house: House, part: Part) -> Iterator[str]:
    """Write the statements that load one state of the store into an empty warehouse, parents before children.

    The row of OL_SCHEMA_VERSION comes with the tables.
    """
    all_or_nothing = house in {House.sqlite, House.postgresql}
    if all_or_nothing:
        yield "BEGIN;\n"
    with db.snapshot():
        for table in part.tables:
            if table is not ol_schema_version:
                yield from _statements(house, table, _rows(db, org, house, table))
    if all_or_nothing:
        yield "COMMIT;\n"


def _rows(db: Database, org: str, house: House, table: sa.Table) -> Iterator[str]:
    """Spell the rows of a table; of several with the same key the first one stands."""
    plain = [_PLAIN[type(column.type)] for column in table.columns]
    key = [place for place, column in enumerate(table.columns) if column.primary_key]
    before = None
    # Table and column names are the code's own; values are bound.
    names = ", ".join(map(_text_of_json, table.columns.keys()))
    query = f"SELECT {names} FROM {table.name} WHERE org_id = ?1 ORDER BY {_order(table)}"
    for row in db.stream(query, org):
        values = [None if value is None else say(value) for say, value in zip(plain, row, strict=True)]
        spelled = [literal(house, value) for value in values]
        now = [spelled[place] for place in key]
        if now != before:
            yield f"({', '.join(spelled)})"
        before = now


def _text_of_json(column: str) -> str:
    """Ask for JSON as it is written: the driver of one store would read it, and change its numbers."""
    return f"CAST({column} AS TEXT)" if column.endswith("_json") else column


def _order(table: sa.Table) -> str:
    """Order by the key, and what has the same key by the rest, so that it is always the same row that stands."""
    rest = [column.name for column in table.columns if not (column.primary_key or isinstance(column.type, Long))]
    return ", ".join([*table.primary_key.columns.keys(), *rest])


def _statements(house: House, table: sa.Table, rows: Iterator[str]) -> Iterator[str]:
    """Put rows into statements of a bounded length; Teradata takes one row a statement."""
    names = ", ".join(map(dialect_of(house).identifier_preparer.format_column, table.columns))
    head = f"INSERT INTO {table.name.upper()} ({names}) VALUES\n"
    most = 1 if house is House.teradata else _MOST_ROWS
    waiting: list[str] = []
    size = 0
    for row in rows:
        if waiting and (len(waiting) == most or size + len(row) > _MOST_CHARACTERS):
            yield head + ",\n".join(waiting) + ";\n"
            waiting, size = [], 0
        waiting.append(row)
        size += len(row)
    if waiting:
        yield head + ",\n".join(waiting) + ";\n"


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


_PLAIN: dict[type[sa.types.TypeEngine[Any]], Callable[[Any], Value]] = {
    Id: _id,
    Hash: bytes.hex,
    Word: str,
    Name: bounded,
    Long: _long,
    Moment: _moment,
    Flag: bool,
    sa.BigInteger: int,
    sa.Float: float,
}
