"""Comparison of observations and deletions: repairs damage, keeps changes by other writers."""

from collections.abc import Callable
from typing import Any

import pytest

from bridge.store.dirty_marks import mark_all
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.context import OpenMetadataOptions
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
    declaration,
    delete_table_for_good,
    differences,
    drop_case,
    drop_profile,
    drop_result,
    drop_status,
    run_dropping,
    run_with_checks,
    snapshot,
)
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness
from tests.sync.other_writers import Person


def change_status(standin: StandIn) -> None:
    person = Person(standin)
    (status, *_) = standin.store.statuses[person.find("pipeline", JOB).id].values()
    identity = {key: status[key] for key in ("timestamp", "executionId")}
    person.request("PUT", f"pipelines/{JOB}/status", identity | {"executionStatus": "Pending", "taskStatus": []})


def change_result(standin: StandIn) -> None:
    results = standin.store.checks.cases[ROWS].results
    for timestamp in list(results):
        results[timestamp] = {**results[timestamp], "testCaseStatus": "Aborted"}


DAMAGE: dict[str, Callable[[StandIn], None]] = {
    "a status is deleted": drop_status,
    "a status is changed": change_status,
    "a test case is deleted": drop_case,
    "a result is deleted": drop_result,
    "results are changed": change_result,
    "a profile is deleted": drop_profile,
    "a table is deleted for good": delete_table_for_good,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_comparison_repairs_damage_once(synced: OpenMetadataHarness, damage: str) -> None:
    synced.apply(run_with_checks(0), run_with_checks(5, 2), run_with_checks(9, 3)).converge()
    before = snapshot(synced.standin)
    assert len(before["statuses"][JOB]) == len(before["results"][ROWS]) == len(before["profiles"][T]) == 3
    DAMAGE[damage](synced.standin)
    assert snapshot(synced.standin) != before
    assert synced.calls_of_next_round() == {}
    synced.compare()
    assert snapshot(synced.standin) == before
    assert synced.calls_of_next_round() == {}


def test_result_without_sync_item_is_not_sent_twice(synced: OpenMetadataHarness) -> None:
    synced.apply(run_with_checks(0), run_with_checks(5, 2)).converge()
    before = snapshot(synced.standin)["results"]
    db = synced.store.db
    with db.transaction():
        db.execute("DELETE FROM sync_item WHERE kind = 'result'")
    mark_all(db, "default", "openmetadata", synced.clock())
    synced.converge()
    assert snapshot(synced.standin)["results"] == before


def test_comparison_reads_once_per_entity_and_writes_nothing(synced: OpenMetadataHarness) -> None:
    synced.apply(
        *(run_with_checks(number, number + 1) for number in range(9)),
        run_with_checks(20, 30, name="u"),
        run_dropping(40, "u"),
    )
    synced.converge()
    first_request = len(synced.standin.requests)
    before = synced.standin.state()
    calls = synced.calls.copy()
    synced.compare()
    assert synced.standin.state() == before
    assert {request.method for request in synced.standin.requests[first_request:]} == {"GET"}
    new_calls = synced.calls - calls
    # one pipeline, one list of test cases, two cases with results, one table with profiles
    assert (new_calls["get statuses"], new_calls["list"], new_calls["get results"], new_calls["get profile"]) == (
        1,
        1,
        2,
        1,
    )


def test_compares_several_pages(synced: OpenMetadataHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.sync.openmetadata.observation_comparison._BATCH_SIZE", 2)
    synced.apply(*(run_with_checks(number, number + 1) for number in range(7))).converge()
    before = snapshot(synced.standin)
    synced.standin.store.statuses.clear()
    synced.compare()
    assert snapshot(synced.standin) == before


def test_keeps_status_overwritten_by_other_writer(synced: OpenMetadataHarness, person: Person) -> None:
    synced.apply(run_with_checks(0)).converge()
    ((timestamp, *_),) = snapshot(synced.standin)["statuses"][JOB]
    for id_ in ("scheduled__2026-01-01", "00000000-0000-7000-8000-00000000abcd"):
        status = {"timestamp": timestamp, "executionStatus": "Failed", "taskStatus": [], "executionId": id_}
        person.request("PUT", f"pipelines/{JOB}/status", status)
        synced.compare()
        assert snapshot(synced.standin)["statuses"][JOB] == [(timestamp, id_, "Failed")]


def test_keeps_identical_edge_recreated_by_other_writer(synced: OpenMetadataHarness, person: Person) -> None:
    synced.apply(run_with_checks(0)).converge()
    edge = synced.edges()[A, T]
    synced.apply(run_dropping(9)).converge()
    person.request("PUT", "tables/restore", {"id": person.find("table", T).id})
    content = {key: edge[key] for key in ("source", "sqlQuery", "columnsLineage")}
    person.put_edge(A, T, pipeline=JOB, **content)
    synced.compare()
    assert (A, T) in synced.edges()


def test_reads_removed_edges_only_in_comparison(synced: OpenMetadataHarness) -> None:
    for second, name in enumerate("abc"):
        reads = synced.calls["get edge"]
        synced.apply(declaration(second, name)).converge()
    assert set(synced.edges()) == {("warehouse.d.s.c", T)}
    assert synced.calls["get edge"] == reads + 2  # the new edge and the removed one


def test_ignores_unwanted_test_cases(synced: OpenMetadataHarness) -> None:
    tests = {"test": facet(tests=[{"name": "rows", "status": "pass", "type": "rows"}])}
    for second in (0, 3):
        synced.apply(
            run_event(second=second, run_facets=tests, outputs=[dataset("t", schema=schema("k"))])
        ).converge()
    synced.apply(run_event(second=5, run=2, outputs=[dataset("u", schema=schema("k"))])).converge()
    assert {item.kind for item in synced.items_by(Outcome.UNWANTED)} >= {"check", "result"}
    results = synced.standin.store.checks.cases[f"{T}.rows"].results
    ((timestamp, row),) = results.items()
    results.clear()
    results[timestamp - 3_000] = {**row, "timestamp": timestamp - 3_000}
    assert differences(synced) == []
    drop_case(synced.standin)
    assert differences(synced) == []


def test_missing_dead_letters_are_no_difference(synced: OpenMetadataHarness) -> None:
    synced.apply(run_with_checks(0)).converge()
    with synced.store.db.transaction():
        synced.store.db.execute(
            "UPDATE sync_item SET outcome = 'dead' WHERE kind IN ('run', 'check', 'result', 'profile')"
        )
    for damage in (drop_status, drop_result, drop_case, drop_profile):
        damage(synced.standin)
    assert differences(synced) == []


def test_keeps_table_restored_by_person(synced: OpenMetadataHarness, person: Person) -> None:
    synced.apply(run_with_checks(0)).converge()
    table = person.find("table", T).id
    synced.apply(run_dropping(9)).converge()
    person.request("PUT", "tables/restore", {"id": table})
    synced.compare()
    assert T in synced.entities("table")


def test_retried_deletion_keeps_table_restored_by_person(synced: OpenMetadataHarness, person: Person) -> None:
    synced.apply(run_with_checks(0)).converge()
    table = person.find("table", T).id
    synced.apply(run_dropping(9)).converge()
    person.request("PUT", "tables/restore", {"id": table})
    removals = [(item.kind, item.key) for item in synced.items_by(Outcome.PUSHED) if item.kind == DELETION]
    synced.queue.retry(removals)
    synced.converge()
    assert T in synced.entities("table")


def test_compare_lists_differences_without_writing(synced: OpenMetadataHarness) -> None:
    synced.apply(run_with_checks(0), run_with_checks(1, 2, name="u"), run_with_checks(2, 3, name="w")).converge()
    backup = Backup(synced.standin)
    synced.apply(run_dropping(9, "u"), run_with_checks(12, 9)).converge()
    backup.restore()
    for damage in (drop_status, drop_case, drop_profile):
        damage(synced.standin)
    results = synced.standin.store.checks.cases[NOT_NULL].results
    results.clear()
    before, first_request = synced.standin.state(), len(synced.standin.requests)
    found = differences(synced)
    restored = "was deleted by the bridge and exists again"
    assert found == [
        ("check", ROWS, "is missing"),
        ("lineage", f"{A} -> warehouse.d.s.u", restored),
        ("profile", T, "is missing"),
        ("profile", T, "is missing"),
        ("removal", "warehouse.d.s.u", restored),
        ("result", NOT_NULL, "is missing"),
        ("result", NOT_NULL, "is missing"),
        ("run", JOB, "is missing"),
        ("run", JOB, "is missing"),
        ("run", JOB, "is missing"),
    ]
    assert synced.standin.state() == before
    assert {request.method for request in synced.standin.requests[first_request:]} == {"GET"}
    assert synced.unsettled() == []


@pytest.mark.parametrize(
    ("off", "kinds"),
    [
        ({"publish_quality_results": False}, {"run", "profile"}),
        ({"publish_profiling_metrics": False}, {"run", "check", "result"}),
    ],
)
def test_skips_kinds_disabled_in_settings(synced: OpenMetadataHarness, off: Json, kinds: set[str]) -> None:
    synced.apply(run_with_checks(0)).converge()
    synced.connect(OpenMetadataOptions(LAYOUT, **off))
    observation_kinds = {"run", "check", "result", "profile"}
    assert {batch.kind for batch in synced.reconciler.compare()} & observation_kinds == kinds


def test_pushed_items_are_read_by_index(sqlite_store: Any) -> None:
    read, plans = sqlite_store.db.fetch_all, []

    class Explaining:
        def fetch_all(self, query_id: str, *values: object) -> list[Any]:
            plans.extend(step for *_, step in read(f"EXPLAIN QUERY PLAN {query_id}", *values))
            return []

    items = SyncItemStore(Explaining(), "default", "openmetadata", lambda: 0)
    assert list(items.batches_by_entity("run", 10)) == []
    assert plans[0].startswith("SEARCH sync_item USING INDEX ix_sync_item__remote_id")
