"""Two nested Spark actions that report one write add one profile to OpenMetadata, in any order of arrival."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from bridge.store.visible_versions import written_versions_sql
from bridge.sync.openmetadata.context import OpenMetadataOptions
from mappers.canonical.identity import run_id
from mappers.openmetadata.locations import ServiceLayout
from tests.factories import create_as_select, facet, run_event, run_uuid
from tests.standins.openmetadata import error, reset
from tests.sync.backup import Backup
from tests.sync.openmetadata_harness import OpenMetadataHarness

EVENTS = Path(__file__).parents[1] / "data" / "events"
T = "warehouse.d.s.t"
#: Runs of the actions, by id.
OUTER, INNER = 1, 2
RUNS = {run_id("default", run_uuid(run)): run for run in (OUTER, INNER, 5, 6)}


def pushed_runs(synced: OpenMetadataHarness, kind: str = "table") -> list[int]:
    """The runs of the profiles on the server; 0 for a profile that no item has."""
    times = {
        item.remote.id.split("/")[1]: RUNS[item.key[16:]] for item in synced.items_by_kind("profile") if item.remote
    }
    profiles = synced.standin.state()["profiles"].get(T, {})
    return sorted(times.get(str(row["timestamp"]), 0) for row in profiles.get(kind, []))


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_nested_actions_add_one_profile(order: tuple[int, ...]) -> None:
    events = create_as_select()
    with OpenMetadataHarness() as synced:
        for index in order:
            synced.apply(events[index]).converge()
        assert pushed_runs(synced) == pushed_runs(synced, "system") == [OUTER]
        assert synced.calls_of_next_round() == {}
        synced.connect()
        assert synced.calls_of_next_round() == {}


@pytest.mark.parametrize(
    ("differs", "expected"),
    [
        ({"outer": "OVERWRITE"}, [OUTER]),
        ({"inner": "APPEND"}, [OUTER]),
        ({"rows": 3}, [OUTER, INNER]),
        ({"ends": 5}, [OUTER, INNER]),
        ({"application": 8}, [OUTER, INNER]),
        ({"inner": "CREATE"}, [OUTER, INNER]),
        ({"outer": "APPEND"}, [OUTER, INNER]),
    ],
    ids=str,
)
def test_actions_that_are_not_nested_keep_their_profiles(differs: dict[str, Any], expected: list[int]) -> None:
    with OpenMetadataHarness() as synced:
        for event in reversed(create_as_select(**differs)):
            synced.apply(event).converge()
        assert pushed_runs(synced, "system") == expected


def test_profile_of_inner_action_returns_if_outer_action_failed() -> None:
    events = create_as_select()
    with OpenMetadataHarness() as synced:
        synced.apply(*events).converge()
        assert pushed_runs(synced) == [OUTER]
        synced.apply(events[1] | {"eventType": "FAIL"}).converge()
        assert INNER in pushed_runs(synced)


def test_inner_action_keeps_what_it_measured() -> None:
    events = create_as_select()
    events[-1]["outputs"][0]["outputFacets"]["dataQualityMetrics"] = facet(rowCount=2)
    with OpenMetadataHarness() as synced:
        synced.apply(*events).converge()
        assert (pushed_runs(synced), pushed_runs(synced, "system")) == ([OUTER, INNER], [OUTER])


@pytest.mark.parametrize("fault", [error(503), reset(), reset(applied=True), error(500, applied=True)], ids=str)
@pytest.mark.parametrize("path", ["/tableProfile", "/profile"])
def test_failures_leave_one_profile(fault: Any, path: str) -> None:
    *outer, inner_start, inner_complete = create_as_select()
    with OpenMetadataHarness() as synced:
        synced.apply(inner_start, inner_complete)
        synced.standin.faults.next(fault, path=path, times=2)
        synced.round()
        synced.apply(*outer).converge()
        assert pushed_runs(synced) == pushed_runs(synced, "system") == [OUTER]


def test_comparison_deletes_profile_that_a_restore_brought_back() -> None:
    *outer, inner_start, inner_complete = create_as_select()
    synced = OpenMetadataHarness()
    synced.compare_seconds = 3600
    with synced:
        synced.apply(inner_start, inner_complete).converge()
        backup = Backup(synced.standin)
        synced.apply(*outer).converge()
        backup.restore()
        assert pushed_runs(synced) == [0]
        synced.compare()
        assert pushed_runs(synced) == pushed_runs(synced, "system") == [OUTER]


def test_unrelated_siblings_keep_their_profiles() -> None:
    *events, _, _ = create_as_select()
    parent = events[0]["run"]["facets"]["parent"]
    with OpenMetadataHarness() as synced:
        synced.apply(*events)
        for run in (5, 6):
            other = run_event("COMPLETE", run, run=run, job=f"app.{run}", run_facets={"parent": parent})
            synced.apply(other | {"outputs": events[1]["outputs"]})
        synced.converge()
        assert pushed_runs(synced) == [OUTER, 5, 6]


@pytest.mark.parametrize("backward", [False, True], ids=["in order", "reversed"])
def test_captured_writes_have_one_profile_each(backward: bool) -> None:
    lines = (EVENTS / "spark-4.1.4" / "e_iceberg.ndjson").read_bytes().splitlines()
    with OpenMetadataHarness(OpenMetadataOptions(ServiceLayout())) as synced:
        for line in lines[::-1] if backward else lines:
            synced.apply(line).converge()
        profiles = synced.standin.state()["profiles"].values()
        written = f"SELECT count(*) FROM ({written_versions_sql()}) w WHERE row_count IS NOT NULL"
        assert sum(len(rows["table"]) for rows in profiles) == synced.store.value(written) == 6
        assert synced.calls_of_next_round() == {}
