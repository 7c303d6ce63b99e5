"""The DDL of every dialect matches the table definitions."""

import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bridge.warehouse import ddl
from bridge.warehouse.column_types import BoundedText, Flag, HexHash, Keyword, LongText, UtcTimestamp, UuidText
from bridge.warehouse.ddl import ROLES
from bridge.warehouse.dialect import WarehouseDialect
from bridge.warehouse.openlineage_tables import OPENLINEAGE_TABLES
from bridge.warehouse.sqlalchemy_dialect import sqlalchemy_dialect
from bridge.warehouse.table_sets import select_tables
from connectors.errors import ConfigError, MissingDependency
from tests.warehouse.databases import ALL_DIALECTS, DAYS

GOLDEN = Path(__file__).parents[1] / "data" / "ddl"
ALL_TABLES = select_tables(openlineage=True)
TABLES = pytest.mark.parametrize("table", ALL_TABLES.tables, ids=lambda table: table.name)

#: Type names by dialect; {0} is the length in characters, {1} in bytes.
TYPE_NAMES: dict[WarehouseDialect, dict[type, str]] = {
    WarehouseDialect.sqlite: {
        UuidText: "VARCHAR(36)", HexHash: "VARCHAR(32)", Keyword: "VARCHAR(64)", BoundedText: "VARCHAR({0})", LongText: "TEXT",
        UtcTimestamp: "TIMESTAMP(6)", Flag: "BOOLEAN", sa.BigInteger: "BIGINT", sa.Float: "FLOAT",
    },
    WarehouseDialect.postgresql: {
        UuidText: "VARCHAR(36)", HexHash: "VARCHAR(32)", Keyword: "VARCHAR(64)", BoundedText: "VARCHAR({0})", LongText: "TEXT",
        UtcTimestamp: "TIMESTAMP(6)", Flag: "BOOLEAN", sa.BigInteger: "BIGINT", sa.Float: "FLOAT",
    },
    WarehouseDialect.db2: {
        UuidText: "VARCHAR(36)", HexHash: "VARCHAR(32)", Keyword: "VARCHAR(64)", BoundedText: "VARCHAR({0} CODEUNITS32)",
        LongText: "CLOB(64M)", UtcTimestamp: "TIMESTAMP(6)", Flag: "SMALLINT", sa.BigInteger: "BIGINT", sa.Float: "FLOAT",
    },
    WarehouseDialect.teradata: {
        UuidText: "VARCHAR(36) CHARACTER SET LATIN CASESPECIFIC", HexHash: "VARCHAR(32) CHARACTER SET LATIN CASESPECIFIC",
        Keyword: "VARCHAR(64) CHARACTER SET LATIN CASESPECIFIC",
        BoundedText: "VARCHAR({1}) CHARACTER SET UNICODE CASESPECIFIC", LongText: "CLOB CHARACTER SET UNICODE",
        UtcTimestamp: "TIMESTAMP(6)", Flag: "SMALLINT", sa.BigInteger: "BIGINT", sa.Float: "FLOAT",
    },
}  # fmt: skip

EXPECTED_INDEXES = {
    ("OL_NAMESPACE", "NAMESPACE_URI"),
    ("OL_DATASET", "NAMESPACE_ID"), ("OL_DATASET", "NAME"),
    ("OL_DATASET_FIELD", "DATASET_ID"), ("OL_DATASET_FIELD", "FIELD_NAME"),
    ("OL_JOB", "NAMESPACE_ID"), ("OL_JOB", "NAME"),
    ("OL_RUN", "JOB_ID"), ("OL_RUN", "EVENT_TIME"), ("OL_RUN", "EVENT_TYPE"),
    ("OL_RUN_INPUT", "DATASET_ID"), ("OL_RUN_OUTPUT", "DATASET_ID"),
    ("OL_COLUMN_LINEAGE", "SOURCE_DATASET"), ("OL_COLUMN_LINEAGE", "SOURCE_FIELD"),
    ("OL_COLUMN_LINEAGE", "TARGET_DATASET"), ("OL_COLUMN_LINEAGE", "TARGET_FIELD"),
    ("OL_COLUMN_LINEAGE", "RUN_ID"), ("OL_COLUMN_LINEAGE", "TRANSFORMATION_TYPE"),
}  # fmt: skip

_TABLE = r"^CREATE (?:MULTISET )?TABLE {} \(\n(.*?)\n\)(.*?);$"
_INDEX = re.compile(r"^CREATE INDEX (\w+) (?:\((.*)\) ON (\w+)|ON (\w+) \((.*)\));$", re.MULTILINE)
_VERSION = re.compile(r"(?<=store version )\d{4}|(?<=VALUES \()\d+(?=, )|(?<=', ')\d{4}(?=', )")
_CONSTRAINT = re.compile(r"^CONSTRAINT \w+ ")
_DEFAULT = re.compile(r" (?:WITH )?DEFAULT (\S+)")


def script(dialect: WarehouseDialect, **parts: bool) -> str:
    return "".join(ddl.create_statements(dialect, select_tables(**parts), DAYS))


def table_lines(dialect: WarehouseDialect, table: sa.Table) -> list[str]:
    match = re.search(_TABLE.format(table.name.upper()), script(dialect, openlineage=True), re.MULTILINE | re.DOTALL)
    assert match, table.name
    return [line.strip().rstrip(",") for line in match[1].splitlines()]


def type_name(dialect: WarehouseDialect, column: sa.Column[Any]) -> str:
    length = getattr(column.type, "length", None) or 0
    return TYPE_NAMES[dialect][type(column.type)].format(length, 2 * length)


def default_value(dialect: WarehouseDialect, column: sa.Column[Any]) -> str | None:
    if column.server_default is None:
        return None
    default = column.server_default.arg
    if isinstance(default, str):
        return f"'{default}'"
    if isinstance(default, sa.TextClause):
        return str(default.text)
    literals = {"true": "1", "false": "0"} if dialect is not WarehouseDialect.postgresql else {}
    return literals.get(str(default), str(default))


@ALL_DIALECTS
def test_ddl_equals_reviewed_file(dialect: WarehouseDialect) -> None:
    golden = (GOLDEN / f"{dialect}.sql").read_text(encoding="utf-8")
    days = f"--from-day {DAYS.first} --to-day {DAYS.last}"
    command = f"lineage-bridge schema ddl --openlineage --dialect {dialect} {days} > tests/data/ddl/{dialect}.sql"
    # Ignores the store version, which every migration changes.
    assert _VERSION.sub("N", script(dialect, openlineage=True)) == _VERSION.sub("N", golden), command


@ALL_DIALECTS
@TABLES
def test_columns_have_types_nullability_and_defaults(dialect: WarehouseDialect, table: sa.Table) -> None:
    actual = {}
    for line in table_lines(dialect, table)[: len(table.columns)]:
        name, _, definition = line.partition(" ")
        default = _DEFAULT.search(definition)
        nullable = "NOT NULL" not in definition
        kind = _DEFAULT.sub("", definition).replace(" NOT NULL", "")
        actual[name.strip('"').lower()] = (kind, nullable, default and default[1].strip("()"))
    assert actual == {
        column.name: (type_name(dialect, column), column.nullable, default_value(dialect, column))
        for column in table.columns
    }


@ALL_DIALECTS
@TABLES
def test_keys(dialect: WarehouseDialect, table: sa.Table) -> None:
    expected = {f"PRIMARY KEY ({', '.join(table.primary_key.columns.keys())})"}
    for key in table.foreign_key_constraints:
        columns, referred_columns = (
            ", ".join(key.column_keys),
            ", ".join(element.column.name for element in key.elements),
        )
        expected.add(f"FOREIGN KEY({columns}) REFERENCES {key.referred_table.name} ({referred_columns})")
    actual = {_CONSTRAINT.sub("", line) for line in table_lines(dialect, table)[len(table.columns) :]}
    assert actual == {text.upper() for text in expected}


@ALL_DIALECTS
def test_indexes(dialect: WarehouseDialect) -> None:
    matches = _INDEX.findall(script(dialect, openlineage=True))
    assert {(table or other, column or another) for _, column, table, other, another in matches} == EXPECTED_INDEXES
    names = [index[0] for index in matches]
    assert len(names) == len(set(names)) == 18


@pytest.mark.parametrize("dialect", [WarehouseDialect.sqlite, WarehouseDialect.postgresql])
def test_no_name_requires_quotes(dialect: WarehouseDialect) -> None:
    assert '"' not in script(dialect, openlineage=True)


@pytest.mark.parametrize(
    ("options", "with_catalogue", "with_openlineage"),
    [({}, True, False), ({"openlineage": True}, True, True), ({"openlineage_only": True}, False, True)],
)
def test_table_sets(options: dict[str, bool], with_catalogue: bool, with_openlineage: bool) -> None:
    database = sqlite3.connect(":memory:")
    database.executescript(script(WarehouseDialect.sqlite, **options))
    names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    database.close()
    assert ({"DATASET", "PROCESS", "PROCESS_RUN", "V_LINEAGE_EDGE"} <= names) == with_catalogue
    assert ({table.name.upper() for table in OPENLINEAGE_TABLES} <= names) == with_openlineage
    assert ("OL_NAMESPACE" in names) == with_openlineage
    assert ("SLA" in names) == with_catalogue


def test_conflicting_options_are_rejected() -> None:
    with pytest.raises(ConfigError, match="exclude each other"):
        select_tables(openlineage=True, openlineage_only=True)


@pytest.mark.parametrize(
    ("dialect", "package"), [(WarehouseDialect.db2, "ibm_db_sa"), (WarehouseDialect.teradata, "teradatasqlalchemy")]
)
def test_missing_package_is_an_error_with_remedy(
    dialect: WarehouseDialect, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, f"{package}.{'base' if dialect is WarehouseDialect.db2 else 'dialect'}", None)
    with pytest.raises(MissingDependency, match=rf"{package}: pip install 'lineage-bridge\[warehouse\]'"):
        sqlalchemy_dialect(dialect)


@pytest.mark.system("ibm_db_sa")
def test_every_role_has_grants() -> None:
    text = script(WarehouseDialect.db2)
    assert {role for role in ROLES if f"TO ROLE {role};" in text} == set(ROLES)
