"""Two houses really make what the DDL says, and take it away again."""

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
from tests.warehouse.databases import DAYS, RUNNING, Warehouse, warehouse

BOTH = select_tables(openlineage=True)


def inspected(made: Warehouse) -> sa.Inspector:
    if made.url.startswith("sqlite"):
        return sa.inspect(sa.create_engine(made.url, poolclass=sa.NullPool))
    url = made.url
    return sa.inspect(
        sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=sa.NullPool)
    )


@RUNNING
def test_a_database_understands_what_the_definition_means(house: WarehouseDialect, tmp_path: Path) -> None:
    with warehouse(house, tmp_path) as made:
        made.run(ddl.create_statements(house, BOTH, DAYS), tmp_path)
        inspector = inspected(made)
        for table in BOTH.tables:
            name = table.name if house is WarehouseDialect.postgresql else table.name.upper()
            columns = {c["name"].lower(): c["nullable"] for c in inspector.get_columns(name)}
            assert columns == {column.name: column.nullable for column in table.columns}
            key = [column.lower() for column in inspector.get_pk_constraint(name)["constrained_columns"]]
            assert key == table.primary_key.columns.keys()
            referred = {
                (k["referred_table"].lower(), *k["constrained_columns"]) for k in inspector.get_foreign_keys(name)
            }
            assert {tuple(map(str.lower, words)) for words in referred} == {
                (k.referred_table.name, *k.column_keys) for k in table.foreign_key_constraints
            }
            indexes = {str(i["name"]).lower() for i in inspector.get_indexes(name)}
            assert indexes == {index.name for index in table.indexes}
        assert len(inspector.get_view_names()) == 3


@RUNNING
def test_drop_takes_everything_away_however_often(house: WarehouseDialect, tmp_path: Path) -> None:
    with warehouse(house, tmp_path) as made:
        for _ in range(2):
            made.run(ddl.create_statements(house, BOTH, DAYS), tmp_path)
            for _ in range(2):
                made.run(quietly(house, ddl.drop_statements(house, BOTH)), tmp_path)
            inspector = inspected(made)
            assert inspector.get_table_names() + inspector.get_view_names() == []


def quietly(house: WarehouseDialect, statements: Iterable[str]) -> list[str]:
    """Leave out the notices that tell what is not there."""
    return ["SET client_min_messages = warning;\n"] * (house is WarehouseDialect.postgresql) + list(statements)


@pytest.mark.system("postgres")
def test_rows_lie_in_the_partition_of_their_day_and_others_in_the_one_by_default(tmp_path: Path) -> None:
    with warehouse(WarehouseDialect.postgresql, tmp_path) as made:
        made.run(ddl.create_statements(WarehouseDialect.postgresql, BOTH, DAYS), tmp_path)
        for day in ("2026-01-01", "2026-01-02", "2026-01-03"):
            names = "payload, event_type, received_at, source, event_hash, org_id"
            values = f"'{{}}', 'START', '{day} 23:59:59.999999', 'x', 'h', 'o'"
            made.run([f"INSERT INTO run_event ({names}) VALUES ({values});"], tmp_path)
        assert made.rows("SELECT tableoid::regclass::text FROM run_event ORDER BY received_at") == [
            ("run_event_20260101",), ("run_event_20260102",), ("run_event_default",),
        ]  # fmt: skip


@pytest.mark.system("postgres")
@pytest.mark.parametrize(
    ("role", "table", "may"),
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
def test_each_role_may_do_what_is_its_own(tmp_path: Path, role: str, table: str, may: set[str]) -> None:
    with warehouse(WarehouseDialect.postgresql, tmp_path) as made:
        made.run(ddl.create_statements(WarehouseDialect.postgresql, BOTH, DAYS), tmp_path)
        for asked in ("SELECT", "INSERT", "UPDATE", "DELETE"):
            assert made.rows(f"SELECT has_table_privilege('{role.lower()}', '{table.lower()}', '{asked}')") == [
                (asked in may,)
            ]


@RUNNING
def test_views_name_both_ends_of_lineage(store: Store, house: WarehouseDialect, tmp_path: Path) -> None:
    source = dataset("a")
    target = dataset("b", columnLineage=columns({"x": [field("a", "x", transformation())]}))
    for run in (1, 2):
        store.apply(run_event(run=run, job="make_b", inputs=[source], outputs=[target]))
    store.apply(job_event(3, job="plan", inputs=[source], outputs=[dataset("c")]))
    with warehouse(house, tmp_path) as made:
        made.run(ddl.create_statements(house, BOTH, DAYS), tmp_path)
        made.run(insert_statements(store.db, store.org, house, BOTH), tmp_path)
        wanted = "source_namespace, source_name, target_namespace, target_name, job_namespace, job_name, runs"
        assert made.rows(f"SELECT {wanted} FROM v_dataset_lineage") == [("db", "a", "db", "b", "jobs", "make_b", 2)]
        wanted = "source_dataset, source_field, target_dataset, target_field, job_namespace, job_name"
        assert made.rows(f"SELECT {wanted} FROM v_column_lineage") == [("a", "x", "b", "x", "jobs", "make_b")]
        edges = set(made.rows("SELECT source_name, target_name, edge_role FROM v_lineage_edge"))
        assert {("db/a", "jobs/plan"), ("jobs/plan", "db/c")} <= {edge[:2] for edge in edges}, edges
