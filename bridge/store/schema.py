"""Creates and upgrades the schema; rejects stores of a newer version."""

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.clock import now_micros
from bridge.errors import IncompatibleStore
from bridge.store.database import Database
from bridge.store.dialect import POSTGRES, SQLITE, Dialect
from bridge.store.migrations import HEAD
from bridge.store.partitions import SCHEMA_LOCK, create_partitions, today
from bridge.store.search.triggers import create_triggers
from bridge.store.sqlite import SqliteDatabase
from bridge.store.views import view_queries

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

SPEC_VERSION = "2-0-2"

_EXISTS = "SELECT to_regclass('alembic_version') IS NOT NULL"
_VERSION = "SELECT version_num FROM alembic_version"
_MIGRATIONS = Path(__file__).parent / "migrations"


def sqlite_schema_version(connection: sqlite3.Connection) -> str | None:
    """Return the last migration of a SQLite store, or None if the store is empty."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "alembic_version" not in tables:
        if tables - {"sqlite_sequence"}:
            raise IncompatibleStore("the file is a database of another application: choose another store.url")
        return None
    return next((version for (version,) in connection.execute(_VERSION).fetchall()), None)


def schema_version(db: Database) -> str | None:
    """Return the last migration of an open store, without upgrading it."""
    if isinstance(db, SqliteDatabase):
        return sqlite_schema_version(db.connection)
    ((exists,),) = db.fetch_all(_EXISTS)
    rows = db.fetch_all(_VERSION) if exists else []
    return next((version for (version,) in rows), None)


def upgrade_sqlite(path: Path) -> None:
    """Create the store or upgrade its schema. Raises IncompatibleStore if the store's schema is newer."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)  # not readable by other users: facets may contain secrets
    connection = sqlite3.connect(path, timeout=30)
    try:
        if sqlite_schema_version(connection) == HEAD:
            return
    finally:
        connection.close()
    import sqlalchemy as sa  # noqa: PLC0415 - not needed if the store is up to date

    url = sa.URL.create("sqlite", database=str(path))
    engine = sa.create_engine(url, connect_args={"timeout": 30}, poolclass=sa.NullPool)
    with engine.connect() as sa_connection:
        sa_connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        sa_connection.exec_driver_sql("BEGIN IMMEDIATE")
        _migrate(sa_connection, sqlite_schema_version(_driver_connection(sa_connection)), str(path), SQLITE)
        sa_connection.commit()


def upgrade_postgres(url: str, name: str) -> None:
    """Create the store or upgrade its schema. Raises IncompatibleStore if the store's schema is newer.

    Also creates the partitions of the event log for the next days. Daemons that start at the same time wait for each
    other.
    """
    import psycopg  # noqa: PLC0415 - an optional dependency
    import sqlalchemy as sa  # noqa: PLC0415 - not needed by SQLite stores that are up to date

    engine: Engine = sa.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(url, connect_timeout=10), poolclass=sa.NullPool
    )
    with engine.connect() as sa_connection:
        driver = _driver_connection(sa_connection)
        driver.execute(f"SELECT pg_advisory_lock({SCHEMA_LOCK})")  # released when the connection closes
        (exists,) = driver.execute(_EXISTS).fetchone()
        (version,) = driver.execute(_VERSION).fetchone() if exists else (None,)
        if version != HEAD:
            _migrate(sa_connection, version, name, POSTGRES)
        create_partitions(driver, today())
        sa_connection.commit()


def supported_versions() -> set[str]:
    """List the schema versions that this code can upgrade, including its own."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - not needed if the store is up to date

    return {script.revision for script in ScriptDirectory(str(_MIGRATIONS)).walk_revisions()}


def _driver_connection(connection: "Connection") -> Any:
    """Unwrap the driver's own connection, which executes SQL unchanged."""
    return connection.connection.driver_connection


def _migrate(connection: "Connection", version: str | None, name: str, dialect: Dialect) -> None:
    """Run the missing migrations, and recreate all views and triggers. `name` is the store's name in errors."""
    import sqlalchemy as sa  # noqa: PLC0415 - not needed if the store is up to date
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    if version is not None and version not in supported_versions():
        raise IncompatibleStore(
            f"the store {name} is at version {version}, this lineage-bridge supports up to {HEAD}: "
            "upgrade lineage-bridge, or choose another store.url"
        )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    _create_views(_driver_connection(connection), view_queries(dialect))
    create_triggers(_driver_connection(connection), dialect)
    connection.execute(
        sa.text(
            "INSERT INTO ol_schema_version VALUES (:id, :spec, :head, :now, 'lineage-bridge store')"
            " ON CONFLICT (version_id) DO NOTHING"
        ),
        {"id": int(HEAD), "spec": SPEC_VERSION, "head": HEAD, "now": now_micros()},
    )


def _create_views(driver: Any, queries: dict[str, str]) -> None:
    """Recreate the views with these queries, which are ordered by dependency."""
    for name in reversed(queries):
        driver.execute(f"DROP VIEW IF EXISTS {name}")
    for name, query in queries.items():
        driver.execute(f"CREATE VIEW {name} AS {query}")
