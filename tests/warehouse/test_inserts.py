"""A loaded warehouse equals the tables and views of the store, for any names."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
import zstandard

from bridge.warehouse.catalog_tables import process_run
from bridge.warehouse.column_types import BoundedText, Flag, HexHash, LongText, UtcTimestamp, UuidText
from bridge.warehouse.ddl import create_statements
from bridge.warehouse.dialect import WarehouseDialect
from bridge.warehouse.inserts import insert_statements
from bridge.warehouse.openlineage_tables import ol_run
from bridge.warehouse.table_sets import select_tables
from mappers.canonical.identity import bounded_key
from tests.factories import dataset, facet, run_event, schema
from tests.fuzz.hostile_names import HOSTILE
from tests.fuzz.test_hostile_names import hostile_events
from tests.stores import Store
from tests.warehouse.databases import DAYS, RUNNING_DIALECTS, Warehouse, open_warehouse

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ALL_TABLES = select_tables(openlineage=True)


def load(store: Store, dialect: WarehouseDialect, database: Warehouse, folder: Path) -> None:
    database.run(create_statements(dialect, ALL_TABLES, DAYS), folder)
    database.run(insert_statements(store.db, store.org, dialect, ALL_TABLES), folder)


#: Conversion of stored values to warehouse values by column and value type; other values are equal.
CONVERSIONS: dict[tuple[type, type], Callable[[Any], Any]] = {
    (UuidText, bytes): lambda value: str(UUID(bytes=value)),
    (HexHash, bytes): bytes.hex,
    (BoundedText, str): bounded_key,
    (UtcTimestamp, int): lambda value: (EPOCH + timedelta(microseconds=value)).isoformat(" ", "microseconds")[:26],
    (UtcTimestamp, str): lambda value: value.replace("T", " ").rstrip("Z"),
    (Flag, int): bool,
    (LongText, bytes): lambda value: zstandard.decompress(value).decode(),
}


def to_warehouse_value(column: sa.Column[Any], value: Any) -> Any:
    """A value of the store as in a warehouse."""
    return CONVERSIONS.get((type(column.type), type(value)), lambda value: value)(value)


def normalize(column: sa.Column[Any], value: Any) -> Any:
    """Normalize a value of a warehouse: SQLite has no booleans and no timestamps."""
    if isinstance(value, datetime):
        return value.isoformat(" ", "microseconds")
    return bool(value) if isinstance(column.type, Flag) and value is not None else value


def store_rows(store: Store, table: sa.Table) -> set[tuple[Any, ...]]:
    names = ", ".join(table.columns.keys()).replace("facets_json", "CAST(facets_json AS TEXT)")
    rows = store.rows(f"SELECT {names} FROM {table.name}")
    return {tuple(map(to_warehouse_value, table.columns, row)) for row in rows}


def warehouse_rows(database: Warehouse, table: sa.Table) -> list[tuple[Any, ...]]:
    rows = database.rows(f"SELECT {', '.join(table.columns.keys())} FROM {table.name.upper()}")
    return [tuple(map(normalize, table.columns, row)) for row in rows]


def fill(store: Store, events_dir: Path) -> None:
    for text in HOSTILE.values():
        store.apply(*hostile_events(text))
    for name in ("a_csv_to_parquet", "c_sql_tables_inmemory", "e_iceberg", "g_failing"):
        lines = (events_dir / "spark-4.1.4" / f"{name}.ndjson").read_bytes().splitlines()
        store.apply(*lines)
    long = facet(description="'\\\n\r\n'" * 9_000)
    store.apply(run_event(run=7, outputs=[dataset("wide", documentation=long, schema=schema(*map(str, range(500))))]))
    store.db.execute(
        "INSERT INTO sla (org_id, sla_id, name, sla_window_sec, created_at) VALUES (?1, ?2, ?3, 60, 1)",
        store.org, bytes(16), "it's \\ daily",
    )  # fmt: skip


@RUNNING_DIALECTS
def test_loaded_warehouse_equals_store(
    store: Store, dialect: WarehouseDialect, tmp_path: Path, events_dir: Path
) -> None:
    fill(store, events_dir)
    with open_warehouse(dialect, tmp_path) as database:
        load(store, dialect, database, tmp_path)
        for table in ALL_TABLES.tables:
            if table.name == "ol_schema_version":
                continue
            loaded, expected = warehouse_rows(database, table), store_rows(store, table)
            assert len(loaded) == len(set(loaded)), table.name
            assert set(loaded) == expected, table.name
            assert loaded, f"{table.name}: no rows to compare"
        version = "SELECT version_id, openlineage_spec_version, schema_version FROM ol_schema_version"
        assert database.rows(version) == store.rows(version)


@RUNNING_DIALECTS
@pytest.mark.parametrize(
    "time",
    [
        "0001-01-01 00:00:00.000000",
        "1969-12-31 23:59:59.500000",
        "2026-01-01 00:00:00.000001",
        "9999-12-31 23:59:59.999999",
    ],
)
def test_timestamps_are_loaded_unchanged(store: Store, dialect: WarehouseDialect, tmp_path: Path, time: str) -> None:
    store.apply(run_event() | {"eventTime": time.replace(" ", "T") + "Z"})
    with open_warehouse(dialect, tmp_path) as database:
        load(store, dialect, database, tmp_path)
        for column in (process_run.c.start_ts, ol_run.c.event_time):
            rows = database.rows(f"SELECT {column.name} FROM {column.table.name}")
            assert [normalize(column, value) for (value,) in rows] == [time]


def test_only_own_organisation_is_exported(sqlite_store: Store, tmp_path: Path) -> None:
    sqlite_store.apply(run_event(run=1, outputs=[dataset("ours")]))
    Store(org="other", db=sqlite_store.db).apply(run_event(run=1, outputs=[dataset("theirs")]))
    text = "".join(insert_statements(sqlite_store.db, "other", WarehouseDialect.sqlite, ALL_TABLES))
    assert ("'theirs'" in text, "'ours'" in text) == (True, False)


@RUNNING_DIALECTS
def test_duplicate_schema_field_is_loaded_once(
    sqlite_store: Store, dialect: WarehouseDialect, tmp_path: Path
) -> None:
    fields = [{"name": name, "type": kind} for name, kind in (("x", "int"), ("y", "int"), ("x", "string"))]
    sqlite_store.apply(run_event(outputs=[dataset("a", schema=facet(fields=fields))]))
    with open_warehouse(dialect, tmp_path) as database:
        load(sqlite_store, dialect, database, tmp_path)
        assert database.rows("SELECT field_name, field_type FROM ol_dataset_field ORDER BY 1") == [
            ("x", "int"), ("y", "int"),
        ]  # fmt: skip


@pytest.mark.parametrize("openlineage_only", [False, True])
def test_each_table_set_is_loaded(sqlite_store: Store, tmp_path: Path, openlineage_only: bool) -> None:
    part = select_tables(openlineage_only=openlineage_only)
    sqlite_store.apply(run_event(outputs=[dataset("a")]))
    with open_warehouse(WarehouseDialect.sqlite, tmp_path) as database:
        database.run(create_statements(WarehouseDialect.sqlite, part, DAYS), tmp_path)
        database.run(insert_statements(sqlite_store.db, sqlite_store.org, WarehouseDialect.sqlite, part), tmp_path)
        table = "ol_dataset" if openlineage_only else "dataset"
        assert database.rows(f"SELECT name FROM {table}") == [("a",)]
