"""`schema ddl` and `export --sql`."""

import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from bridge.store.sqlite import SqliteDatabase
from connectors.errors import ConfigError
from tests.api.service import create_store_file
from tests.factories import dataset, run_event
from tests.stores import Store

DDL = "schema ddl --dialect sqlite"
SQL = "export --sql --dialect sqlite"


def run(folder: Path, args: str) -> Result:
    path = folder / "store.db"
    environment = {"LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{path}"}
    return CliRunner(env=environment).invoke(app, args.split(), catch_exceptions=False)


@pytest.mark.parametrize(
    ("options", "tables", "table"),
    [
        ("", 11, "dataset"),
        (" -o", 20, "ol_dataset"),
        (" --openlineage", 20, "dataset"),
        (" --openlineage-only", 9, "ol_dataset"),
    ],
)
def test_printed_scripts_create_and_load_a_warehouse(tmp_path: Path, options: str, tables: int, table: str) -> None:
    db = SqliteDatabase.for_writing(create_store_file(tmp_path))
    Store(db=db).apply(run_event(outputs=[dataset("it's \\ ü")]))
    db.close()
    database = sqlite3.connect(":memory:")
    for args in (DDL + options, SQL + options):
        database.executescript(run(tmp_path, args).stdout)
    count = database.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()
    names = database.execute(f"SELECT name FROM {table}").fetchall()
    database.executescript(run(tmp_path, DDL + options + " --drop").stdout)
    remaining = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    database.close()
    assert (count, names, remaining) == ((tables,), [("it's \\ ü",)], (0,))


def test_partitions_of_given_days(tmp_path: Path) -> None:
    printed = run(tmp_path, "schema ddl --dialect postgresql --from-day 2024-02-28 --to-day 2024-03-01").stdout
    days = [line.split()[2] for line in printed.splitlines() if "PARTITION OF RUN_EVENT FOR" in line]
    assert days == [f"RUN_EVENT_{day}" for day in ("20240228", "20240229", "20240301")]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("schema ddl", "--dialect"),
        ("schema ddl --dialect oracle", "oracle"),
        (DDL + " --from-day yesterday", "yesterday"),
        ("export", "specify exactly one of --canonical, --sql and --events"),
        ("export --sql", "--sql requires --dialect"),
        ("export --sql --canonical --dialect sqlite", "specify exactly one of --canonical, --sql and --events"),
        ("export --canonical --dialect sqlite", "--dialect, --openlineage and --openlineage-only require --sql"),
        ("export --canonical -o", "--dialect, --openlineage and --openlineage-only require --sql"),
    ],
)
def test_invalid_options_are_rejected(tmp_path: Path, args: str, message: str) -> None:
    result = run(tmp_path, args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("args", [DDL + " -o --openlineage-only", DDL + " --from-day 2026-02-01 --to-day 2026-01-01"])
def test_conflicting_options_are_rejected(tmp_path: Path, args: str) -> None:
    with pytest.raises(ConfigError, match=r"exclude each other|swap them"):
        run(tmp_path, args)
