"""What was told of moments, and what was taken back, is put right after somebody broke it; what others did stays."""

from collections.abc import Callable
from typing import Any

import pytest

from bridge.store.dirty_marks import mark_all
from bridge.sync.item_queries import pushed_observations as told_of
from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import DELETION, Outcome
from tests.factories import dataset, facet, run_event, schema
from tests.standins.openmetadata import OpenMetadata as StandIn
from tests.sync.backup import Backup
from tests.sync.observations import (
    JOB,
    NOT_NULL,
    ROWS,
    A,
    Json,
    T,
    checked,
    declared,
    differences,
    drop_case,
    drop_profile,
    drop_result,
    drop_status,
    dropped,
    make_anew,
    picture,
)
from tests.sync.openmetadata_harness import LAYOUT, Synced
from tests.sync.other_writers import Person


def change_status(standin: StandIn) -> None:
    person = Person(standin)
    (known, *_) = standin.store.statuses[person.find("pipeline", JOB).id].values()
    said = {key: known[key] for key in ("timestamp", "executionId")}
    person.ask("PUT", f"pipelines/{JOB}/status", said | {"executionStatus": "Pending", "taskStatus": []})


def change_result(standin: StandIn) -> None:
    results = standin.store.checks.cases[ROWS].results
    for at in list(results):
        results[at] = {**results[at], "testCaseStatus": "Aborted"}


DAMAGE: dict[str, Callable[[StandIn], None]] = {
    "a status is deleted": drop_status,
    "a status is changed": change_status,
    "a test case is deleted": drop_case,
    "a result is deleted": drop_result,
    "results are changed": change_result,
    "a profile is deleted": drop_profile,
    "a table is deleted for good": make_anew,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_somebody_broke_is_told_again_once(synced: Synced, damage: str) -> None:
    synced.apply(checked(0), checked(5, 2), checked(9, 3)).converge()
    before = picture(synced.standin)
    assert len(before["statuses"][JOB]) == len(before["results"][ROWS]) == len(before["profiles"][T]) == 3
    DAMAGE[damage](synced.standin)
    assert picture(synced.standin) != before
    assert synced.quiet() == {}
    synced.compare()
    assert picture(synced.standin) == before
    assert synced.quiet() == {}


def test_a_result_that_a_store_forgot_is_not_told_twice(synced: Synced) -> None:
    synced.apply(checked(0), checked(5, 2)).converge()
    before = picture(synced.standin)["results"]
    db = synced.store.db
    with db.transaction():
        db.execute("DELETE FROM sync_item WHERE kind = 'result'")
    mark_all(db, "default", "openmetadata", synced.clock())
    synced.converge()
    assert picture(synced.standin)["results"] == before


def test_what_is_right_is_looked_at_with_a_call_for_each_entity_and_left_alone(synced: Synced) -> None:
    synced.apply(*(checked(number, number + 1) for number in range(9)), checked(20, 30, name="u"), dropped(40, "u"))
    synced.converge()
    asked = len(synced.standin.requests)
    before = synced.standin.state()
    calls = synced.calls.copy()
    synced.compare()
    assert synced.standin.state() == before
    assert {seen.method for seen in synced.standin.requests[asked:]} == {"GET"}
    made = synced.calls - calls
    # the pipeline; a list of the cases of t; the results of two cases; figures of t
    assert (made["get statuses"], made["list"], made["get results"], made["get profile"]) == (1, 1, 2, 1)


def test_more_than_one_page_is_compared(synced: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.sync.openmetadata.observation_comparison._BATCH_SIZE", 2)
    synced.apply(*(checked(number, number + 1) for number in range(7))).converge()
    before = picture(synced.standin)
    synced.standin.store.statuses.clear()
    synced.compare()
    assert picture(synced.standin) == before


def test_a_status_that_others_told_in_the_place_of_ours_stays(synced: Synced, person: Person) -> None:
    synced.apply(checked(0)).converge()
    ((at, *_),) = picture(synced.standin)["statuses"][JOB]
    for id_ in ("scheduled__2026-01-01", "00000000-0000-7000-8000-00000000abcd"):
        theirs = {"timestamp": at, "executionStatus": "Failed", "taskStatus": [], "executionId": id_}
        person.ask("PUT", f"pipelines/{JOB}/status", theirs)
        synced.compare()
        assert picture(synced.standin)["statuses"][JOB] == [(at, id_, "Failed")]


def test_an_edge_that_others_wrote_anew_as_we_had_stays(synced: Synced, person: Person) -> None:
    synced.apply(checked(0)).converge()
    edge = synced.edges()[A, T]
    synced.apply(dropped(9)).converge()
    person.ask("PUT", "tables/restore", {"id": person.find("table", T).id})
    kept = {key: edge[key] for key in ("source", "sqlQuery", "columnsLineage")}
    person.put_edge(A, T, pipeline=JOB, **kept)
    synced.compare()
    assert (A, T) in synced.edges()


def test_what_was_removed_is_asked_for_by_the_comparison_alone(synced: Synced) -> None:
    for second, name in enumerate("abc"):
        asked = synced.calls["get edge"]
        synced.apply(declared(second, name)).converge()
    assert set(synced.edges()) == {("warehouse.d.s.c", T)}
    assert synced.calls["get edge"] == asked + 2  # for the one that comes and the one that goes


def test_what_is_no_test_case_any_more_is_left_as_it_is(synced: Synced) -> None:
    tests = {"test": facet(tests=[{"name": "rows", "status": "pass", "type": "rows"}])}
    for second in (0, 3):
        synced.apply(
            run_event(second=second, run_facets=tests, outputs=[dataset("t", schema=schema("k"))])
        ).converge()
    synced.apply(run_event(second=5, run=2, outputs=[dataset("u", schema=schema("k"))])).converge()
    assert {item.kind for item in synced.items_by(Outcome.UNWANTED)} >= {"check", "result"}
    results = synced.standin.store.checks.cases[f"{T}.rows"].results
    ((at, row),) = results.items()
    results.clear()
    results[at - 3_000] = {**row, "timestamp": at - 3_000}
    assert differences(synced) == []
    drop_case(synced.standin)
    assert differences(synced) == []


def test_what_is_dead_is_not_tried_again_because_it_is_not_there(synced: Synced) -> None:
    synced.apply(checked(0)).converge()
    with synced.store.db.transaction():
        synced.store.db.execute(
            "UPDATE sync_item SET outcome = 'dead' WHERE kind IN ('run', 'check', 'result', 'profile')"
        )
    for damage in (drop_status, drop_result, drop_case, drop_profile):
        damage(synced.standin)
    assert differences(synced) == []


def test_a_table_that_somebody_restored_stays(synced: Synced, person: Person) -> None:
    synced.apply(checked(0)).converge()
    table = person.find("table", T).id
    synced.apply(dropped(9)).converge()
    person.ask("PUT", "tables/restore", {"id": table})
    synced.compare()
    assert T in synced.entities("table")


def test_a_table_that_somebody_restored_is_not_deleted_because_it_is_tried_again(
    synced: Synced, person: Person
) -> None:
    synced.apply(checked(0)).converge()
    table = person.find("table", T).id
    synced.apply(dropped(9)).converge()
    person.ask("PUT", "tables/restore", {"id": table})
    removals = [(item.kind, item.key) for item in synced.items_by(Outcome.PUSHED) if item.kind == DELETION]
    synced.queue.retry(removals)
    synced.converge()
    assert T in synced.entities("table")


def test_all_that_differs_is_told_without_a_write(synced: Synced) -> None:
    synced.apply(checked(0), checked(1, 2, name="u"), checked(2, 3, name="w")).converge()
    backup = Backup(synced.standin)
    synced.apply(dropped(9, "u"), checked(12, 9)).converge()
    backup.restore()
    for damage in (drop_status, drop_case, drop_profile):
        damage(synced.standin)
    results = synced.standin.store.checks.cases[NOT_NULL].results
    results.clear()
    before, asked = synced.standin.state(), len(synced.standin.requests)
    found = differences(synced)
    back = "was deleted by the bridge and exists again"
    assert found == [
        ("check", ROWS, "is missing"),
        ("lineage", f"{A} -> warehouse.d.s.u", back),
        ("profile", T, "is missing"),
        ("profile", T, "is missing"),
        ("removal", "warehouse.d.s.u", back),
        ("result", NOT_NULL, "is missing"),
        ("result", NOT_NULL, "is missing"),
        ("run", JOB, "is missing"),
        ("run", JOB, "is missing"),
        ("run", JOB, "is missing"),
    ]
    assert synced.standin.state() == before
    assert {seen.method for seen in synced.standin.requests[asked:]} == {"GET"}
    assert synced.left() == []


@pytest.mark.parametrize(
    ("off", "kinds"),
    [
        ({"publish_quality_results": False}, {"run", "profile"}),
        ({"publish_profiling_metrics": False}, {"run", "check", "result"}),
    ],
)
def test_what_the_settings_leave_out_is_not_looked_at(synced: Synced, off: Json, kinds: set[str]) -> None:
    synced.apply(checked(0)).converge()
    synced.connect(OpenMetadataOptions(LAYOUT, **off))
    moments = {"run", "check", "result", "profile"}
    assert {bit.kind for bit in synced.reconciler.compare()} & moments == kinds


def test_what_was_told_is_read_in_the_order_of_its_index(sqlite_store: Any) -> None:
    read, plans = sqlite_store.db.fetch_all, []

    class Explaining:
        def fetch_all(self, sql: str, *values: object) -> list[Any]:
            plans.extend(step for *_, step in read(f"EXPLAIN QUERY PLAN {sql}", *values))
            return []

    assert list(told_of(Explaining(), "default", "openmetadata", "run", 10)) == []
    assert plans[0].startswith("SEARCH sync_item USING INDEX ix_sync_item__remote_id")
