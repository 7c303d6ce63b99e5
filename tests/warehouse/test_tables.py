"""Warehouse tables match the store, and use only features of all dialects."""

import pytest
import sqlalchemy as sa

from bridge.store.tables import metadata
from bridge.warehouse.column_types import Flag, HexHash, LongText, UtcTimestamp, UuidText
from bridge.warehouse.table_sets import select_tables
from tests.store.test_schema import SEED
from tests.stores import Store

ALL_TABLES = select_tables(openlineage=True)
TABLES = pytest.mark.parametrize("table", ALL_TABLES.tables, ids=lambda table: table.name)
#: Column type of the store by warehouse column type.
STORE_TYPES = {
    UuidText: sa.LargeBinary,
    HexHash: sa.LargeBinary,
    UtcTimestamp: sa.BigInteger,
    Flag: sa.Boolean,
    sa.BigInteger: sa.BigInteger,
    sa.Float: sa.Float,
}


@TABLES
def test_columns_include_seed_and_exist_in_store(table: sa.Table, sqlite_store: Store) -> None:
    columns = set(table.columns.keys())
    assert set(SEED[table.name].split()) <= columns <= set(sqlite_store.db.column_names(table.name))
    assert ("org_id" in table.primary_key.columns) == (table.name != "ol_schema_version")


def test_tables_equal_seed() -> None:
    assert {table.name for table in ALL_TABLES.tables} == set(SEED)


@pytest.mark.parametrize("name", sorted({table.name for table in ALL_TABLES.tables} & set(metadata.tables)))
def test_column_types_match_store(name: str) -> None:
    table_ = next(table for table in ALL_TABLES.tables if table.name == name)
    for column in table_.columns:
        stored = metadata.tables[name].c[column.name]
        # Payloads are stored compressed.
        expected = sa.LargeBinary if column.name == "payload" else STORE_TYPES.get(type(column.type), sa.Text)
        assert isinstance(stored.type, expected), column
        assert column.nullable == stored.nullable, column


@TABLES
def test_keys_fit_a_page_and_exclude_long_texts(table: sa.Table) -> None:
    for columns in (list(table.primary_key.columns), *(list(index.columns) for index in table.indexes)):
        assert not any(isinstance(column.type, LongText) for column in columns)
        assert sum(4 * (getattr(column.type, "length", None) or 2) for column in columns) < 2700


@TABLES
def test_only_portable_features_are_used(table: sa.Table) -> None:
    for column in table.columns:
        assert (column.identity, column.computed, column.comment) == (None, None, None), column
    assert table._autoincrement_column is None
    assert not [c for c in table.constraints if isinstance(c, sa.CheckConstraint | sa.UniqueConstraint)]
