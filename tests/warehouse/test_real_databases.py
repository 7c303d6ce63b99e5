"""SQLite and PostgreSQL execute the DDL and the drop statements."""

from collections.abc import Iterable
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from bridge.warehouse import ddl
from bridge.warehouse.dialect import WarehouseDialect
from bridge.warehouse.inserts import insert_statements
from bridge.warehouse.table_sets import select_tables
from tests.factories import columns, dataset, field, job_event, run_event, transformation
from tests.stores import Store
from tests.warehouse.databases import DAYS, RUNNING_DIALECTS, Warehouse, open_warehouse

ALL_TABLES = select_tables(openlineage=True)


def inspect_database(database: Warehouse) -> sa.Inspector:
    if database.url.startswith("sqlite"):
        return sa.inspect(sa.create_engine(database.url, poolclass=sa.NullPool))
    url = database.url
    return sa.inspect(
        sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=sa.NullPool)
    )


@RUNNING_DIALECTS
def test_created_tables_match_definitions(dialect: WarehouseDialect, tmp_path: Path) -> None:
    with open_warehouse(dialect, tmp_path) as database:
        database.run(ddl.create_statements(dialect, ALL_TABLES, DAYS), tmp_path)
        inspector = inspect_database(database)
        for table in ALL_TABLES.tables:
            name = table.name if dialect is WarehouseDialect.postgresql else table.name.upper()
            columns = {c["name"].lower(): c["nullable"] for c in inspector.get_columns(name)}
            assert columns == {column.name: column.nullable for column in table.columns}
            key = [column.lower() for column in inspector.get_pk_constraint(name)["constrained_columns"]]
            assert key == table.primary_key.columns.keys()
            referred = {
                (k["referred_table"].lower(), *k["constrained_columns"]) for k in inspector.get_foreign_keys(name)
            }
            assert {tuple(map(str.lower, key_)) for key_ in referred} == {
                (k.referred_table.name, *k.column_keys) for k in table.foreign_key_constraints
            }
            indexes = {str(i["name"]).lower() for i in inspector.get_indexes(name)}
            assert indexes == {index.name for index in table.indexes}
        assert len(inspector.get_view_names()) == 3


@RUNNING_DIALECTS
def test_drop_removes_everything_and_can_be_repeated(dialect: WarehouseDialect, tmp_path: Path) -> None:
    with open_warehouse(dialect, tmp_path) as database:
        for _ in range(2):
            database.run(ddl.create_statements(dialect, ALL_TABLES, DAYS), tmp_path)
            for _ in range(2):
                database.run(without_notices(dialect, ddl.drop_statements(dialect, ALL_TABLES)), tmp_path)
            inspector = inspect_database(database)
            assert inspector.get_table_names() + inspector.get_view_names() == []


def without_notices(dialect: WarehouseDialect, statements: Iterable[str]) -> list[str]:
    """Suppress notices about missing objects."""
    return ["SET client_min_messages = warning;\n"] * (dialect is WarehouseDialect.postgresql) + list(statements)


@pytest.mark.system("postgres")
def test_rows_are_in_partition_of_their_day_or_default(tmp_path: Path) -> None:
    with open_warehouse(WarehouseDialect.postgresql, tmp_path) as database:
        database.run(ddl.create_statements(WarehouseDialect.postgresql, ALL_TABLES, DAYS), tmp_path)
        for day in ("2026-01-01", "2026-01-02", "2026-01-03"):
            names = "payload, event_type, received_at, source, event_hash, org_id"
            values = f"'{{}}', 'START', '{day} 23:59:59.999999', 'x', 'h', 'o'"
            database.run([f"INSERT INTO run_event ({names}) VALUES ({values});"], tmp_path)
        assert database.rows("SELECT tableoid::regclass::text FROM run_event ORDER BY received_at") == [
            ("run_event_20260101",), ("run_event_20260102",), ("run_event_default",),
        ]  # fmt: skip


@pytest.mark.system("postgres")
@pytest.mark.parametrize(
    ("role", "table", "allowed"),
    [
        ("PLATFORM_ADMIN", "OL_RUN", {"SELECT", "INSERT", "UPDATE", "DELETE"}),
        ("DATA_STEWARD", "OL_RUN", {"SELECT"}),
        ("DATA_STEWARD", "SLA", {"SELECT", "INSERT", "UPDATE", "DELETE"}),
        ("DATA_STEWARD", "DATASET_REGISTRATION", {"SELECT", "UPDATE"}),
        ("DATA_STEWARD", "RUN_EVENT", {"SELECT"}),
        ("DATA_OWNER", "SLA", {"SELECT", "INSERT", "UPDATE"}),
        ("DATA_OWNER", "DATASET_REGISTRATION", {"SELECT", "INSERT"}),
        ("DATA_OWNER", "RUN_EVENT", set()),
        ("DATA_CONSUMER", "DATASET", {"SELECT"}),
        ("DATA_CONSUMER", "V_LINEAGE_EDGE", {"SELECT"}),
        ("DATA_CONSUMER", "RUN_EVENT", set()),
    ],
)
def test_role_privileges(tmp_path: Path, role: str, table: str, allowed: set[str]) -> None:
    with open_warehouse(WarehouseDialect.postgresql, tmp_path) as database:
        database.run(ddl.create_statements(WarehouseDialect.postgresql, ALL_TABLES, DAYS), tmp_path)
        for privilege in ("SELECT", "INSERT", "UPDATE", "DELETE"):
            assert database.rows(
                f"SELECT has_table_privilege('{role.lower()}', '{table.lower()}', '{privilege}')"
            ) == [(privilege in allowed,)]


@RUNNING_DIALECTS
def test_lineage_views(store: Store, dialect: WarehouseDialect, tmp_path: Path) -> None:
    source = dataset("a")
    target = dataset("b", columnLineage=columns({"x": [field("a", "x", transformation())]}))
    for run in (1, 2):
        store.apply(run_event(run=run, job="make_b", inputs=[source], outputs=[target]))
    store.apply(job_event(3, job="plan", inputs=[source], outputs=[dataset("c")]))
    with open_warehouse(dialect, tmp_path) as database:
        database.run(ddl.create_statements(dialect, ALL_TABLES, DAYS), tmp_path)
        database.run(insert_statements(store.db, store.org, dialect, ALL_TABLES), tmp_path)
        columns_ = "source_namespace, source_name, target_namespace, target_name, job_namespace, job_name, runs"
        assert database.rows(f"SELECT {columns_} FROM v_dataset_lineage") == [
            ("db", "a", "db", "b", "jobs", "make_b", 2)
        ]
        columns_ = "source_dataset, source_field, target_dataset, target_field, job_namespace, job_name"
        assert database.rows(f"SELECT {columns_} FROM v_column_lineage") == [("a", "x", "b", "x", "jobs", "make_b")]
        edges = set(database.rows("SELECT source_name, target_name, edge_role FROM v_lineage_edge"))
        assert {("db/a", "jobs/plan"), ("jobs/plan", "db/c")} <= {edge[:2] for edge in edges}, edges
