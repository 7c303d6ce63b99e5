"""PostgreSQL stores: partitions, lost connections and server errors."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest
from psycopg import errors as pg

from bridge.errors import (
    IncompatibleStore,
    StorageFailure,
    StoreBusy,
    StoreFull,
    StoreLocked,
    StoreUnreachable,
    UnstorableRow,
)  # fmt: skip
from bridge.store import migrations, postgres
from bridge.store.dialect import POSTGRES
from bridge.store.partitions import create_partitions
from bridge.store.postgres import PostgresDatabase, translate_error
from bridge.store.schema import upgrade_postgres
from bridge.store.tables import metadata
from bridge.store.views import view_queries
from bridge.store.writer import Writer
from tests.factories import run_event
from tests.postgres import server
from tests.stores import Store

pytestmark = pytest.mark.system("postgres")

PARTITION_OF = "SELECT tableoid::regclass::text FROM run_event"


@pytest.fixture
def url() -> str:
    return server().new_database(f"test_{secrets.token_hex(4)}")


@pytest.fixture
def fresh(url: str) -> Iterator[Store]:
    upgrade_postgres(url, "fresh")
    with closing(PostgresDatabase(url, writing=True)) as db:
        yield Store(db=db)


def test_migrated_store_has_declared_columns_and_keys(fresh: Store) -> None:
    for table in metadata.sorted_tables:
        assert set(fresh.db.column_names(table.name)) == {column.name for column in table.columns}, table.name
    keys = dict(
        fresh.rows(
            "SELECT i.indrelid::regclass::text, string_agg(a.attname, ',' ORDER BY k.rn) FROM pg_index i"
            " CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (number, rn)"
            " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number"
            " WHERE i.indisprimary GROUP BY 1"
        )
    )
    for table in metadata.sorted_tables:
        if table.name != "run_event":
            assert keys[table.name] == ",".join(column.name for column in table.primary_key.columns)


@pytest.mark.parametrize("view", view_queries(POSTGRES))
def test_every_view_is_readable(postgres_store: Store, view: str) -> None:
    assert postgres_store.rows(f"SELECT * FROM {view}") == []


def test_concurrent_upgrades_create_one_store(url: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda _: upgrade_postgres(url, "together"), range(6)))
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(migrations.HEAD,)]
        assert connection.execute("SELECT count(*) FROM ol_schema_version").fetchone() == (1,)


def test_newer_store_is_rejected_with_reason(fresh: Store, url: str) -> None:
    fresh.db.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(IncompatibleStore, match=rf"version 9999.*supports up to {migrations.HEAD}"):
        upgrade_postgres(url, "newer")


def test_events_are_stored_in_partition_of_their_day_or_default(fresh: Store) -> None:
    fresh.apply(run_event(run=1))
    assert fresh.value(PARTITION_OF) == "run_event_default"
    fresh.db.execute("DELETE FROM run_event")
    with psycopg.connect(fresh.db._url) as driver:  # type: ignore[attr-defined]
        create_partitions(driver, 20_454)  # 2026-01-01, the day of the tests' events
    fresh.apply(run_event(run=1))
    assert fresh.value(PARTITION_OF) == "run_event_20260101"


def test_day_with_stored_events_gets_no_partition(fresh: Store) -> None:
    fresh.apply(run_event(run=1))
    with psycopg.connect(fresh.db._url) as driver:  # type: ignore[attr-defined]
        create_partitions(driver, 20_454)
    fresh.apply(run_event(run=1), run_event(run=2))
    assert fresh.rows("SELECT tableoid::regclass::text, receipts FROM run_event ORDER BY receipts") == [
        ("run_event_default", 1),
        ("run_event_default", 2),
    ]


def test_writer_creates_partitions_for_coming_days(fresh: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "today", lambda: 20_454)
    fresh.apply(run_event(run=1))
    assert fresh.value(PARTITION_OF) == "run_event_20260101"


def test_lost_connection_is_reopened_for_next_group(fresh: Store, url: str) -> None:
    fresh.apply(run_event(run=1))
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lineage-bridge' AND datname = current_database()"
        )
    with pytest.raises(StoreUnreachable, match="does not respond"):
        fresh.apply(run_event(run=2))
    fresh.apply(run_event(run=2), run_event(run=3))
    assert fresh.value("SELECT count(*) FROM run_event") == 3


def test_group_is_retried_after_lock_conflicts(fresh: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = iter([StoreBusy("deadlock"), StoreBusy("deadlock"), None])
    stage = Writer._stage

    def fail_twice(*args: object) -> object:
        if (error := next(outcomes)) is not None:
            raise error
        return stage(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "_stage", fail_twice)
    fresh.apply(run_event(run=1))
    assert fresh.value("SELECT count(*) FROM run_event") == 1


def test_lock_timeout_is_not_retried(fresh: Store, url: str) -> None:
    fresh.apply(run_event(run=1))
    fresh.db.set_lock_timeout(0.01)
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE ol_job")
        with pytest.raises(StoreLocked):
            fresh.apply(run_event(run=2))
    fresh.apply(run_event(run=2))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (pg.DeadlockDetected(), StoreBusy),
        (pg.SerializationFailure(), StoreBusy),
        (pg.LockNotAvailable(), StoreLocked),
        (pg.DiskFull(), StoreFull),
        (pg.TooManyConnections(), StoreFull),
        (pg.NumericValueOutOfRange(), UnstorableRow),
        (pg.UntranslatableCharacter(), UnstorableRow),
        (pg.CheckViolation(), UnstorableRow),
        (pg.ProgramLimitExceeded(), UnstorableRow),
        (pg.AdminShutdown(), StoreUnreachable),
        (pg.ReadOnlySqlTransaction(), StoreUnreachable),
        (psycopg.OperationalError("server closed the connection"), StoreUnreachable),
        (pg.DataCorrupted(), StorageFailure),
        (pg.InternalError_(), StorageFailure),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_server_errors_are_translated(error: Exception, expected: type[Exception]) -> None:
    assert type(translate_error(error)) is expected


def test_stalled_session_that_blocks_others_is_terminated() -> None:
    url = server().new_database("still")
    upgrade_postgres(url, "still")
    insert = "INSERT INTO store_meta (name, value) VALUES ('still', ?1)"
    terminated = 0

    def stall() -> None:
        nonlocal terminated
        with stalled.transaction():
            stalled.execute(insert, "standing")
            stalled.fetch_all("SELECT 1")  # the server has executed it by now, so that later writers wait
            stalled.lock_rows("SELECT 1 FROM store_meta WHERE name = 'still'")
            blocked = pool.submit(other.execute, insert, "of another")
            while terminated == 0:
                terminated = monitor.terminate_stalled_sessions(0.2)
            blocked.result()
            stalled.fetch_all("SELECT 1")

    with (
        closing(PostgresDatabase(url, writing=True)) as stalled,
        closing(PostgresDatabase(url, writing=True)) as other,
        closing(PostgresDatabase(url, writing=True)) as monitor,
        ThreadPoolExecutor(1) as pool,
    ):
        with pytest.raises(StoreUnreachable):
            stall()
        assert terminated == 1
        with stalled.transaction():
            assert stalled.fetch_all("SELECT value FROM store_meta WHERE name = 'still'") == [("of another",)]
