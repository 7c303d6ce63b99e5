"""Comparison after the server was restored from a backup."""

import pytest

from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import DELETION
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests.factories import dataset, facet, lifecycle, run_event, schema
from tests.stores import Store
from tests.sync.backup import Backup
from tests.sync.observations import (
    JOB,
    ROWS,
    A,
    Json,
    T,
    declaration,
    delete_table_for_good,
    differences,
    run_dropping,
    run_with_checks,
    snapshot,
)
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness
from tests.sync.other_writers import Person

HOUR = 3_600.0
#: Conflicting row counts of one run. The store keeps one of them; with 20, that is hardly the first.
CORRECTED = [run_with_checks(0, rows=rows) for rows in range(10, 30)]
#: Events before and after the backup.
RESTORED: dict[str, tuple[list[Json], list[Json]]] = {
    "more runs": ([run_with_checks(0)], [run_with_checks(5, 2), run_with_checks(9, 3)]),
    "all observations of a job": (
        [run_event(run=7, job="other", outputs=[dataset("x")])],
        [run_with_checks(0), run_with_checks(5, 2)],
    ),
    "a run of two jobs": (
        [run_event(job="other", outputs=[dataset("x")])],
        [run_with_checks(0), run_with_checks(5, 2)],
    ),
    "a run that ended": (
        [run_with_checks(0, kind="START"), run_with_checks(1, kind="RUNNING")],
        [run_with_checks(5)],
    ),
    "a run that began earlier": (
        [run_with_checks(5, kind="START")],
        [run_with_checks(9), run_with_checks(2, kind="START")],
    ),
    "two runs that changed their order": (
        [run_with_checks(5, kind="START"), run_with_checks(5, 2, kind="START")],
        [run_with_checks(2, kind="START"), run_with_checks(9, 2)],
    ),
    "a result that was corrected": ([run_with_checks(0)], [run_with_checks(5)]),
    "metrics that were corrected": ([run_with_checks(0)], CORRECTED),
    "another table": ([run_with_checks(0)], [run_with_checks(5, 2, name="u")]),
    "a table that was dropped": ([run_with_checks(0), run_with_checks(1, 2, name="u")], [run_dropping(9)]),
    "a table that was dropped and written again": ([run_with_checks(0)], [run_dropping(9), run_with_checks(20, 3)]),
    "lineage that changed": (
        [run_with_checks(0)],
        [run_with_checks(5, 2, column="v", query_id="2"), run_with_checks(9, 3, column="v", query_id="3")],
    ),
    "lineage that changed and was removed": (
        [run_with_checks(0), run_with_checks(1, 2, name="u")],
        [run_with_checks(5, 3, column="v", query_id="2"), run_dropping(20)],
    ),
    "lineage that was declared differently": ([declaration(0, "a")], [declaration(1, "b"), declaration(2, "c")]),
    "nothing": ([run_with_checks(0), run_with_checks(5, 2)], []),
}


@pytest.mark.parametrize("case", RESTORED)
def test_comparison_after_restore_sends_each_observation_once(synced: OpenMetadataHarness, case: str) -> None:
    first, later_events = RESTORED[case]
    synced.apply(*first).converge()
    backup = Backup(synced.standin)
    for event in later_events:
        synced.apply(event).converge()
    before = snapshot(synced.standin)
    for _ in range(2):  # a backup may be restored twice
        backup.restore()
        first_request = len(synced.standin.requests)
        synced.compare()
        assert snapshot(synced.standin) == before
        assert synced.calls_of_next_round() == {}
        statuses = [
            request.status
            for request in synced.standin.requests[first_request:]
            if request.path.endswith("/testCases")
        ]
        assert all(status < 400 for status in statuses)


def test_restore_after_table_was_recreated_sends_each_observation_once(synced: OpenMetadataHarness) -> None:
    synced.apply(run_with_checks(0), run_with_checks(5, 2)).converge()
    backup, before = Backup(synced.standin), snapshot(synced.standin)
    person = Person(synced.standin)
    delete_table_for_good(synced.standin)
    person.request("DELETE", f"pipelines/{person.find('pipeline', JOB).id}?hardDelete=true")
    synced.compare()
    assert snapshot(synced.standin) == before
    backup.restore()
    synced.compare()
    assert snapshot(synced.standin) == before
    assert synced.calls_of_next_round() == {}
    synced.apply(*CORRECTED).converge()  # corrected metrics become additional profiles
    times = [timestamp for timestamp, _ in snapshot(synced.standin)["profiles"][T]]
    assert len(set(times)) == len(times) == 3


def test_table_dropped_and_rewritten_is_no_difference_after_restore(
    synced: OpenMetadataHarness,
) -> None:
    first, later_events = RESTORED["a table that was dropped and written again"]
    synced.apply(*first).converge()
    backup = Backup(synced.standin)
    for event in later_events:
        synced.apply(event).converge()
    backup.restore()
    assert {kind for kind, *_ in differences(synced)} == {"run", "result", "profile"}
    assert all(description != "was deleted by the bridge and exists again" for *_, description in differences(synced))


@pytest.mark.parametrize("namespace", ["db", "other"])
def test_keeps_edge_that_one_of_two_names_still_has(namespace: str) -> None:
    names = (
        ServiceMapping("db", "warehouse", "d", "s"),
        ServiceMapping("other", "warehouse", "d", "s"),
        ServiceMapping("jobs", "runs"),
    )
    with OpenMetadataHarness(OpenMetadataOptions(ServiceLayout(names))) as synced:
        synced.compare_seconds = HOUR
        synced.connect()
        second_name = run_with_checks(3, 2)
        second_name["outputs"][0]["namespace"] = "other"
        synced.apply(run_with_checks(0), second_name).converge()
        backup = Backup(synced.standin)
        dropped = dataset("t", namespace, lifecycleStateChange=lifecycle("DROP"))
        synced.apply(run_event(second=9, run=9, outputs=[dropped])).converge()
        synced.compare()
        assert set(synced.edges()) == {(A, T)}
        backup.restore()
        assert [
            difference for difference in differences(synced) if difference[2].startswith("was deleted by the bridge")
        ] == []


def test_removes_restored_status_of_run_that_moved_to_parent(synced: OpenMetadataHarness) -> None:
    synced.apply(run_event("COMPLETE", 5, run=12, job="app"), run_event("COMPLETE", 1, run=13, job="app")).converge()
    backup = Backup(synced.standin)
    parent_facet = {
        "parent": facet(
            run={"runId": "00000000-0000-7000-8000-000000000001"}, job={"namespace": "jobs", "name": "dag"}
        )
    }
    job_type = {"jobType": facet(processingType="BATCH", integration="SPARK", jobType="APPLICATION")}
    event = run_event("START", 2, run=12, job="app", run_facets=parent_facet, job_facets=job_type)
    synced.apply(event, run_event("COMPLETE", 3, run=1, job="dag")).converge()
    before = snapshot(synced.standin)
    assert len(before["statuses"]["runs.app"]) == 1
    deletions = synced.calls["delete status"]
    synced.apply(run_event("RUNNING", 4, run=12, job="app")).converge()
    assert synced.calls["delete status"] == deletions  # not deleted again
    backup.restore()
    synced.compare()
    assert snapshot(synced.standin) == before


@pytest.mark.parametrize("event", [run_with_checks(2, kind="START"), run_with_checks(12)])
def test_change_between_restore_and_comparison_is_sent_once(synced: OpenMetadataHarness, event: Json) -> None:
    """Start and check times of the run change twice: before the restore, and between restore and comparison."""
    synced.apply(run_with_checks(5, kind="START"), run_with_checks(8)).converge()
    backup = Backup(synced.standin)
    synced.apply(run_with_checks(4, kind="START"), run_with_checks(10)).converge()
    backup.restore()
    synced.apply(event).converge()
    synced.compare()
    state = snapshot(synced.standin)
    assert [len(state["statuses"][JOB]), len(state["results"][ROWS])] == [1, 1]
    assert synced.calls_of_next_round() == {}


def test_keeps_edge_by_other_writer_in_place_of_removed_edge(synced: OpenMetadataHarness, person: Person) -> None:
    synced.apply(run_with_checks(0)).converge()
    backup = Backup(synced.standin)
    synced.apply(run_dropping(9)).converge()
    assert synced.edges() == {}
    backup.restore()
    person.put_edge(A, T, source="Manual", description="theirs")
    person.request("PUT", "tables/restore", {"id": person.find("table", T).id})
    synced.compare()
    assert (A, T) in synced.edges()


def test_removes_restored_edge_of_dropped_table(synced: OpenMetadataHarness, person: Person) -> None:
    synced.apply(run_with_checks(0), run_with_checks(1, 2, name="u")).converge()
    backup = Backup(synced.standin)
    person.request("DELETE", f"lineage/table/{person.find('table', A).id}/table/{person.find('table', T).id}")
    synced.apply(run_dropping(9)).converge()
    backup.restore()
    synced.compare()
    assert set(synced.edges()) == {(A, "warehouse.d.s.u")}


@pytest.mark.parametrize("later_events", [[], [run_with_checks(5, 2, column="v", query_id="2")]])
def test_drop_removes_restored_edges(synced: OpenMetadataHarness, later_events: list[Json]) -> None:
    synced.apply(run_with_checks(0)).converge()
    backup = Backup(synced.standin)
    synced.apply(*later_events).converge()
    backup.restore()
    synced.apply(run_dropping(9)).converge()
    assert synced.edges() == {}
    assert T not in synced.entities("table")


def test_restored_table_is_updated_when_written_again(
    synced: OpenMetadataHarness,
) -> None:
    synced.apply(run_with_checks(0)).converge()
    backup = Backup(synced.standin)
    synced.apply(run_dropping(9)).converge()
    backup.restore()
    event = run_event(second=20, run=7, outputs=[dataset("t", schema=schema("k", "v", "w"))])
    synced.apply(event).converge()
    assert [column["name"] for column in synced.entities("table")[T]["columns"]] == ["k", "v", "w"]
    synced.compare()
    assert T in synced.entities("table")


def test_resends_lost_observations_from_either_store(store: Store) -> None:
    harness = OpenMetadataHarness(db=store.db)
    harness.compare_seconds = HOUR
    with harness as synced:
        synced.apply(run_with_checks(0), run_with_checks(1, 2, name="u")).converge()
        backup = Backup(synced.standin)
        synced.apply(run_with_checks(5, 3), run_with_checks(3, 1), run_dropping(9, "u")).converge()
        before = snapshot(synced.standin)
        backup.restore()
        synced.compare()
        assert snapshot(synced.standin) == before


def test_deletion_limit_applies_to_restored_tables() -> None:
    harness = OpenMetadataHarness(OpenMetadataOptions(LAYOUT, max_deletions=2))
    harness.compare_seconds = HOUR
    with harness as synced:
        names = ["x", "y", "z"]
        synced.apply(
            *(run_with_checks(number, number + 1, name=name) for number, name in enumerate(names))
        ).converge()
        backup = Backup(synced.standin)
        for number, name in enumerate(names):
            synced.apply(run_dropping(20 + number, name)).converge()
        backup.restore()
        synced.clock.wait(2 * HOUR)
        for _ in range(30):
            synced.round()
            synced.clock.wait(60)
        assert len(synced.entities("table")) == 4
        (reason,) = {item.reason for item in synced.items.pending(DELETION)}
        assert reason.startswith("3 deletions pending, openmetadata.most_deletions is 2")
        synced.connect(OpenMetadataOptions(LAYOUT, max_deletions=3))
        synced.converge()
        assert set(synced.entities("table")) == {A}
