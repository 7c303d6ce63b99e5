"""What is loaded into a warehouse is what the store's tables and views show, whatever is in a name."""

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
from tests.warehouse.databases import DAYS, RUNNING, Warehouse, warehouse

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BOTH = select_tables(openlineage=True)


def load(store: Store, house: WarehouseDialect, made: Warehouse, folder: Path) -> None:
    made.run(create_statements(house, BOTH, DAYS), folder)
    made.run(insert_statements(store.db, store.org, house, BOTH), folder)


#: How a warehouse shows what the store keeps, by the kind of column and of value; all else is as it is.
SHOWN: dict[tuple[type, type], Callable[[Any], Any]] = {
    (UuidText, bytes): lambda value: str(UUID(bytes=value)),
    (HexHash, bytes): bytes.hex,
    (BoundedText, str): bounded_key,
    (UtcTimestamp, int): lambda value: (EPOCH + timedelta(microseconds=value)).isoformat(" ", "microseconds")[:26],
    (UtcTimestamp, str): lambda value: value.replace("T", " ").rstrip("Z"),
    (Flag, int): bool,
    (LongText, bytes): lambda value: zstandard.decompress(value).decode(),
}


def as_loaded(column: sa.Column[Any], value: Any) -> Any:
    """Spell a value of the store as a warehouse shows it."""
    return SHOWN.get((type(column.type), type(value)), lambda value: value)(value)


def as_read(column: sa.Column[Any], value: Any) -> Any:
    """Spell a value of a warehouse in one way: one of them has no booleans and no times."""
    if isinstance(value, datetime):
        return value.isoformat(" ", "microseconds")
    return bool(value) if isinstance(column.type, Flag) and value is not None else value


def of_store(store: Store, table: sa.Table) -> set[tuple[Any, ...]]:
    names = ", ".join(table.columns.keys()).replace("facets_json", "CAST(facets_json AS TEXT)")
    rows = store.rows(f"SELECT {names} FROM {table.name}")
    return {tuple(map(as_loaded, table.columns, row)) for row in rows}


def of_warehouse(made: Warehouse, table: sa.Table) -> list[tuple[Any, ...]]:
    rows = made.rows(f"SELECT {', '.join(table.columns.keys())} FROM {table.name.upper()}")
    return [tuple(map(as_read, table.columns, row)) for row in rows]


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


@RUNNING
def test_a_loaded_warehouse_holds_what_the_store_shows(
    store: Store, house: WarehouseDialect, tmp_path: Path, events_dir: Path
) -> None:
    fill(store, events_dir)
    with warehouse(house, tmp_path) as made:
        load(store, house, made, tmp_path)
        for table in BOTH.tables:
            if table.name == "ol_schema_version":
                continue
            found, expected = of_warehouse(made, table), of_store(store, table)
            assert len(found) == len(set(found)), table.name
            assert set(found) == expected, table.name
            assert found, f"{table.name}: nothing was compared"
        version = "SELECT version_id, openlineage_spec_version, schema_version FROM ol_schema_version"
        assert made.rows(version) == store.rows(version)


@RUNNING
@pytest.mark.parametrize(
    "time",
    [
        "0001-01-01 00:00:00.000000",
        "1969-12-31 23:59:59.500000",
        "2026-01-01 00:00:00.000001",
        "9999-12-31 23:59:59.999999",
    ],
)
def test_a_time_comes_out_as_it_went_in(store: Store, house: WarehouseDialect, tmp_path: Path, time: str) -> None:
    store.apply(run_event() | {"eventTime": time.replace(" ", "T") + "Z"})
    with warehouse(house, tmp_path) as made:
        load(store, house, made, tmp_path)
        for column in (process_run.c.start_ts, ol_run.c.event_time):
            found = made.rows(f"SELECT {column.name} FROM {column.table.name}")
            assert [as_read(column, value) for (value,) in found] == [time]


def test_only_the_own_organisation_is_exported(sqlite_store: Store, tmp_path: Path) -> None:
    sqlite_store.apply(run_event(run=1, outputs=[dataset("ours")]))
    Store(org="other", db=sqlite_store.db).apply(run_event(run=1, outputs=[dataset("theirs")]))
    text = "".join(insert_statements(sqlite_store.db, "other", WarehouseDialect.sqlite, BOTH))
    assert ("'theirs'" in text, "'ours'" in text) == (True, False)


@RUNNING
def test_a_field_that_a_schema_names_twice_is_loaded_once(
    sqlite_store: Store, house: WarehouseDialect, tmp_path: Path
) -> None:
    fields = [{"name": name, "type": kind} for name, kind in (("x", "int"), ("y", "int"), ("x", "string"))]
    sqlite_store.apply(run_event(outputs=[dataset("a", schema=facet(fields=fields))]))
    with warehouse(house, tmp_path) as made:
        load(sqlite_store, house, made, tmp_path)
        assert made.rows("SELECT field_name, field_type FROM ol_dataset_field ORDER BY 1") == [
            ("x", "int"), ("y", "int"),
        ]  # fmt: skip


@pytest.mark.parametrize("openlineage_only", [False, True])
def test_each_part_loads_into_its_tables(sqlite_store: Store, tmp_path: Path, openlineage_only: bool) -> None:
    part = select_tables(openlineage_only=openlineage_only)
    sqlite_store.apply(run_event(outputs=[dataset("a")]))
    with warehouse(WarehouseDialect.sqlite, tmp_path) as made:
        made.run(create_statements(WarehouseDialect.sqlite, part, DAYS), tmp_path)
        made.run(insert_statements(sqlite_store.db, sqlite_store.org, WarehouseDialect.sqlite, part), tmp_path)
        table = "ol_dataset" if openlineage_only else "dataset"
        assert made.rows(f"SELECT name FROM {table}") == [("a",)]
