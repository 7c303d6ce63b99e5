"""The DDL of every house says what the one definition says."""

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
from tests.warehouse.databases import DAYS, EVERY

GOLDEN = Path(__file__).parents[1] / "data" / "ddl"
BOTH = select_tables(openlineage=True)
TABLES = pytest.mark.parametrize("table", BOTH.tables, ids=lambda table: table.name)

#: Type, as each house spells it; a name is longer than the name of an organisation.
SPELLED: dict[WarehouseDialect, dict[type, str]] = {
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

SEED_INDEXES = {
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


def script(house: WarehouseDialect, **parts: bool) -> str:
    return "".join(ddl.create_statements(house, select_tables(**parts), DAYS))


def lines_of(house: WarehouseDialect, table: sa.Table) -> list[str]:
    found = re.search(_TABLE.format(table.name.upper()), script(house, openlineage=True), re.MULTILINE | re.DOTALL)
    assert found, table.name
    return [line.strip().rstrip(",") for line in found[1].splitlines()]


def type_of(house: WarehouseDialect, column: sa.Column[Any]) -> str:
    length = getattr(column.type, "length", None) or 0
    return SPELLED[house][type(column.type)].format(length, 2 * length)


def default_of(house: WarehouseDialect, column: sa.Column[Any]) -> str | None:
    if column.server_default is None:
        return None
    asked = column.server_default.arg
    if isinstance(asked, str):
        return f"'{asked}'"
    if isinstance(asked, sa.TextClause):
        return str(asked.text)
    words = {"true": "1", "false": "0"} if house is not WarehouseDialect.postgresql else {}
    return words.get(str(asked), str(asked))


@EVERY
def test_the_whole_text_is_the_one_that_was_looked_at(house: WarehouseDialect) -> None:
    golden = (GOLDEN / f"{house}.sql").read_text(encoding="utf-8")
    days = f"--from-day {DAYS.first} --to-day {DAYS.last}"
    command = f"lineage-bridge schema ddl --openlineage --dialect {house} {days} > tests/data/ddl/{house}.sql"
    # A migration changes the number of the store's version, and nothing else.
    assert _VERSION.sub("N", script(house, openlineage=True)) == _VERSION.sub("N", golden), command


@EVERY
@TABLES
def test_columns_have_their_types_nullability_and_defaults(house: WarehouseDialect, table: sa.Table) -> None:
    found = {}
    for line in lines_of(house, table)[: len(table.columns)]:
        name, _, spelled = line.partition(" ")
        default = _DEFAULT.search(spelled)
        nullable = "NOT NULL" not in spelled
        kind = _DEFAULT.sub("", spelled).replace(" NOT NULL", "")
        found[name.strip('"').lower()] = (kind, nullable, default and default[1].strip("()"))
    assert found == {
        column.name: (type_of(house, column), column.nullable, default_of(house, column)) for column in table.columns
    }


@EVERY
@TABLES
def test_keys_are_those_of_the_definition(house: WarehouseDialect, table: sa.Table) -> None:
    wanted = {f"PRIMARY KEY ({', '.join(table.primary_key.columns.keys())})"}
    for key in table.foreign_key_constraints:
        own, others = ", ".join(key.column_keys), ", ".join(element.column.name for element in key.elements)
        wanted.add(f"FOREIGN KEY({own}) REFERENCES {key.referred_table.name} ({others})")
    found = {_CONSTRAINT.sub("", line) for line in lines_of(house, table)[len(table.columns) :]}
    assert found == {text.upper() for text in wanted}


@EVERY
def test_the_indexes_are_those_of_the_seed(house: WarehouseDialect) -> None:
    found = _INDEX.findall(script(house, openlineage=True))
    assert {(table or other, column or another) for _, column, table, other, another in found} == SEED_INDEXES
    names = [index[0] for index in found]
    assert len(names) == len(set(names)) == 18


@pytest.mark.parametrize("house", [WarehouseDialect.sqlite, WarehouseDialect.postgresql])
def test_no_name_needs_quotes_where_upper_case_in_quotes_is_another_name(house: WarehouseDialect) -> None:
    assert '"' not in script(house, openlineage=True)


@pytest.mark.parametrize(
    ("options", "with_catalogue", "with_openlineage"),
    [({}, True, False), ({"openlineage": True}, True, True), ({"openlineage_only": True}, False, True)],
)
def test_each_part_is_made_alone_or_both(
    options: dict[str, bool], with_catalogue: bool, with_openlineage: bool
) -> None:
    made = sqlite3.connect(":memory:")
    made.executescript(script(WarehouseDialect.sqlite, **options))
    names = {name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    made.close()
    assert ({"DATASET", "PROCESS", "PROCESS_RUN", "V_LINEAGE_EDGE"} <= names) == with_catalogue
    assert ({table.name.upper() for table in OPENLINEAGE_TABLES} <= names) == with_openlineage
    assert ("OL_NAMESPACE" in names) == with_openlineage
    assert ("SLA" in names) == with_catalogue


def test_both_options_at_once_are_a_mistake() -> None:
    with pytest.raises(ConfigError, match="not both"):
        select_tables(openlineage=True, openlineage_only=True)


@pytest.mark.parametrize(
    ("house", "package"), [(WarehouseDialect.db2, "ibm_db_sa"), (WarehouseDialect.teradata, "teradatasqlalchemy")]
)
def test_a_missing_package_is_told_with_the_remedy(
    house: WarehouseDialect, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, f"{package}.{'base' if house is WarehouseDialect.db2 else 'dialect'}", None)
    with pytest.raises(MissingDependency, match=rf"{package}: pip install 'lineage-bridge\[warehouse\]'"):
        sqlalchemy_dialect(house)


@pytest.mark.system("ibm_db_sa")
def test_nobody_is_forgotten_by_the_grants() -> None:
    text = script(WarehouseDialect.db2)
    assert {role for role in ROLES if f"TO ROLE {role};" in text} == set(ROLES)
