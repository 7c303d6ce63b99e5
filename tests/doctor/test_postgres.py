"""Checks of stores on PostgreSQL."""

import secrets
import time
from contextlib import closing

import psycopg
import pytest

from bridge.doctor import clock, software, storage, store
from bridge.store.database import Database
from bridge.store.partitions import today
from bridge.store.postgres import PostgresDatabase
from bridge.store.schema import upgrade_postgres
from tests.doctor.test_checks import finding_lines
from tests.doctor.test_runner import SUBJECTS, doctor, findings
from tests.postgres import server
from tests.stores import Store

pytestmark = pytest.mark.system("postgres")


@pytest.fixture
def url() -> str:
    return server().new_database(f"test_{secrets.token_hex(4)}")


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def test_sound_store_on_server_without_fsync(url: str) -> None:
    upgrade_postgres(url, "doctor")
    result = doctor(url)
    assert set(findings(result)) == SUBJECTS - {"disk"} | {"partitions"}
    assert findings(result, "error") == {
        "store": "".join(
            f"the database server runs with {name} = off: set it to on and restart the server:"
            " until then, acknowledged events can be lost\n"
            for name in ("fsync", "full_page_writes")
        )
    }
    assert "the event log has partitions for 7 days ahead" in findings(result)["partitions"]
    assert "agrees with the database server's" in findings(result)["clock"]
    assert result.stdout.endswith("every received event is accounted for\n")


@pytest.mark.parametrize(
    ("version", "level", "message"),
    [(None, "warning", "no tables yet"), ("9999", "error", "is at version 9999")],
)
def test_store_of_other_version_is_not_changed(url: str, version: str | None, level: str, message: str) -> None:
    if version:
        upgrade_postgres(url, "doctor")
        execute(url, f"UPDATE alembic_version SET version_num = '{version}'")
    tables = "SELECT count(*), max(relname) FROM pg_class"
    with psycopg.connect(url) as connection:
        before = connection.execute(tables).fetchall()
        result = doctor(url)
        assert message in findings(result, level)["schema"]
        assert connection.execute(tables).fetchall() == before


def test_unreachable_server_is_an_error_without_password() -> None:
    result = doctor("postgresql://me:hunter2@127.0.0.1:1/x")
    assert (result.exit_code, "does not respond" in findings(result, "error")["store"]) == (1, True)
    assert "hunter2" not in result.output


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("REVOKE CREATE ON SCHEMA public FROM PUBLIC", "{role} cannot create tables in public: GRANT USAGE, CREATE"),
        ("ALTER ROLE {role} SET search_path = 'nowhere'", "no schema of the search_path nowhere exists"),
        ("ALTER ROLE {role} SET default_transaction_read_only = on", "the server is read-only"),
        ("GRANT CREATE ON SCHEMA public TO PUBLIC", "{role} does not own run_event: ALTER TABLE … OWNER TO {role}"),
    ],
)
def test_missing_privileges_are_reported(url: str, statement: str, message: str) -> None:
    role = f"role_{secrets.token_hex(4)}"
    upgrade_postgres(url, "doctor")
    execute(url, f"CREATE ROLE {role} LOGIN", statement.format(role=role))
    with closing(PostgresDatabase(url.replace("//tests@", f"//{role}@"), writing=False)) as db:
        lines = finding_lines(storage.check_database_role(db))
    assert any(line.startswith(f"error: permissions: {message.format(role=role)}") for line in lines), lines


def test_missing_partition_for_tomorrow_is_a_warning(url: str) -> None:
    upgrade_postgres(url, "doctor")
    with closing(PostgresDatabase(url, writing=False)) as db:
        (in_3_days,), (in_7_days,) = (store.check_partitions(db, today() + days) for days in (3, 7))
    assert (in_3_days.level, "for 4 days ahead" in in_3_days.message) == ("ok", True)
    assert (in_7_days.level, "no partition for tomorrow" in in_7_days.message) == ("warning", True)


@pytest.mark.parametrize(("offset", "level"), [(0, "ok"), (-4, "ok"), (60, "warning"), (-60, "warning")])
def test_clock_difference_to_server_is_a_warning(postgres_store: Store, offset: float, level: str) -> None:
    (finding,) = clock.check_server_clock(postgres_store.db, now=lambda: time.time() + offset)
    assert finding.level == level


@pytest.mark.parametrize(("number", "level"), [(13, "error"), (14, "ok")])
def test_old_server_is_an_error(number: int, level: str) -> None:
    class OldServer(PostgresDatabase):
        def __init__(self) -> None:
            self.version = f"PostgreSQL {number}"

    database: Database = OldServer()
    assert [finding.level for finding in software.check_database_version(database)] == [level]
