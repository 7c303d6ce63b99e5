"""Warehouse databases that run the printed scripts."""

import secrets
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bridge.warehouse.dialect import WarehouseDialect
from bridge.warehouse.partitions import DateRange
from tests.postgres import bin_folder, server

DAYS = DateRange(date(2026, 1, 1), date(2026, 1, 2))

#: Dialects with a database on this machine.
RUNNING_DIALECTS = pytest.mark.parametrize(
    "dialect",
    [WarehouseDialect.sqlite, pytest.param(WarehouseDialect.postgresql, marks=pytest.mark.system("postgres"))],
)
#: All dialects whose packages are installed.
ALL_DIALECTS = pytest.mark.parametrize(
    "dialect",
    [
        WarehouseDialect.sqlite,
        WarehouseDialect.postgresql,
        pytest.param(WarehouseDialect.db2, marks=pytest.mark.system("ibm_db_sa")),
        pytest.param(WarehouseDialect.teradata, marks=pytest.mark.system("teradatasqlalchemy")),
    ],
)


class Warehouse:
    """An empty database of a dialect, which runs scripts."""

    def __init__(self, url: str, connection: Any) -> None:
        self.url = url
        self._connection = connection

    def run(self, script: Iterable[str], folder: Path) -> None:
        """Run a script; on PostgreSQL with psql."""
        text = "".join(script)
        if isinstance(self._connection, sqlite3.Connection):
            self._connection.executescript(text)
            return
        file = folder / "script.sql"
        file.write_text(text, encoding="utf-8", newline="")
        programs = bin_folder()
        assert programs is not None
        completed = subprocess.run(
            [programs / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, self.url],
            capture_output=True, check=False,
        )  # fmt: skip
        assert (completed.returncode, completed.stderr) == (0, b""), completed.stderr.decode()[:2000]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(query).fetchall()


@contextmanager
def open_warehouse(dialect: WarehouseDialect, folder: Path) -> Iterator[Warehouse]:
    if dialect is WarehouseDialect.sqlite:
        path = folder / f"warehouse_{secrets.token_hex(4)}.db"
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            yield Warehouse(f"sqlite:///{path}", connection)
        connection.close()
        return
    url = server().new_database(f"warehouse_{secrets.token_hex(4)}")
    with psycopg.connect(url, autocommit=True) as connection:
        yield Warehouse(url, connection)
