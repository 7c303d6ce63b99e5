"""What only a store on a PostgreSQL server can have wrong."""

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
from tests.doctor.test_checks import told
from tests.doctor.test_runner import THINGS, doctor, findings
from tests.postgres import server
from tests.stores import Store

pytestmark = pytest.mark.system("postgres")


@pytest.fixture
def url() -> str:
    return server().new_database(f"test_{secrets.token_hex(4)}")


def change(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_sound_store_is_called_so_but_for_a_server_that_does_not_flush(url: str) -> None:
    upgrade_postgres(url, "doctor")
    done = doctor(url)
    assert set(findings(done)) == THINGS - {"disk"} | {"partitions"}
    assert findings(done, "error") == {
        "store": "".join(
            f"the database server runs with {name} = off: set it to on and restart the server:"
            " until then, acknowledged events can be lost\n"
            for name in ("fsync", "full_page_writes")
        )
    }
    assert "the event log has partitions for 7 days ahead" in findings(done)["partitions"]
    assert "agrees with the database server's" in findings(done)["clock"]
    assert done.stdout.endswith("every received event is accounted for\n")


@pytest.mark.parametrize(
    ("version", "level", "said"),
    [(None, "warning", "no tables yet"), ("9999", "error", "is at version 9999")],
)
def test_a_store_of_another_version_stays_what_it_is(url: str, version: str | None, level: str, said: str) -> None:
    if version:
        upgrade_postgres(url, "doctor")
        change(url, f"UPDATE alembic_version SET version_num = '{version}'")
    tables = "SELECT count(*), max(relname) FROM pg_class"
    with psycopg.connect(url) as connection:
        before = connection.execute(tables).fetchall()
        done = doctor(url)
        assert said in findings(done, level)["schema"]
        assert connection.execute(tables).fetchall() == before


def test_a_server_that_does_not_answer_is_an_error_without_its_password() -> None:
    done = doctor("postgresql://me:hunter2@127.0.0.1:1/x")
    assert (done.exit_code, "does not respond" in findings(done, "error")["store"]) == (1, True)
    assert "hunter2" not in done.output


@pytest.mark.parametrize(
    ("change_first", "said"),
    [
        ("REVOKE CREATE ON SCHEMA public FROM PUBLIC", "{role} cannot create tables in public: GRANT USAGE, CREATE"),
        ("ALTER ROLE {role} SET search_path = 'nowhere'", "no schema of the search_path nowhere exists"),
        ("ALTER ROLE {role} SET default_transaction_read_only = on", "the server is read-only"),
        ("GRANT CREATE ON SCHEMA public TO PUBLIC", "{role} does not own run_event: ALTER TABLE … OWNER TO {role}"),
    ],
)
def test_what_a_role_may_not_do_is_told(url: str, change_first: str, said: str) -> None:
    role = f"role_{secrets.token_hex(4)}"
    upgrade_postgres(url, "doctor")
    change(url, f"CREATE ROLE {role} LOGIN", change_first.format(role=role))
    with closing(PostgresDatabase(url.replace("//tests@", f"//{role}@"), writing=False)) as db:
        found = told(storage.check_database_role(db))
    assert any(line.startswith(f"error: permissions: {said.format(role=role)}") for line in found), found


def test_a_missing_partition_for_tomorrow_is_told(url: str) -> None:
    upgrade_postgres(url, "doctor")
    with closing(PostgresDatabase(url, writing=False)) as db:
        (soon,), (late,) = (store.check_partitions(db, today() + days) for days in (3, 7))
    assert (soon.level, "for 4 days ahead" in soon.message) == ("ok", True)
    assert (late.level, "no partition for tomorrow" in late.message) == ("warning", True)


@pytest.mark.parametrize(("apart", "level"), [(0, "ok"), (-4, "ok"), (60, "warning"), (-60, "warning")])
def test_a_clock_apart_from_the_servers_is_told(postgres_store: Store, apart: float, level: str) -> None:
    (found,) = clock.check_server_clock(postgres_store.db, now=lambda: time.time() + apart)
    assert found.level == level


@pytest.mark.parametrize(("number", "level"), [(13, "error"), (14, "ok")])
def test_a_server_that_is_too_old_is_told(number: int, level: str) -> None:
    class Old(PostgresDatabase):
        def __init__(self) -> None:
            self.version = f"PostgreSQL {number}"

    old: Database = Old()
    assert [finding.level for finding in software.check_database_version(old)] == [level]
