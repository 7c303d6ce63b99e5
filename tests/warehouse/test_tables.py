"""The definition of the warehouse holds to the store's, and asks nothing that a house would leave out."""

import pytest
import sqlalchemy as sa

from bridge.store.tables import metadata
from bridge.warehouse.column_types import Flag, HexHash, LongText, UtcTimestamp, UuidText
from bridge.warehouse.table_sets import select_tables
from tests.store.test_schema import SEED
from tests.stores import Store

BOTH = select_tables(openlineage=True)
TABLES = pytest.mark.parametrize("table", BOTH.tables, ids=lambda table: table.name)
#: A kind of column here, and what the store's own tables keep it as.
KEPT_AS = {
    UuidText: sa.LargeBinary,
    HexHash: sa.LargeBinary,
    UtcTimestamp: sa.BigInteger,
    Flag: sa.Boolean,
    sa.BigInteger: sa.BigInteger,
    sa.Float: sa.Float,
}


@TABLES
def test_every_column_of_the_seed_is_there_and_nothing_that_the_store_has_not(
    table: sa.Table, sqlite_store: Store
) -> None:
    columns = set(table.columns.keys())
    assert set(SEED[table.name].split()) <= columns <= set(sqlite_store.db.column_names(table.name))
    assert ("org_id" in table.primary_key.columns) == (table.name != "ol_schema_version")


def test_every_table_of_the_seed_is_there() -> None:
    assert {table.name for table in BOTH.tables} == set(SEED)


@pytest.mark.parametrize("name", sorted({table.name for table in BOTH.tables} & set(metadata.tables)))
def test_columns_are_of_the_kind_that_the_store_keeps(name: str) -> None:
    here = next(table for table in BOTH.tables if table.name == name)
    for column in here.columns:
        kept = metadata.tables[name].c[column.name]
        # The event as it was sent is kept compressed.
        wanted = sa.LargeBinary if column.name == "payload" else KEPT_AS.get(type(column.type), sa.Text)
        assert isinstance(kept.type, wanted), column
        assert column.nullable == kept.nullable, column


@TABLES
def test_keys_fit_a_page_and_long_texts_lie_in_no_index(table: sa.Table) -> None:
    for columns in (list(table.primary_key.columns), *(list(index.columns) for index in table.indexes)):
        assert not any(isinstance(column.type, LongText) for column in columns)
        assert sum(4 * (getattr(column.type, "length", None) or 2) for column in columns) < 2700


@TABLES
def test_nothing_is_asked_for_that_a_house_would_leave_out(table: sa.Table) -> None:
    for column in table.columns:
        assert (column.identity, column.computed, column.comment) == (None, None, None), column
    assert table._autoincrement_column is None
    assert not [c for c in table.constraints if isinstance(c, sa.CheckConstraint | sa.UniqueConstraint)]
