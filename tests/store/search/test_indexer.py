"""The search index depends only on the content of the store, not on when and by whom it was built."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.errors import StoreLocked
from bridge.store import migrations
from bridge.store.database import Database
from bridge.store.postgres import PostgresDatabase
from bridge.store.schema import upgrade_sqlite
from bridge.store.search.indexer import SearchIndexer
from bridge.store.search.search import SearchCriteria, SearchResult, search
from bridge.store.sqlite import SqliteDatabase
from bridge.store.tables import metadata
from tests import factories as make
from tests.factories import Json, dataset, dataset_event, run_event
from tests.laws.strategies import NAMES, events
from tests.laws.test_convergence import CAPTURED, KINDS, captured
from tests.stores import Store, empty_postgres

QUERIES = (
    SearchCriteria("t"), SearchCriteria("text 1"), SearchCriteria("app"), SearchCriteria("k v"), SearchCriteria(type="dataset"), SearchCriteria(tag="tag1"),
    SearchCriteria(format="format2"), SearchCriteria(category="1"), SearchCriteria(owner="team 1", type="dataset"), SearchCriteria("a", namespace="d*"),
    *map(SearchCriteria, NAMES),
)  # fmt: skip


def entries(db: Database) -> list[tuple[Any, ...]]:
    return db.fetch_all("SELECT org_id, kind, id, sort_key, hit_json, words FROM search_entry ORDER BY id")


def search_all(db: Database) -> list[SearchResult]:
    """Run all queries, in pages of two."""
    results: list[SearchResult] = []
    for query in QUERIES:
        results.append(search(db, "default", query, 2))
        while results[-1].next is not None:
            results.append(search(db, "default", query, 2, results[-1].next))
    return results


def rebuild_entries(db: Database) -> list[tuple[Any, ...]]:
    indexer = SearchIndexer(db, "default")
    indexer.rebuild()
    indexer.index_all()
    return entries(db)


def index_incrementally(
    db: Database | None, arrivals: list[Json] | list[bytes], size: int
) -> tuple[list[Any], list[SearchResult]]:
    """Write events in groups and index after each; return the entries and the search results."""
    with Store(db=db) as store:
        indexer = SearchIndexer(store.db, store.org)
        for start in range(0, len(arrivals), size):
            store.apply(*arrivals[start : start + size])
            indexer.index_all()
        indexed, results = entries(store.db), search_all(store.db)
        assert store.rows("SELECT * FROM search_stale") == []
        assert indexed == rebuild_entries(store.db)
        assert results == search_all(store.db)
        return indexed, results


@pytest.mark.system("postgres")
@settings(max_examples=150)
@given(
    sent=st.lists(events, min_size=1, max_size=7), random=st.randoms(use_true_random=False), size=st.integers(1, 4)
)
def test_incremental_index_equals_rebuilt_index_on_both_stores(sent: list[Json], random: Random, size: int) -> None:
    expected = index_incrementally(None, sent, len(sent))
    arrivals = sent + random.choices(sent, k=len(sent) // 2)
    random.shuffle(arrivals)
    assert index_incrementally(None, arrivals, size) == expected
    assert index_incrementally(empty_postgres(), arrivals, size) == expected


def describe(second: int, name: str, **facets: Json) -> Json:
    return dataset_event(second, dataset(name, **facets))


TEXTS = {name: make.facet(description=f"text {name}") for name in "ab"}
FORMATS = {name: make.facet(fileFormat=f"format {name}") for name in "ab"}


@KINDS
@pytest.mark.parametrize(
    "changes",
    [
        [describe(second, name, documentation=TEXTS[name]) for second, name in enumerate("aba", 1)],
        [describe(second, name, storage=FORMATS[name]) for second, name in enumerate("bab", 1)],
        [describe(second, name, documentation=TEXTS[name]) for second, name in ((1, "a"), (3, "b"), (2, "a"), (4, "a"))],
        [describe(second, "a", schema=make.schema(column)) for second, column in enumerate("xyx", 1)],
        [describe(second, name, schema=make.schema(name)) for second, name in enumerate("abab", 1)],
        [describe(second, name, schema=make.schema(x=name)) for second, name in enumerate("aba", 1)],
        [describe(1, "a", schema=make.schema("x")), describe(2, "b", schema=make.DELETED), describe(3, "a", schema=make.schema("x"))],
        [describe(1, "a", schema=make.DELETED), describe(2, "a", schema=make.schema("x")), describe(3, "a", schema=make.DELETED)],
        [describe(1, "a", schema=make.DELETED), describe(3, "a", schema=make.DELETED), describe(2, "a", schema=make.schema("x"))],
    ],
)  # fmt: skip
def test_repeated_value_can_win_again(kind: str, changes: list[Json]) -> None:
    """The newest value of all names and schemas wins, although no row may change."""
    linked = describe(0, "b", symlinks=make.symlinks("a"))
    index_incrementally(empty_postgres() if kind == "postgres" else None, [linked, *changes], 1)


@KINDS
def test_index_of_spark_events_does_not_depend_on_order(kind: str) -> None:
    sent = [payload for name in CAPTURED for payload in captured(name)]
    expected = index_incrementally(None, sent, len(sent))
    Random(1).shuffle(sent)
    assert index_incrementally(empty_postgres() if kind == "postgres" else None, sent, 40) == expected
    assert len(expected[0]) > 50


def test_thousand_runs_of_one_job_queue_it_once(store: Store) -> None:
    def run(number: int) -> Json:
        facets = {
            "schema": make.schema("k"),
            "tags": make.facet(tags=[{"key": "pii"}]),
            "documentation": make.facet(description="x"),
            "storage": make.facet(fileFormat="parquet"),
            "symlinks": make.symlinks("also"),
        }
        tags = make.facet(tags=[{"key": "env", "value": str(number)}])
        return run_event(
            second=number / 100, run=number, job="j", inputs=[dataset("in", **facets)], outputs=[dataset("out", **facets)],
            run_facets={"tags": tags}, job_facets={"documentation": make.facet(description="y"), "jobType": make.spark_type()},
        )  # fmt: skip

    store.apply(run(0))
    queued = store.value("SELECT count(*) FROM search_stale")
    assert store.value("SELECT count(DISTINCT id) FROM search_stale") == 4
    for start in range(1, 1000, 111):
        store.apply(*map(run, range(start, start + 111)))
    assert store.value("SELECT count(*) FROM ol_run") == 1000
    assert store.value("SELECT count(*) FROM search_stale") == queued


@pytest.mark.parametrize(
    "change",
    [
        {"documentation": make.facet(description="new")},
        {"ownership": make.facet(owners=[{"name": "new", "type": "team"}])},
        {"ownership": make.facet(owners=[{"name": "somebody"}])},
        {"storage": make.facet(fileFormat="new")},
        {"tags": make.facet(tags=[{"key": "new"}])},
        {"schema": make.schema("new")},
        {"schema": make.schema(k="described")},
        {"schema": make.DELETED},
        {"lifecycleStateChange": make.lifecycle("DROP")},
        {"lineageBridge_registration": make.registration(category="new")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_changed_dataset_is_queued_but_repeated_event_is_not(store: Store, change: Json) -> None:
    indexer = SearchIndexer(store.db, store.org)
    store.apply(dataset_event(0, dataset("d", schema=make.schema("k"))))
    indexer.index_all()
    before = entries(store.db)
    store.apply(dataset_event(1, dataset("d", **change)))
    assert indexer.index_batch() > 0
    assert entries(store.db) != before
    store.apply(dataset_event(1, dataset("d", **change)))
    assert indexer.index_batch() == 0


def test_pending_changes_are_counted_and_batches_are_limited(store: Store) -> None:
    store.apply(*(dataset_event(0, dataset(f"d{i}")) for i in range(5)))
    assert search(store.db, store.org, SearchCriteria("d")).pending == 5
    indexer = SearchIndexer(store.db, store.org)
    assert [indexer.index_batch(2) for _ in range(4)] == [2, 2, 1, 0]
    assert search(store.db, store.org, SearchCriteria("d")).pending == 0
    assert len(search(store.db, store.org, SearchCriteria("d")).items) == 5


def test_rolled_back_group_queues_nothing(sqlite_store: Store) -> None:
    with sqlite_store.db.transaction(commit=False):
        sqlite_store.db.execute("INSERT INTO search_stale (org_id, id) VALUES ('default', x'00')")
    assert sqlite_store.rows("SELECT * FROM search_stale") == []


def test_export_excludes_search_index(store: Store) -> None:
    store.apply(dataset_event(0, dataset("d")))
    expected = store.export()
    SearchIndexer(store.db, store.org).index_all()
    assert store.export() == expected
    assert b"search" not in expected


@pytest.mark.system("postgres")
def test_concurrent_indexers_build_the_same_index_as_one_indexer(postgres_store: Store) -> None:
    assert isinstance(postgres_store.db, PostgresDatabase)
    url = postgres_store.db._url

    def index(_: int) -> int:
        indexed_count = 0
        with closing(PostgresDatabase(url, writing=True)) as db:
            indexer = SearchIndexer(db, "default")
            while not writing.done() or indexer.index_batch(1):
                indexed_count += indexer.index_batch(7)
        return indexed_count

    def write() -> None:
        for second in range(40):
            linked = {"symlinks": make.symlinks(f"d{second % 5}")} if second % 3 else {"symlinks": make.DELETED}
            documentation = make.facet(description=f"text {second}")
            postgres_store.apply(
                *(dataset_event(second, dataset(f"d{i}", documentation=documentation, **linked)) for i in range(8))
            )

    with ThreadPoolExecutor(4) as threads:
        writing = threads.submit(write)
        indexed_counts = list(threads.map(index, range(3)))
    writing.result()
    assert sum(indexed_counts) > 100
    indexed = entries(postgres_store.db)
    assert postgres_store.rows("SELECT * FROM search_stale") == []
    assert indexed == rebuild_entries(postgres_store.db)


@pytest.mark.system("postgres")
def test_indexers_work_one_at_a_time(postgres_store: Store) -> None:
    assert isinstance(postgres_store.db, PostgresDatabase)
    postgres_store.apply(dataset_event(0, dataset("d")))
    with closing(PostgresDatabase(postgres_store.db._url, writing=True)) as other:
        with other.transaction():
            other.lock("search of default")
            other.fetch_all(
                "SELECT 1"
            )  # statements without results are sent together with the next one that has results
            postgres_store.db.set_lock_timeout(0.05)
            with pytest.raises(StoreLocked):
                SearchIndexer(postgres_store.db, "default").index_batch()
        assert SearchIndexer(other, "default").index_batch() == 1
    postgres_store.db.set_lock_timeout(30)


def test_migrated_store_is_indexed_completely(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        tables_of_writer = ("sync_target", "oversized_group", "column_report", "column_head", "file_folder")
        for name in tables_of_writer:
            columns = ", ".join(column.name for column in metadata.tables[name].columns)
            connection.execute(f"CREATE TEMP TABLE {name} ({columns})")
        connection.execute("ALTER TABLE ol_dataset ADD COLUMN folded_into")
        Store(db=SqliteDatabase(connection)).apply(run_event(job="old job", outputs=[dataset("old")]))
        for name in tables_of_writer:
            connection.execute(f"DROP TABLE temp.{name}")
        connection.execute("ALTER TABLE ol_dataset DROP COLUMN folded_into")
    upgrade_sqlite(path)
    with closing(SqliteDatabase.for_background_writes(path)) as db:
        SearchIndexer(db, "default").index_all()
        assert [hit.name for hit in search(db, "default", SearchCriteria("old")).items] == ["old", "old job"]


def test_wide_dataset_is_found_by_each_column(store: Store) -> None:
    wide = dataset("wide", schema=make.schema(*(f"column_{i:05}" for i in range(10_000))))
    store.apply(dataset_event(0, wide))
    SearchIndexer(store.db, store.org).index_all()
    for number in (0, 5_000, 9_999):
        assert [hit.name for hit in search(store.db, store.org, SearchCriteria(f"column_{number:05}")).items] == [
            "wide"
        ]
