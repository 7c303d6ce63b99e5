"""Datasets of 10,000 columns, with the lineage of each, are taken whole and in seconds; no memory grows by them."""

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
    """Make a run in which every column is made of one column of each of two datasets, and maybe all are filtered."""
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


def seconds_of(store: Store, event: Json) -> float:
    payload = as_bytes(event)
    begun = time.process_time(), time.monotonic()
    store.apply(payload)
    return max(time.process_time() - begun[0], time.monotonic() - begun[1])


def test_ten_thousand_columns_are_taken_and_one_that_changes_is_the_only_one(store: Store) -> None:
    assert seconds_of(store, wide_event(1)) < SECONDS
    assert store.value("SELECT count(*) FROM ol_dataset_field f JOIN ol_dataset d ON d.dataset_id = f.dataset_id"
                       " WHERE d.name = 'wide'") == WIDTH  # fmt: skip
    assert sorted(store.rows(ACTIVE)) == sorted([(name, name) for name in NAMES] * 2)
    assert store.rows(INACTIVE) == []

    assert seconds_of(store, wide_event(2, changed=7)) < SECONDS
    active = store.rows(ACTIVE)
    assert len(active) == 2 * WIDTH
    assert [line for line in active if line[0] != line[1]] == [("another", NAMES[7])]
    assert store.rows(INACTIVE) == [(NAMES[7], NAMES[7])]

    assert seconds_of(store, wide_event(3)) < SECONDS
    assert store.rows(INACTIVE) == [("another", NAMES[7])]


def test_what_affects_all_columns_is_one_line(store: Store) -> None:
    assert seconds_of(store, wide_event(1, filtered=True)) < SECONDS
    active = store.rows(ACTIVE)
    assert len(active) == 2 * WIDTH + 1
    assert [line for line in active if line[0] != line[1]] == [("key", "")]


def test_twice_the_columns_take_about_twice_the_time(sqlite_store: Store) -> None:
    seconds_of(sqlite_store, wide_event(1, width=10))
    half, whole = (seconds_of(sqlite_store, wide_event(run, width=width)) for run, width in ((2, 5000), (3, WIDTH)))
    assert whole < 8 * half, "quadratic would be four times, and these machines are noisy"


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_the_limits_leave_room_for_it(tmp_path: Path, packed: bool) -> None:
    body = as_bytes(wide_event(1, filtered=True))
    with RunningService(settings_for(tmp_path)) as api:
        answer = api.post_gzip(gzip.compress(body, 1)) if packed else api.post(body)
        assert answer.status_code == 201
        assert api.rows("SELECT count(*), min(is_active) FROM column_lineage") == [(2 * WIDTH + 1, 1)]


def test_many_wide_events_do_not_fill_the_memory() -> None:
    with Store() as store:
        for run in range(1, 15):
            store.read(wide_event(run, changed=run, width=3000))
    held = sum(len(said.entries) for said in column_lineage._entries_by_digest.values())
    assert held <= column_lineage._CACHED_ENTRIES
    assert (
        sum(len(known.rows) for known in column_lineage._identified_entries.values())
        <= column_lineage._CACHED_ENTRIES
    )
    kept = (schema for schema in schemas._schemas.values() if schema)
    assert sum(len(schema.columns) for schema in kept) <= schemas._CACHED_CHARACTERS


def test_columns_inside_a_column_of_a_long_name_do_not_repeat_it_whole(store: Store) -> None:
    long = "x" * (1 << 20)
    inner = [{"name": f"c{number}"} for number in range(5000)]
    shape = make.facet(fields=[{"name": long, "fields": inner}])
    store.apply(make.run_event(outputs=[make.dataset("d", schema=shape)]))
    assert store.value("SELECT length(columns_json) FROM dataset_schema") < 5 << 20
    fields = {name for (name,) in store.rows("SELECT field_name FROM ol_dataset_field")}
    prefix = bounded_key(long)
    assert fields == {long} | {f"{prefix}.c{number}" for number in range(5000)}


def test_a_memory_forgets_in_time() -> None:
    memory: BoundedCache[int, str] = BoundedCache(8)
    for number in range(8):
        memory.put(number, "small")
    assert len(memory) == 8
    assert memory.put(8, "small") == "small"
    assert list(memory) == [8]
    assert memory.put(9, "large", size=3) == "large"
    assert 9 not in memory
    memory.put(10, "fits", size=2)
    assert 10 in memory


def test_long_names_are_not_remembered() -> None:
    asked: list[str] = []

    @bounded_lru_cache(10)
    def shout(text: str) -> str:
        asked.append(text)
        return text.upper()

    assert [shout(text) for text in ("a", "a", "b" * 600, "b" * 600)] == ["A", "A", "B" * 600, "B" * 600]
    assert asked == ["a", "b" * 600, "b" * 600]
