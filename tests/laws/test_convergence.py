"""Guarantee 2: order and repetition do not matter, byte for byte."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.openlineage.files import open_event_file, read_records
from tests.factories import Json
from tests.laws.strategies import events
from tests.stores import Store, empty_postgres

DATA = Path(__file__).parents[1] / "data" / "events"
CAPTURED = sorted(path.relative_to(DATA).as_posix() for path in DATA.glob("*/*.ndjson"))


def captured(name: str) -> list[bytes]:
    with open_event_file(DATA / name) as file:
        return [record.payload for record in read_records(file)]


KINDS = pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.system("postgres"))])


def export_in_groups(arrivals: list[Json] | list[bytes], cuts: list[int], kind: str = "sqlite") -> bytes:
    with Store(db=empty_postgres() if kind == "postgres" else None) as store:
        start = 0
        for end in [*sorted(cut % (len(arrivals) + 1) for cut in cuts), len(arrivals)]:
            if end > start:
                store.apply(*arrivals[start:end])
            start = end
        return store.export()


@KINDS
@settings(max_examples=200)
@given(
    sent=st.lists(events, min_size=1, max_size=7),
    random=st.randoms(use_true_random=False),
    cuts=st.lists(st.integers(0, 20)),
)
def test_export_is_independent_of_order_repetition_and_grouping(
    kind: str, sent: list[Json], random: Random, cuts: list[int]
) -> None:
    expected = export_in_groups(sent, [])
    arrivals = sent + random.choices(sent, k=len(sent) // 2)
    random.shuffle(arrivals)
    assert export_in_groups(arrivals, cuts, kind) == expected
    assert export_in_groups(sent[::-1], list(range(len(sent))), kind) == expected


@KINDS
@pytest.mark.parametrize("name", CAPTURED)
def test_export_of_spark_events_is_independent_of_order(name: str, kind: str) -> None:
    sent = captured(name)
    expected = export_in_groups(sent, [])
    random = Random(name)
    for _ in range(3):
        arrivals = sent + random.choices(sent, k=len(sent) // 3)
        random.shuffle(arrivals)
        assert export_in_groups(arrivals, random.choices(range(len(sent)), k=5), kind) == expected
    assert export_in_groups(sent[::-1], list(range(len(sent))), kind) == expected


@KINDS
def test_export_of_all_spark_events_is_independent_of_order(kind: str) -> None:
    sent = [payload for name in CAPTURED for payload in captured(name)]
    expected = export_in_groups(sent, list(range(0, len(sent), 50)))
    shuffled = list(sent)
    Random(1).shuffle(shuffled)
    assert export_in_groups(shuffled, list(range(0, len(sent), 7)), kind) == expected


def test_export_does_not_depend_on_the_event_log() -> None:
    with Store() as store:
        store.apply(*captured("spark-4.1.4/e_iceberg.ndjson"))
        expected = store.export()
        store.db.execute("DELETE FROM run_event")
        assert store.export() == expected
        assert len(expected) > 10_000


@given(st.lists(events, min_size=1, max_size=6))
def test_export_excludes_receipts_order_and_historical_flag(sent: list[Json]) -> None:
    with Store() as plain, Store() as historical:
        plain.apply(*sent)
        historical.writer.write([historical.read(event, historical=True) for event in sent])
        assert plain.export() == historical.export()
