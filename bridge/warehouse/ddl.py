"""DDL of the warehouse: tables, indexes, partitions, views, roles and grants."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

from bridge.store.migrations import HEAD
from bridge.store.schema import SPEC_VERSION
from bridge.warehouse.dialect import WarehouseDialect
from bridge.warehouse.openlineage_tables import ol_schema_version
from bridge.warehouse.partitions import DateRange, partition_clause, partition_statements
from bridge.warehouse.sqlalchemy_dialect import sqlalchemy_dialect
from bridge.warehouse.table_sets import TableSet

_EVERYTHING = "SELECT, INSERT, UPDATE, DELETE"
#: What people fill in; all else is written by the load alone.
_BY_HAND = ("SLA", "QUALITY_CHECK_DEF")
#: Raw events may hold what a query or a path gives away.
_RAW = "RUN_EVENT"

ROLES = ("PLATFORM_ADMIN", "DATA_STEWARD", "DATA_OWNER", "DATA_CONSUMER")


def privileges(role: str, table: str) -> str:
    """Privileges of a role on a table or view; None grants nothing."""
    if role == "PLATFORM_ADMIN":
        return _EVERYTHING if not table.startswith("V_") else "SELECT"
    if role == "DATA_STEWARD":
        may = dict.fromkeys(_BY_HAND, _EVERYTHING) | {"DATASET_REGISTRATION": "SELECT, UPDATE"}
    elif role == "DATA_OWNER":
        may = dict.fromkeys(_BY_HAND, "SELECT, INSERT, UPDATE")
        may |= {"DATASET_REGISTRATION": "SELECT, INSERT", _RAW: ""}
    else:
        may = {_RAW: ""}
    return may.get(table, "SELECT")


def grants(house: WarehouseDialect, tables: Sequence[str]) -> Iterator[str]:
    """Write the roles, where everybody who makes tables may make them, and their grants."""
    if house is WarehouseDialect.sqlite:
        return
    if house is WarehouseDialect.postgresql:
        for role in ROLES:
            missing = f"NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role.lower()}')"
            yield f"DO $$ BEGIN IF {missing} THEN CREATE ROLE {role} NOLOGIN; END IF; END $$"
    what = "" if house is WarehouseDialect.teradata else "TABLE "
    whom = "ROLE " if house is WarehouseDialect.db2 else ""
    for role in ROLES:
        for table in tables:
            if may := privileges(role, table):
                yield f"GRANT {may} ON {what}{table} TO {whom}{role}"


#: What must be there before the statements are run, where they cannot make it themselves.
_BEFORE = {
    WarehouseDialect.db2: (
        "DB2 for Linux, UNIX and Windows 11.1 or newer, a Unicode database,",
        "and a default table space with pages of 32 K: names make long rows.",
    ),
    WarehouseDialect.teradata: ("Teradata 16.20 or newer.",),
}
_NOW = {
    WarehouseDialect.sqlite: "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
    WarehouseDialect.postgresql: "CURRENT_TIMESTAMP AT TIME ZONE 'UTC'",
    WarehouseDialect.db2: "CURRENT TIMESTAMP - CURRENT TIMEZONE",
    WarehouseDialect.teradata: "CURRENT_TIMESTAMP(6)",
}


def create_statements(house: WarehouseDialect, part: TableSet, days: DateRange) -> Iterator[str]:
    """Write everything that makes an empty warehouse, a line or a statement at a time."""
    dialect = sqlalchemy_dialect(house)
    yield from _notes(house)
    for table in part.tables:
        yield _terminate(_create_table(house, dialect, table, days))
        yield from map(_terminate, partition_statements(house, table, days))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            yield _terminate(_compiled(sa.schema.CreateIndex(index), dialect))
    for name, query in part.views.items():
        yield _terminate(f"CREATE VIEW {name.upper()} AS\n{_compiled(query, dialect)}")
    names = [*(table.name for table in part.tables), *part.views]
    yield from map(_terminate, grants(house, [name.upper() for name in names]))
    if ol_schema_version in part.tables:
        yield _terminate(
            "INSERT INTO OL_SCHEMA_VERSION"
            " (VERSION_ID, OPENLINEAGE_SPEC_VERSION, SCHEMA_VERSION, APPLIED_AT, DESCRIPTION)\n"
            f"VALUES ({int(HEAD)}, '{SPEC_VERSION}', '{HEAD}', {_NOW[house]}, 'lineage-bridge warehouse')"
        )


def drop_statements(house: WarehouseDialect, part: TableSet) -> Iterator[str]:
    """Write everything that takes the tables and views away again; roles stay."""
    guard = "IF EXISTS " if house in {WarehouseDialect.sqlite, WarehouseDialect.postgresql} else ""
    for name in reversed(part.views):
        yield f"DROP VIEW {guard}{name.upper()};\n"
    for table in reversed(part.tables):
        yield f"DROP TABLE {guard}{table.name.upper()};\n"


def _notes(house: WarehouseDialect) -> Iterator[str]:
    yield f"-- Made by lineage-bridge for {house}: store version {HEAD}, OpenLineage {SPEC_VERSION}.\n"
    for line in _BEFORE.get(house, ()):
        yield f"-- {line}\n"
    if house in {WarehouseDialect.db2, WarehouseDialect.teradata}:
        yield f"-- The roles must be there: {', '.join(ROLES)}.\n"
    yield "\n"


def _create_table(house: WarehouseDialect, dialect: Dialect, table: sa.Table, days: DateRange) -> str:
    text = _compiled(sa.schema.CreateTable(table), dialect) + partition_clause(house, table, days)
    # Teradata looks for equal rows at every insert, unless a table may have some.
    return text.replace("CREATE TABLE", "CREATE MULTISET TABLE", 1) if house is WarehouseDialect.teradata else text


def _compiled(element: Any, dialect: Dialect) -> str:
    options = {"literal_binds": True} if isinstance(element, sa.Select) else {}
    text = str(element.compile(dialect=dialect, compile_kwargs=options))
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _terminate(statement: str) -> str:
    return f"{statement};\n"
