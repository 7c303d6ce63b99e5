"""Datasets of 10,000 columns with column lineage: merged in seconds, with bounded caches."""

import gzip
import time
from pathlib import Path

import pytest

from mappers.cache import BoundedCache, bounded_lru_cache
from mappers.canonical.identity import bounded_key
from mappers.openlineage import column_lineage, schemas
from tests import factories as make
from tests.api.service import RunningService, settings_for
from tests.stores import Json, Store, as_bytes

WIDTH = 10_000
NAMES = [f"column_{number}" for number in range(WIDTH)]
SECONDS = 10.0
ACTIVE = "SELECT source_field, target_field FROM column_lineage WHERE is_active"
INACTIVE = "SELECT source_field, target_field FROM column_lineage WHERE NOT is_active"


def wide_event(run: int, *, changed: int | None = None, filtered: bool = False, width: int = WIDTH) -> Json:
    """A run that derives every column from two datasets, optionally with a filter."""
    fields = {
        name: [
            make.field("left", name, make.transformation()),
            make.field(
                "right", "another" if number == changed else name, make.transformation(subtype="TRANSFORMATION")
            ),
        ]
        for number, name in enumerate(NAMES[:width])
    }
    if filtered:
        for inputs in fields.values():
            inputs.append(make.field("left", "key", make.transformation("INDIRECT", "FILTER")))
    shape = make.schema(*NAMES[:width])
    return make.run_event(
        run=run,
        second=run,
        inputs=[make.dataset("left", schema=shape), make.dataset("right", schema=shape)],
        outputs=[make.dataset("wide", schema=shape, columnLineage=make.columns(fields))],
    )


def seconds_to_apply(store: Store, event: Json) -> float:
    payload = as_bytes(event)
    started = time.process_time(), time.monotonic()
    store.apply(payload)
    return max(time.process_time() - started[0], time.monotonic() - started[1])


def test_changed_column_of_wide_dataset_is_replaced(store: Store) -> None:
    assert seconds_to_apply(store, wide_event(1)) < SECONDS
    assert store.value("SELECT count(*) FROM ol_dataset_field f JOIN ol_dataset d ON d.dataset_id = f.dataset_id"
                       " WHERE d.name = 'wide'") == WIDTH  # fmt: skip
    assert sorted(store.rows(ACTIVE)) == sorted([(name, name) for name in NAMES] * 2)
    assert store.rows(INACTIVE) == []

    assert seconds_to_apply(store, wide_event(2, changed=7)) < SECONDS
    active = store.rows(ACTIVE)
    assert len(active) == 2 * WIDTH
    assert [row for row in active if row[0] != row[1]] == [("another", NAMES[7])]
    assert store.rows(INACTIVE) == [(NAMES[7], NAMES[7])]

    assert seconds_to_apply(store, wide_event(3)) < SECONDS
    assert store.rows(INACTIVE) == [("another", NAMES[7])]


def test_lineage_of_all_columns_is_one_row(store: Store) -> None:
    assert seconds_to_apply(store, wide_event(1, filtered=True)) < SECONDS
    active = store.rows(ACTIVE)
    assert len(active) == 2 * WIDTH + 1
    assert [row for row in active if row[0] != row[1]] == [("key", "")]


def test_time_is_linear_in_columns(sqlite_store: Store) -> None:
    seconds_to_apply(sqlite_store, wide_event(1, width=10))
    half, full = (
        seconds_to_apply(sqlite_store, wide_event(run, width=width)) for run, width in ((2, 5000), (3, WIDTH))
    )
    assert full < 8 * half, "quadratic time would be 4 times; the limit allows for noise"


@pytest.mark.parametrize("gzipped", [False, True], ids=["plain", "gzip"])
def test_wide_event_is_within_intake_limits(tmp_path: Path, gzipped: bool) -> None:
    body = as_bytes(wide_event(1, filtered=True))
    with RunningService(settings_for(tmp_path)) as api:
        response = api.post_gzip(gzip.compress(body, 1)) if gzipped else api.post(body)
        assert response.status_code == 201
        api.wait_until_merged()
        assert api.rows("SELECT count(*), min(is_active) FROM column_lineage") == [(2 * WIDTH + 1, 1)]


def test_caches_are_bounded_with_many_wide_events() -> None:
    with Store() as store:
        for run in range(1, 15):
            store.read(wide_event(run, changed=run, width=3000))
    entries = sum(len(lineage.entries) for lineage in column_lineage._entries_by_digest.values())
    assert entries <= column_lineage._CACHED_ENTRIES
    assert (
        sum(len(lineage_set.entries) for lineage_set in column_lineage._lineage_sets.values())
        <= column_lineage._CACHED_ENTRIES
    )
    cached_schemas = (schema for schema in schemas._schemas.values() if schema)
    assert sum(len(schema.columns_json) for schema in cached_schemas) <= schemas._CACHED_CHARACTERS


def test_nested_columns_do_not_repeat_long_parent_name(store: Store) -> None:
    long = "x" * (1 << 20)
    inner = [{"name": f"c{number}"} for number in range(5000)]
    shape = make.facet(fields=[{"name": long, "fields": inner}])
    store.apply(make.run_event(outputs=[make.dataset("d", schema=shape)]))
    assert store.value("SELECT length(columns_json) FROM dataset_schema") < 5 << 20
    fields = {name for (name,) in store.rows("SELECT field_name FROM ol_dataset_field")}
    prefix = bounded_key(long)
    assert fields == {long} | {f"{prefix}.c{number}" for number in range(5000)}


def test_bounded_cache_evicts_entries() -> None:
    cache: BoundedCache[int, str] = BoundedCache(8)
    for number in range(8):
        cache.put(number, "small")
    assert len(cache) == 8
    assert cache.put(8, "small") == "small"
    assert list(cache) == [8]
    assert cache.put(9, "large", size=3) == "large"
    assert 9 not in cache
    cache.put(10, "fits", size=2)
    assert 10 in cache


def test_long_arguments_are_not_cached() -> None:
    calls: list[str] = []

    @bounded_lru_cache(10)
    def shout(text: str) -> str:
        calls.append(text)
        return text.upper()

    assert [shout(text) for text in ("a", "a", "b" * 600, "b" * 600)] == ["A", "A", "B" * 600, "B" * 600]
    assert calls == ["a", "b" * 600, "b" * 600]
