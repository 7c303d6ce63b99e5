"""Several processes on one store wait for each other and merge consistently."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.laws.strategies import events as conflicting_events
from tests.stores import Json, as_bytes
from tests.system.service import (
    ROOT,
    canonical_export,
    expected_export,
    finish,
    new_store,
    run,
    start,
    stored_payloads,
    write_events,
)

_CAPTURED = ROOT / "tests" / "data" / "events" / "spark-4.1.4"


def ingest_concurrently(store: Path, parts: list[list[bytes]]) -> None:
    """Ingest each part in a separate process at the same time."""
    files = [write_events(store.with_name(f"part{i}.ndjson"), part) for i, part in enumerate(parts)]
    with ExitStack() as stack:
        processes = [stack.enter_context(start(store, "ingest", str(file))) for file in files]
        for process in processes:
            code, output = finish(process)
            assert code == 0, output


@pytest.mark.system
@pytest.mark.parametrize("new", [True, False], ids=["new store", "existing store"])
def test_concurrent_ingests_of_captured_events(tmp_path: Path, new: bool) -> None:
    events = [line for file in sorted(_CAPTURED.glob("*.ndjson")) for line in file.read_bytes().splitlines()]
    third = len(events) // 3
    store = tmp_path / "store.db" if new else new_store(tmp_path)
    ingest_concurrently(store, [events[: 2 * third], events[third:][::-1]])
    assert {payload.strip() for payload in stored_payloads(store)} == set(events)
    assert canonical_export(store) == expected_export(events)


@pytest.mark.system
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=3, phases=[Phase.generate])
@given(st.lists(conflicting_events, min_size=24, max_size=60))
def test_concurrent_ingests_of_conflicting_events(events: list[Json]) -> None:
    payloads = [as_bytes(event) for event in events]
    with TemporaryDirectory() as folder:
        store = new_store(Path(folder))
        half = len(payloads) // 2
        ingest_concurrently(store, [payloads[: half + 8], payloads[half - 8 :][::-1]])
        assert canonical_export(store) == expected_export(payloads)


@pytest.mark.system
def test_concurrent_ingests_create_store_once(tmp_path: Path) -> None:
    events = (_CAPTURED / "a_csv_to_parquet.ndjson").read_bytes().splitlines()
    store = tmp_path / "deep" / "store.db"
    store.parent.mkdir()
    ingest_concurrently(store, [events[i::4] for i in range(4)])
    assert canonical_export(store) == expected_export(events)
    assert run(store, "export", "--canonical")[0] == 0
