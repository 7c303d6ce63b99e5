"""The selected events of a run produce the same canonical state as all of its events."""

from collections import defaultdict

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bridge.store.canonical_export import export_canonical
from mappers.marquez.event_selection import select_events
from mappers.marquez.events import run_event
from mappers.openlineage.event import NO_LIMITS, parse_event
from tests.factories import Json, dataset, facet, spark_type
from tests.factories import run_event as event
from tests.laws.strategies import run_events
from tests.laws.test_convergence import CAPTURED, captured
from tests.stores import Store, as_bytes


def canonical_state(sent: list[Json] | list[bytes]) -> list[bytes]:
    """Canonical state after these events, without times."""
    with Store() as store:
        store.apply(*sent)
        return list(export_canonical(store.db, "default", without_times=True))


def select_by_run(sent: list[bytes]) -> list[Json]:
    """Selected events of each run, in the form that Marquez is sent."""
    runs: dict[str, list[tuple[int, bytes, Json]]] = defaultdict(list)
    for payload in sent:
        parsed = parse_event(payload, NO_LIMITS)
        assert parsed.run_uuid is not None
        runs[parsed.run_uuid].append(
            (parsed.micros, parsed.event_hash, run_event(payload, parsed.micros, parsed.run_uuid))
        )
    selected: list[Json] = []
    for events in runs.values():
        ordered = [event for *_, event in sorted(events, key=lambda entry: entry[:2])]
        selected += [ordered[index] for index in select_events(ordered)]
    return selected


@settings(max_examples=500)
@example([event("START"), event("RUNNING"), event("START", job_facets={"jobType": spark_type()})])
@given(st.lists(run_events, min_size=1, max_size=8))
def test_selected_events_preserve_the_canonical_state(sent: list[Json]) -> None:
    assert canonical_state(select_by_run([as_bytes(run) for run in sent])) == canonical_state(sent)


@pytest.mark.parametrize("name", CAPTURED)
def test_selected_events_of_spark_runs_preserve_the_canonical_state(name: str) -> None:
    sent = captured(name)
    assert canonical_state(select_by_run(sent)) == canonical_state(sent)


def test_most_spark_runs_need_two_events() -> None:
    counts = [
        len(select_events([msgspec.json.decode(payload) for payload in events]))
        for name in CAPTURED
        for events in group_by_run(captured(name)).values()
    ]
    assert sum(counts) / len(counts) < 2.5, counts


def group_by_run(sent: list[bytes]) -> dict[str, list[bytes]]:
    runs: dict[str, list[bytes]] = defaultdict(list)
    for payload in sorted(sent, key=lambda payload: parse_event(payload, NO_LIMITS).micros):
        runs[msgspec.json.decode(payload)["run"]["runId"]].append(payload)
    return runs


def outputs_with_row_count(rows: int) -> list[Json]:
    return [dataset("out", output_facets={"outputStatistics": facet(rowCount=rows)})]


@pytest.mark.parametrize(
    ("sent", "indexes"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([event("START")], [0], id="started run"),
        pytest.param([event("START"), event("RUNNING", 1), event("COMPLETE", 2)], [0, 2], id="finished run"),
        pytest.param(
            [event("START"), *(event("RUNNING", n, outputs=outputs_with_row_count(n)) for n in range(1, 9))],
            [0, 1, 8],
            id="first and last of growing counts",
        ),
        pytest.param(
            [event("START"), event("FAIL", 1), event("COMPLETE", 2)], [0, 2, 1], id="final event comes last"
        ),
        pytest.param(
            [event("START"), event("COMPLETE", 1), event("RUNNING", 2)],
            [0, 2, 1],
            id="late event precedes the final event",
        ),
    ],
)
def test_selection_of_run_events(sent: list[Json], indexes: list[int]) -> None:
    assert select_events(sent) == indexes
