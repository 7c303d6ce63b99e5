"""The schema: migrations create what the code declares; newer and foreign databases are rejected."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from bridge.errors import IncompatibleStore
from bridge.store import migrations, schema
from bridge.store.dialect import SQLITE
from bridge.store.tables import metadata
from bridge.store.views import view_queries
from tests.stores import empty_store

SEED = {
    "ol_namespace": "namespace_id namespace_uri description spec_version created_at",
    "ol_dataset": "dataset_id namespace_id name description source_type created_at updated_at is_active",
    "ol_dataset_field": "field_id dataset_id field_name field_type field_description ordinal_position nullable created_at",
    "ol_job": "job_id namespace_id name description job_type created_at updated_at",
    "ol_run": "run_id job_id event_type event_time nominal_start_time nominal_end_time producer schema_url created_at",
    "ol_run_input": "run_id dataset_id",
    "ol_run_output": "run_id dataset_id",
    "ol_column_lineage": (
        "lineage_id run_id source_namespace source_dataset source_field target_namespace target_dataset target_field"
        " transformation_type transformation_subtype transformation_description masking confidence_score discovered_at"
        " is_active"
    ),
    "ol_schema_version": "version_id openlineage_spec_version schema_version applied_at description",
    "dataset_version": "version_tag path row_count checksum schema_hash produced_by_run_id produced_at metadata_json",
    "dataset_schema": "dataset_id schema_hash columns_json",
    "lineage_edge": "source_type source_id target_type target_id edge_role transform_meta evidence first_seen last_seen",
    "run_event": "payload run_id process_key event_type received_at source historical notes_json event_hash",
    "sla": "sla_id name description sla_window_sec escalation_json created_at",
    "quality_check_def": "qdef_id dataset_id name sql_expression expected_result created_at",
    "quality_check_result": "qres_id qdef_id dataset_version_id executed_at status detail_json",
    "dataset_registration": "reg_id dataset_id submitted_by submitted_at status reviewer review_comment",
    "dataset": (
        "dataset_id namespace name full_name description default_format owner_team owner_email default_sla_id status"
        " created_by created_at updated_at"
    ),
    "process": "process_id process_key name description technology team owner_email trigger_mode created_at updated_at",
    "process_run": (
        "run_id run_uuid process_id start_ts end_ts status attempt parent_run_uuid log_location facets_json created_at"
    ),
}


def describe_schema(connection: sqlite3.Connection) -> dict[str, object]:
    """Describe tables and indexes as SQLite parses them, whatever the text of their DDL."""
    description: dict[str, object] = {}
    names = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'alembic%' AND name NOT LIKE 'sqlite%'"
    )
    for name, ddl in names.fetchall():
        columns = connection.execute(
            'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)', (name,)
        )
        description[name] = (columns.fetchall(), "WITHOUT ROWID" in ddl, "AUTOINCREMENT" in ddl)
    indexes = connection.execute("SELECT name, tbl_name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    for name, table in indexes.fetchall():
        index_columns = [column for (column,) in connection.execute("SELECT name FROM pragma_index_info(?)", (name,))]
        unique = connection.execute(
            'SELECT "unique", partial FROM pragma_index_list(?) WHERE name = ?', (table, name)
        )
        description[f"index {name}"] = (table, index_columns, unique.fetchall())
    return description


def test_migrated_store_has_declared_schema(tmp_path: Path) -> None:
    migrated, declared = tmp_path / "migrated.db", tmp_path / "declared.db"
    schema.upgrade_sqlite(migrated)
    engine = sa.create_engine(f"sqlite:///{declared}")
    metadata.create_all(engine)
    engine.dispose()
    schemas = []
    for path in (migrated, declared):
        connection = sqlite3.connect(path)
        schemas.append(describe_schema(connection))
        connection.close()
    assert schemas[0] == schemas[1]


def test_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_current_head() == migrations.HEAD


@pytest.mark.parametrize("table", SEED)
def test_columns_of_seed_models_exist(table: str) -> None:
    connection = empty_store()
    columns = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
    connection.close()
    assert set(SEED[table].split()) <= columns
    assert table == "ol_schema_version" or "org_id" in columns


@pytest.mark.parametrize("view", view_queries(SQLITE))
def test_every_view_is_readable(view: str) -> None:
    connection = empty_store()
    assert connection.execute(f"SELECT * FROM {view}").fetchall() == []
    connection.close()


def test_second_upgrade_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for _ in range(2):
        schema.upgrade_sqlite(path)
    connection = sqlite3.connect(path)
    assert connection.execute(
        "SELECT openlineage_spec_version, schema_version FROM ol_schema_version"
    ).fetchall() == [("2-0-2", migrations.HEAD)]
    connection.close()


@contextmanager
def store_at_revision(path: Path, revision: str) -> Iterator[sa.Connection]:
    """Create a store of an earlier version, and open a transaction on it."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as sa_connection:
        config.attributes["connection"] = sa_connection
        command.upgrade(config, revision)
        yield sa_connection
    engine.dispose()


def test_upgrade_from_released_version_keeps_data(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with store_at_revision(path, "0003") as sa_connection:
        sa_connection.exec_driver_sql("INSERT INTO sync_target (org_id, target, enabled_at) VALUES ('o', 't', 7)")
    schema.upgrade_sqlite(path)
    with closing(sqlite3.connect(path)) as connection:
        assert schema.sqlite_schema_version(connection) == migrations.HEAD
        assert connection.execute("SELECT org_id, target, enabled_at FROM sync_target").fetchall() == [("o", "t", 7)]
        assert connection.execute("SELECT * FROM sync_comparison, sync_call").fetchall() == []


def test_upgrade_marks_profiles_of_actions(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with store_at_revision(path, "0011") as sa_connection:
        sa_connection.exec_driver_sql("INSERT INTO sync_target (org_id, target, enabled_at) VALUES ('o', 't', 7)")
        for run, parent in ((b"action", b"app"), (b"job", None)):
            sa_connection.exec_driver_sql(
                "INSERT INTO ol_run (org_id, run_id, run_uuid, claim_order, job_id, created_at, updated_at, parent_run_id,"
                " explicit) VALUES ('o', ?, '', x'', x'', 0, 0, ?, FALSE)",
                (run, parent),
            )
            sa_connection.exec_driver_sql(
                "INSERT INTO sync_item (org_id, target, kind, key, marked, since, due_at)"
                " VALUES ('o', 't', 'profile', ?, 1, 1, 1)",
                (b"d" * 16 + run,),
            )
    schema.upgrade_sqlite(path)
    with closing(sqlite3.connect(path)) as connection:
        marks = connection.execute("SELECT target, kind, key FROM dirty_mark").fetchall()
    assert marks == [("t", "profile", b"d" * 16 + b"action")]


def test_newer_store_is_rejected_with_reason(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    schema.upgrade_sqlite(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(IncompatibleStore, match=rf"version 9999.*supports up to {migrations.HEAD}"):
        schema.upgrade_sqlite(path)


def test_database_of_another_application_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(IncompatibleStore, match="a database of another application"):
        schema.upgrade_sqlite(path)
