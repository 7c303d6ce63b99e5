"""The events of a run that are enough: of a store that heard nothing else the same is known."""

from collections import defaultdict

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.store.canonical_export import export_canonical
from mappers.marquez.event_selection import select_events
from mappers.marquez.events import run_event
from mappers.openlineage.event import NO_LIMITS, parse_event
from tests.factories import Json, dataset, facet
from tests.factories import run_event as event
from tests.laws.strategies import run_events
from tests.laws.test_convergence import CAPTURED, captured
from tests.stores import Store, as_bytes


def known(sent: list[Json] | list[bytes]) -> list[bytes]:
    """Give what a store knows that heard these events, but for when it was said or happened."""
    with Store() as store:
        store.apply(*sent)
        return list(export_canonical(store.db, "default", without_times=True))


def condensed(sent: list[bytes]) -> list[Json]:
    """Give the events of each run that are enough, as Marquez is sent them."""
    runs: dict[str, list[tuple[int, bytes, Json]]] = defaultdict(list)
    for payload in sent:
        read = parse_event(payload, NO_LIMITS)
        assert read.run_uuid is not None
        runs[read.run_uuid].append((read.micros, read.event_hash, run_event(payload, read.micros, read.run_uuid)))
    chosen: list[Json] = []
    for events in runs.values():
        ordered = [one for *_, one in sorted(events, key=lambda one: one[:2])]
        chosen += [ordered[place] for place in select_events(ordered)]
    return chosen


@settings(max_examples=500)
@given(st.lists(run_events, min_size=1, max_size=8))
def test_what_is_enough_tells_all(sent: list[Json]) -> None:
    assert known(condensed([as_bytes(one) for one in sent])) == known(sent)


@pytest.mark.parametrize("name", CAPTURED)
def test_what_is_enough_of_real_runs_tells_all(name: str) -> None:
    sent = captured(name)
    assert known(condensed(sent)) == known(sent)


def test_most_real_runs_are_told_by_two_events() -> None:
    counts = [
        len(select_events([msgspec.json.decode(one) for one in events]))
        for name in CAPTURED
        for events in runs_of(captured(name)).values()
    ]
    assert sum(counts) / len(counts) < 2.5, counts


def runs_of(sent: list[bytes]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = defaultdict(list)
    for payload in sorted(sent, key=lambda one: parse_event(one, NO_LIMITS).micros):
        found[msgspec.json.decode(payload)["run"]["runId"]].append(payload)
    return found


def counted(rows: int) -> list[Json]:
    return [dataset("out", output_facets={"outputStatistics": facet(rowCount=rows)})]


@pytest.mark.parametrize(
    ("sent", "places"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([event("START")], [0], id="a run that began"),
        pytest.param([event("START"), event("RUNNING", 1), event("COMPLETE", 2)], [0, 2], id="a run that ended"),
        pytest.param(
            [event("START"), *(event("RUNNING", n, outputs=counted(n)) for n in range(1, 9))],
            [0, 1, 8],
            id="of counts that grow the last, and the first by which the dataset is known",
        ),
        pytest.param(
            [event("START"), event("FAIL", 1), event("COMPLETE", 2)], [0, 2, 1], id="what ends it comes last"
        ),
        pytest.param(
            [event("START"), event("COMPLETE", 1), event("RUNNING", 2)], [0, 2, 1], id="what comes late comes before"
        ),
    ],
)
def test_what_is_enough(sent: list[Json], places: list[int]) -> None:
    assert select_events(sent) == places
