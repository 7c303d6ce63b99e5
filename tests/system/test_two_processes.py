"""Several processes on one store: they wait for each other, and their merges are one merge."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.laws.strategies import events as conflicting_events
from tests.stores import Json, as_bytes
from tests.system.service import ROOT, expected_export, exported, finish, kept, new_store, run, start, write_events

_CAPTURED = ROOT / "tests" / "data" / "events" / "spark-4.1.4"


def ingest_at_once(store: Path, parts: list[list[bytes]]) -> None:
    """Take each part in a process of its own, all at the same time."""
    files = [write_events(store.with_name(f"part{i}.ndjson"), part) for i, part in enumerate(parts)]
    with ExitStack() as processes:
        started = [processes.enter_context(start(store, "ingest", str(file))) for file in files]
        for process in started:
            code, said = finish(process)
            assert code == 0, said


@pytest.mark.system
@pytest.mark.parametrize("fresh", [True, False], ids=["fresh store", "made store"])
def test_two_processes_with_overlapping_halves_of_real_events(tmp_path: Path, fresh: bool) -> None:
    events = [line for file in sorted(_CAPTURED.glob("*.ndjson")) for line in file.read_bytes().splitlines()]
    third = len(events) // 3
    store = tmp_path / "store.db" if fresh else new_store(tmp_path)
    ingest_at_once(store, [events[: 2 * third], events[third:][::-1]])
    assert {payload.strip() for payload in kept(store)} == set(events)
    assert exported(store) == expected_export(events)


@pytest.mark.system
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=3, phases=[Phase.generate])
@given(st.lists(conflicting_events, min_size=24, max_size=60))
def test_two_processes_with_events_that_contradict_each_other(events: list[Json]) -> None:
    payloads = [as_bytes(event) for event in events]
    with TemporaryDirectory() as folder:
        store = new_store(Path(folder))
        half = len(payloads) // 2
        ingest_at_once(store, [payloads[: half + 8], payloads[half - 8 :][::-1]])
        assert exported(store) == expected_export(payloads)


@pytest.mark.system
def test_many_processes_make_one_new_store_together(tmp_path: Path) -> None:
    """Each of them finds no store, and one of them makes it."""
    events = (_CAPTURED / "a_csv_to_parquet.ndjson").read_bytes().splitlines()
    store = tmp_path / "deep" / "store.db"
    store.parent.mkdir()
    ingest_at_once(store, [events[i::4] for i in range(4)])
    assert exported(store) == expected_export(events)
    assert run(store, "export", "--canonical")[0] == 0
