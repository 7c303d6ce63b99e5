"""What was told, and what was taken back, is put right after a backup of the server was restored."""

import pytest

from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import DELETION
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests.factories import dataset, facet, lifecycle, run_event, schema
from tests.stores import Store
from tests.sync.backup import Backup
from tests.sync.observations import JOB, ROWS, A, Json, T, checked, declared, differences, dropped, make_anew, picture
from tests.sync.openmetadata_harness import LAYOUT, Synced
from tests.sync.other_writers import Person

HOUR = 3_600.0
#: Of what is said of one moment the store takes one, whichever that is: of so many hardly what was said first.
CORRECTED = [checked(0, rows=rows) for rows in range(10, 30)]
#: What came in before a backup, and what came in after it.
RESTORED: dict[str, tuple[list[Json], list[Json]]] = {
    "more runs": ([checked(0)], [checked(5, 2), checked(9, 3)]),
    "all of a job": ([run_event(run=7, job="other", outputs=[dataset("x")])], [checked(0), checked(5, 2)]),
    "a run of two jobs": ([run_event(job="other", outputs=[dataset("x")])], [checked(0), checked(5, 2)]),
    "a run that ended": ([checked(0, kind="START"), checked(1, kind="RUNNING")], [checked(5)]),
    "a run that began earlier": ([checked(5, kind="START")], [checked(9), checked(2, kind="START")]),
    "two runs that changed their places": (
        [checked(5, kind="START"), checked(5, 2, kind="START")],
        [checked(2, kind="START"), checked(9, 2)],
    ),
    "a result that was corrected": ([checked(0)], [checked(5)]),
    "figures that were corrected": ([checked(0)], CORRECTED),
    "another table": ([checked(0)], [checked(5, 2, name="u")]),
    "a table that was dropped": ([checked(0), checked(1, 2, name="u")], [dropped(9)]),
    "a table that was dropped and written again": ([checked(0)], [dropped(9), checked(20, 3)]),
    "lineage that changed": ([checked(0)], [checked(5, 2, of="v", sql="2"), checked(9, 3, of="v", sql="3")]),
    "lineage that changed and went": (
        [checked(0), checked(1, 2, name="u")],
        [checked(5, 3, of="v", sql="2"), dropped(20)],
    ),
    "lineage that was declared otherwise": ([declared(0, "a")], [declared(1, "b"), declared(2, "c")]),
    "nothing": ([checked(0), checked(5, 2)], []),
}


@pytest.mark.parametrize("case", RESTORED)
def test_after_a_backup_was_restored_all_is_told_once(synced: Synced, case: str) -> None:
    first, then = RESTORED[case]
    synced.apply(*first).converge()
    backup = Backup(synced.standin)
    for event in then:
        synced.apply(event).converge()
    before = picture(synced.standin)
    for _ in range(2):  # what was restored once may be restored again
        backup.restore()
        asked = len(synced.standin.requests)
        synced.compare()
        assert picture(synced.standin) == before
        assert synced.quiet() == {}
        made = [seen.status for seen in synced.standin.requests[asked:] if seen.path.endswith("/testCases")]
        assert all(status < 400 for status in made)


def test_after_a_backup_of_a_table_that_was_made_anew_since_all_is_told_once(synced: Synced) -> None:
    synced.apply(checked(0), checked(5, 2)).converge()
    backup, before = Backup(synced.standin), picture(synced.standin)
    person = Person(synced.standin)
    make_anew(synced.standin)
    person.ask("DELETE", f"pipelines/{person.find('pipeline', JOB).id}?hardDelete=true")
    synced.compare()
    assert picture(synced.standin) == before
    backup.restore()
    synced.compare()
    assert picture(synced.standin) == before
    assert synced.quiet() == {}
    synced.apply(*CORRECTED).converge()  # corrected figures are figures of their own
    times = [at for at, _ in picture(synced.standin)["profiles"][T]]
    assert len(set(times)) == len(times) == 3


def test_what_was_dropped_and_is_wanted_again_is_no_difference_when_a_backup_brings_it_back(synced: Synced) -> None:
    first, then = RESTORED["a table that was dropped and written again"]
    synced.apply(*first).converge()
    backup = Backup(synced.standin)
    for event in then:
        synced.apply(event).converge()
    backup.restore()
    assert {kind for kind, *_ in differences(synced)} == {"run", "result", "profile"}
    assert all(what != "was deleted by the bridge and exists again" for *_, what in differences(synced))


@pytest.mark.parametrize("namespace", ["db", "other"])
def test_an_edge_that_one_of_two_names_has_still_stays(namespace: str) -> None:
    names = (
        ServiceMapping("db", "warehouse", "d", "s"),
        ServiceMapping("other", "warehouse", "d", "s"),
        ServiceMapping("jobs", "runs"),
    )
    with Synced(OpenMetadataOptions(ServiceLayout(names))) as synced:
        synced.compare_seconds = HOUR
        synced.connect()
        twice = checked(3, 2)
        twice["outputs"][0]["namespace"] = "other"
        synced.apply(checked(0), twice).converge()
        backup = Backup(synced.standin)
        gone = dataset("t", namespace, lifecycleStateChange=lifecycle("DROP"))
        synced.apply(run_event(second=9, run=9, outputs=[gone])).converge()
        synced.compare()
        assert set(synced.edges()) == {(A, T)}
        backup.restore()
        assert [one for one in differences(synced) if one[2].startswith("was deleted by the bridge")] == []


def test_a_run_that_is_told_as_another_by_now_is_taken_back_again(synced: Synced) -> None:
    synced.apply(run_event("COMPLETE", 5, run=12, job="app"), run_event("COMPLETE", 1, run=13, job="app")).converge()
    backup = Backup(synced.standin)
    above = {
        "parent": facet(
            run={"runId": "00000000-0000-7000-8000-000000000001"}, job={"namespace": "jobs", "name": "dag"}
        )
    }
    typed = {"jobType": facet(processingType="BATCH", integration="SPARK", jobType="APPLICATION")}
    event = run_event("START", 2, run=12, job="app", run_facets=above, job_facets=typed)
    synced.apply(event, run_event("COMPLETE", 3, run=1, job="dag")).converge()
    before = picture(synced.standin)
    assert len(before["statuses"]["runs.app"]) == 1
    deleted = synced.calls["delete status"]
    synced.apply(run_event("RUNNING", 4, run=12, job="app")).converge()
    assert synced.calls["delete status"] == deleted  # once is enough as long as nothing is known to be wrong
    backup.restore()
    synced.compare()
    assert picture(synced.standin) == before


@pytest.mark.parametrize("then", [checked(2, kind="START"), checked(12)])
def test_what_moves_between_a_restore_and_the_comparison_is_told_once(synced: Synced, then: Json) -> None:
    """The run began earlier than was known, or its checks were made later: twice, and the backup is of the first."""
    synced.apply(checked(5, kind="START"), checked(8)).converge()
    backup = Backup(synced.standin)
    synced.apply(checked(4, kind="START"), checked(10)).converge()
    backup.restore()
    synced.apply(then).converge()
    synced.compare()
    found = picture(synced.standin)
    assert [len(found["statuses"][JOB]), len(found["results"][ROWS])] == [1, 1]
    assert synced.quiet() == {}


def test_an_edge_that_others_wrote_where_ours_was_stays(synced: Synced, person: Person) -> None:
    synced.apply(checked(0)).converge()
    backup = Backup(synced.standin)
    synced.apply(dropped(9)).converge()
    assert synced.edges() == {}
    backup.restore()
    person.put_edge(A, T, source="Manual", description="theirs")
    person.ask("PUT", "tables/restore", {"id": person.find("table", T).id})
    synced.compare()
    assert (A, T) in synced.edges()


def test_an_edge_that_somebody_deleted_first_goes_again_with_its_table(synced: Synced, person: Person) -> None:
    synced.apply(checked(0), checked(1, 2, name="u")).converge()
    backup = Backup(synced.standin)
    person.ask("DELETE", f"lineage/table/{person.find('table', A).id}/table/{person.find('table', T).id}")
    synced.apply(dropped(9)).converge()
    backup.restore()
    synced.compare()
    assert set(synced.edges()) == {(A, "warehouse.d.s.u")}


@pytest.mark.parametrize("more", [[], [checked(5, 2, of="v", sql="2")]])
def test_lineage_that_a_backup_brought_back_is_still_ours_when_it_goes(synced: Synced, more: list[Json]) -> None:
    synced.apply(checked(0)).converge()
    backup = Backup(synced.standin)
    synced.apply(*more).converge()
    backup.restore()
    synced.apply(dropped(9)).converge()
    assert synced.edges() == {}
    assert T not in synced.entities("table")


def test_a_table_that_a_backup_brought_back_is_still_ours_when_it_is_written_again(synced: Synced) -> None:
    synced.apply(checked(0)).converge()
    backup = Backup(synced.standin)
    synced.apply(dropped(9)).converge()
    backup.restore()
    more = run_event(second=20, run=7, outputs=[dataset("t", schema=schema("k", "v", "w"))])
    synced.apply(more).converge()
    assert [column["name"] for column in synced.entities("table")[T]["columns"]] == ["k", "v", "w"]
    synced.compare()
    assert T in synced.entities("table")


def test_what_was_lost_is_told_again_whichever_the_store_is(store: Store) -> None:
    made = Synced(db=store.db)
    made.compare_seconds = HOUR
    with made as synced:
        synced.apply(checked(0), checked(1, 2, name="u")).converge()
        backup = Backup(synced.standin)
        synced.apply(checked(5, 3), checked(3, 1), dropped(9, "u")).converge()
        before = picture(synced.standin)
        backup.restore()
        synced.compare()
        assert picture(synced.standin) == before


def test_more_than_may_be_deleted_waits_when_a_backup_brings_it_back() -> None:
    made = Synced(OpenMetadataOptions(LAYOUT, max_deletions=2))
    made.compare_seconds = HOUR
    with made as synced:
        names = ["x", "y", "z"]
        synced.apply(*(checked(number, number + 1, name=name) for number, name in enumerate(names))).converge()
        backup = Backup(synced.standin)
        for number, name in enumerate(names):
            synced.apply(dropped(20 + number, name)).converge()
        backup.restore()
        synced.clock.wait(2 * HOUR)
        for _ in range(30):
            synced.round()
            synced.clock.wait(60)
        assert len(synced.entities("table")) == 4
        (reason,) = {item.reason for item in synced.items.pending(DELETION)}
        assert reason.startswith("3 deletions are pending, openmetadata.most_deletions is 2")
        synced.connect(OpenMetadataOptions(LAYOUT, max_deletions=3))
        synced.converge()
        assert set(synced.entities("table")) == {A}
