"""Brings a store to the schema of this code, or says why it cannot."""

import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.store.migrations import HEAD
from bridge.store.views import VIEWS
from mappers.errors import StoreMismatch

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: What the query planner is told: rows a table, and rows that match the second, third … column of a key.
_ROWS = 1_000_000
_MATCHES = (8, 4, 2)

SPEC_VERSION = "2-0-2"


def store_version(connection: sqlite3.Connection) -> str | None:
    """Tell which migration a store was last brought to; None for an empty store."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "alembic_version" not in tables:
        if tables - {"sqlite_sequence"}:
            raise StoreMismatch("the file is a database, but not one of lineage-bridge: choose another store.url")
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return row[0] if row else None


def prepare(path: Path) -> None:
    """Create the store or bring it up to this code's version; refuse one that is newer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=30)
    try:
        if store_version(connection) == HEAD:
            return
    finally:
        connection.close()
    _migrate(path)


def _migrate(path: Path) -> None:
    import sqlalchemy as sa  # noqa: PLC0415 - a store that is up to date starts without it
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    url = sa.URL.create("sqlite", database=str(path))
    with sa.create_engine(url, connect_args={"timeout": 30}, poolclass=sa.NullPool).connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        found = store_version(connection.connection.driver_connection)  # type: ignore[arg-type]  # it is sqlite3's
        if found is not None and found not in known:
            raise StoreMismatch(
                f"the store {path} is at version {found}, this lineage-bridge knows up to {HEAD}: "
                "use the newer lineage-bridge, or another store.url"
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        _make_views(connection)
        _teach_planner(connection)
        connection.execute(
            sa.text(
                "INSERT INTO ol_schema_version VALUES (:id, :spec, :head, :now, 'lineage-bridge store')"
                " ON CONFLICT (version_id) DO NOTHING"
            ),
            {"id": int(HEAD), "spec": SPEC_VERSION, "head": HEAD, "now": time.time_ns() // 1000},
        )
        connection.commit()


def _make_views(connection: "Connection") -> None:
    for name in reversed(VIEWS):
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")
    for name, query in VIEWS.items():
        connection.exec_driver_sql(f"CREATE VIEW {name} AS {query}")


def _teach_planner(connection: "Connection") -> None:
    """Tell SQLite that nearly all rows share their org_id.

    Without figures it takes the first column of a key for selective, and reads a whole table where an
    index would lead it to three rows.
    """
    from bridge.store.tables import metadata  # noqa: PLC0415 - a store that is up to date starts without it

    connection.exec_driver_sql("ANALYZE")
    connection.exec_driver_sql("DELETE FROM sqlite_stat1")
    for table in metadata.sorted_tables:
        with_rowid = table.dialect_options["sqlite"]["with_rowid"]
        primary = f"sqlite_autoindex_{table.name}_1" if with_rowid else table.name
        keys = {primary: [*table.primary_key.columns]}
        keys |= {str(index.name): [*index.columns] for index in table.indexes}
        for name, columns in keys.items():
            if columns[0].name == "org_id":
                figures = [_ROWS, _ROWS, *_MATCHES[: len(columns) - 2]][: len(columns) + 1]
                figures += [1] * (len(columns) + 1 - len(figures))
                connection.exec_driver_sql(
                    "INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", (table.name, name, " ".join(map(str, figures)))
                )
