"""The DDL of the warehouse: one definition, written by the dialect of the house that asks."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

from bridge.store.migrations import HEAD
from bridge.store.schema import SPEC_VERSION
from bridge.warehouse.days import Days, partitioned, partitions
from bridge.warehouse.dialects import dialect_of
from bridge.warehouse.grants import ROLES, grants
from bridge.warehouse.house import House
from bridge.warehouse.openlineage import ol_schema_version
from bridge.warehouse.parts import Part

#: What must be there before the statements are run, where they cannot make it themselves.
_BEFORE = {
    House.db2: (
        "DB2 for Linux, UNIX and Windows 11.1 or newer, a Unicode database,",
        "and a default table space with pages of 32 K: names make long rows.",
    ),
    House.teradata: ("Teradata 16.20 or newer.",),
}
_NOW = {
    House.sqlite: "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
    House.postgresql: "CURRENT_TIMESTAMP AT TIME ZONE 'UTC'",
    House.db2: "CURRENT TIMESTAMP - CURRENT TIMEZONE",
    House.teradata: "CURRENT_TIMESTAMP(6)",
}


def create(house: House, part: Part, days: Days) -> Iterator[str]:
    """Write everything that makes an empty warehouse, a line or a statement at a time."""
    dialect = dialect_of(house)
    yield from _notes(house)
    for table in part.tables:
        yield _ended(_create_table(house, dialect, table, days))
        yield from map(_ended, partitions(house, table, days))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            yield _ended(_compiled(sa.schema.CreateIndex(index), dialect))
    for name, query in part.views.items():
        yield _ended(f"CREATE VIEW {name.upper()} AS\n{_compiled(query, dialect)}")
    names = [*(table.name for table in part.tables), *part.views]
    yield from map(_ended, grants(house, [name.upper() for name in names]))
    if ol_schema_version in part.tables:
        yield _ended(
            "INSERT INTO OL_SCHEMA_VERSION"
            " (VERSION_ID, OPENLINEAGE_SPEC_VERSION, SCHEMA_VERSION, APPLIED_AT, DESCRIPTION)\n"
            f"VALUES ({int(HEAD)}, '{SPEC_VERSION}', '{HEAD}', {_NOW[house]}, 'lineage-bridge warehouse')"
        )


def drop(house: House, part: Part) -> Iterator[str]:
    """Write everything that takes the tables and views away again; roles stay."""
    guard = "IF EXISTS " if house in {House.sqlite, House.postgresql} else ""
    for name in reversed(part.views):
        yield f"DROP VIEW {guard}{name.upper()};\n"
    for table in reversed(part.tables):
        yield f"DROP TABLE {guard}{table.name.upper()};\n"


def _notes(house: House) -> Iterator[str]:
    yield f"-- Made by lineage-bridge for {house}: store version {HEAD}, OpenLineage {SPEC_VERSION}.\n"
    for line in _BEFORE.get(house, ()):
        yield f"-- {line}\n"
    if house in {House.db2, House.teradata}:
        yield f"-- The roles must be there: {', '.join(ROLES)}.\n"
    yield "\n"


def _create_table(house: House, dialect: Dialect, table: sa.Table, days: Days) -> str:
    text = _compiled(sa.schema.CreateTable(table), dialect) + partitioned(house, table, days)
    # Teradata looks for equal rows at every insert, unless a table may have some.
    return text.replace("CREATE TABLE", "CREATE MULTISET TABLE", 1) if house is House.teradata else text


def _compiled(element: Any, dialect: Dialect) -> str:
    options = {"literal_binds": True} if isinstance(element, sa.Select) else {}
    text = str(element.compile(dialect=dialect, compile_kwargs=options))
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _ended(statement: str) -> str:
    return f"{statement};\n"
