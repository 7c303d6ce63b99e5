"""What only a PostgreSQL store has: partitions, connections that are lost, servers that say no."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest
from psycopg import errors as pg

from bridge.errors import IncompatibleStore, StorageFailure, StoreBusy, StoreFull, StoreUnreachable, UnstorableRow
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


def test_a_migrated_store_has_exactly_the_declared_columns(fresh: Store) -> None:
    for table in metadata.sorted_tables:
        assert set(fresh.db.column_names(table.name)) == {column.name for column in table.columns}, table.name
    keys = dict(
        fresh.rows(
            "SELECT i.indrelid::regclass::text, string_agg(a.attname, ',' ORDER BY k.place) FROM pg_index i"
            " CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (number, place)"
            " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number"
            " WHERE i.indisprimary GROUP BY 1"
        )
    )
    for table in metadata.sorted_tables:
        if table.name != "run_event":
            assert keys[table.name] == ",".join(column.name for column in table.primary_key.columns)


@pytest.mark.parametrize("view", view_queries(POSTGRES))
def test_every_view_can_be_read(postgres_store: Store, view: str) -> None:
    assert postgres_store.rows(f"SELECT * FROM {view}") == []


def test_daemons_that_start_together_make_one_store(url: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda _: upgrade_postgres(url, "together"), range(6)))
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(migrations.HEAD,)]
        assert connection.execute("SELECT count(*) FROM ol_schema_version").fetchone() == (1,)


def test_a_newer_store_is_refused_with_the_reason(fresh: Store, url: str) -> None:
    fresh.db.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(IncompatibleStore, match=rf"version 9999.*supports up to {migrations.HEAD}"):
        upgrade_postgres(url, "newer")


def test_events_lie_in_the_partition_of_their_day_and_others_in_the_one_by_default(fresh: Store) -> None:
    fresh.apply(run_event(run=1))
    assert fresh.value(PARTITION_OF) == "run_event_default"
    fresh.db.execute("DELETE FROM run_event")
    with psycopg.connect(fresh.db._url) as driver:  # type: ignore[attr-defined]
        create_partitions(driver, 20_454)  # 2026-01-01, the day of the tests' events
    fresh.apply(run_event(run=1))
    assert fresh.value(PARTITION_OF) == "run_event_20260101"


def test_a_day_whose_events_came_first_goes_without_a_partition(fresh: Store) -> None:
    fresh.apply(run_event(run=1))
    with psycopg.connect(fresh.db._url) as driver:  # type: ignore[attr-defined]
        create_partitions(driver, 20_454)
    fresh.apply(run_event(run=1), run_event(run=2))
    assert fresh.rows("SELECT tableoid::regclass::text, receipts FROM run_event ORDER BY receipts") == [
        ("run_event_default", 1),
        ("run_event_default", 2),
    ]


def test_a_daemon_makes_partitions_for_the_days_it_lives_to_see(
    fresh: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "today", lambda: 20_454)
    fresh.apply(run_event(run=1))
    assert fresh.value(PARTITION_OF) == "run_event_20260101"


def test_a_lost_connection_is_made_anew_for_the_next_group(fresh: Store, url: str) -> None:
    fresh.apply(run_event(run=1))
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lineage-bridge' AND datname = current_database()"
        )
    with pytest.raises(StoreUnreachable, match="does not respond"):
        fresh.apply(run_event(run=2))
    fresh.apply(run_event(run=2), run_event(run=3))
    assert fresh.value("SELECT count(*) FROM run_event") == 3


def test_a_group_that_others_stand_in_the_way_of_is_tried_again(
    fresh: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = iter([StoreBusy("deadlock"), StoreBusy("deadlock"), None])
    stage = Writer._stage

    def sometimes(*what: object) -> object:
        if (error := next(commits)) is not None:
            raise error
        return stage(*what)  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "_stage", sometimes)
    fresh.apply(run_event(run=1))
    assert fresh.value("SELECT count(*) FROM run_event") == 1


def test_a_store_whose_lock_is_never_free_is_busy(fresh: Store, url: str) -> None:
    fresh.apply(run_event(run=1))
    fresh.db.set_lock_timeout(0.01)
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE ol_job")
        with pytest.raises(StoreBusy):
            fresh.apply(run_event(run=2))
    fresh.apply(run_event(run=2))


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (pg.DeadlockDetected(), StoreBusy),
        (pg.SerializationFailure(), StoreBusy),
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
def test_every_error_has_one_meaning(error: Exception, meaning: type[Exception]) -> None:
    assert type(translate_error(error)) is meaning


def test_who_stands_still_in_a_transaction_and_holds_up_others_is_ended() -> None:
    url = server().new_database("still")
    upgrade_postgres(url, "still")
    put = "INSERT INTO store_meta (name, value) VALUES ('still', ?1)"
    ended = 0

    def stand_still() -> None:
        nonlocal ended
        with held.transaction():
            held.execute(put, "standing")
            held.fetch_all("SELECT 1")  # by now the server has it, and who comes later waits
            held.lock_rows("SELECT 1 FROM store_meta WHERE name = 'still'")
            waiting = pool.submit(other.execute, put, "of another")
            while ended == 0:
                ended = third.terminate_stalled_sessions(0.2)
            waiting.result()
            held.fetch_all("SELECT 1")

    with (
        closing(PostgresDatabase(url, writing=True)) as held,
        closing(PostgresDatabase(url, writing=True)) as other,
        closing(PostgresDatabase(url, writing=True)) as third,
        ThreadPoolExecutor(1) as pool,
    ):
        with pytest.raises(StoreUnreachable):
            stand_still()
        assert ended == 1
        with held.transaction():
            assert held.fetch_all("SELECT value FROM store_meta WHERE name = 'still'") == [("of another",)]
