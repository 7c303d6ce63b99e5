"""Brings a store to the schema of this code, or says why it cannot."""

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
_FOUND = "SELECT version_num FROM alembic_version"
_MIGRATIONS = Path(__file__).parent / "migrations"


def sqlite_schema_version(connection: sqlite3.Connection) -> str | None:
    """Tell which migration a store was last brought to; None for an empty store."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "alembic_version" not in tables:
        if tables - {"sqlite_sequence"}:
            raise IncompatibleStore("the file is a database, but not one of lineage-bridge: choose another store.url")
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return row[0] if row else None


def schema_version(db: Database) -> str | None:
    """Tell which migration an opened store was last brought to; it stays there."""
    if isinstance(db, SqliteDatabase):
        return sqlite_schema_version(db.connection)
    ((exists,),) = db.fetch_all(_EXISTS)
    return db.fetch_all(_FOUND)[0][0] if exists else None


def upgrade_sqlite(path: Path) -> None:
    """Create the store or bring it up to this code's version; refuse one that is newer."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)  # names of everything, and perhaps secrets in facets: nobody else's to read
    connection = sqlite3.connect(path, timeout=30)
    try:
        if sqlite_schema_version(connection) == HEAD:
            return
    finally:
        connection.close()
    import sqlalchemy as sa  # noqa: PLC0415 - a store that is up to date starts without it

    url = sa.URL.create("sqlite", database=str(path))
    engine = sa.create_engine(url, connect_args={"timeout": 30}, poolclass=sa.NullPool)
    with engine.connect() as connected:
        connected.exec_driver_sql("PRAGMA journal_mode=WAL")
        connected.exec_driver_sql("BEGIN IMMEDIATE")
        _migrate(connected, sqlite_schema_version(_driver(connected)), str(path), SQLITE)
        connected.commit()


def upgrade_postgres(url: str, name: str) -> None:
    """Create the store in its database or bring it up to this code's version; refuse one that is newer.

    Daemons that start together wait for each other. Partitions of the event log are made for the days ahead.
    """
    import psycopg  # noqa: PLC0415 - an extra: only who names such a store needs it
    import sqlalchemy as sa  # noqa: PLC0415 - as above

    engine: Engine = sa.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(url, connect_timeout=10), poolclass=sa.NullPool
    )
    with engine.connect() as connected:
        driver = _driver(connected)
        driver.execute(f"SELECT pg_advisory_lock({SCHEMA_LOCK})")  # until the connection is closed
        exists = driver.execute(_EXISTS).fetchone()[0]
        found = driver.execute(_FOUND).fetchone()[0] if exists else None
        if found != HEAD:
            _migrate(connected, found, name, POSTGRES)
        create_partitions(driver, today())
        connected.commit()


def supported_versions() -> set[str]:
    """Name the versions of stores that this code can bring up to date, and its own."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - a store that is up to date starts without it

    return {script.revision for script in ScriptDirectory(str(_MIGRATIONS)).walk_revisions()}


def _driver(connection: "Connection") -> Any:
    """Give the driver's own connection: it takes SQL as it is."""
    return connection.connection.driver_connection


def _migrate(connection: "Connection", found: str | None, name: str, dialect: Dialect) -> None:
    import sqlalchemy as sa  # noqa: PLC0415 - a store that is up to date starts without it
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    if found is not None and found not in supported_versions():
        raise IncompatibleStore(
            f"the store {name} is at version {found}, this lineage-bridge knows up to {HEAD}: "
            "use the newer lineage-bridge, or another store.url"
        )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    _make_views(_driver(connection), view_queries(dialect))
    create_triggers(_driver(connection), dialect)
    connection.execute(
        sa.text(
            "INSERT INTO ol_schema_version VALUES (:id, :spec, :head, :now, 'lineage-bridge store')"
            " ON CONFLICT (version_id) DO NOTHING"
        ),
        {"id": int(HEAD), "spec": SPEC_VERSION, "head": HEAD, "now": now_micros()},
    )


def _make_views(driver: Any, queries: dict[str, str]) -> None:
    for name in reversed(queries):
        driver.execute(f"DROP VIEW IF EXISTS {name}")
    for name, query in queries.items():
        driver.execute(f"CREATE VIEW {name} AS {query}")
