"""What was told of moments, and what was taken back, is put right after somebody broke it or a backup was restored."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bridge.store.marks import mark_everything
from bridge.sync.item import REMOVAL, Outcome
from bridge.sync.openmetadata.rules import Rules
from bridge.sync.told import told as told_of
from mappers.openmetadata.places import Layout, Mapping
from tests.factories import columns, dataset, done, facet, field, job_event, lifecycle, run_event, schema
from tests.standins.openmetadata import OpenMetadata as StandIn
from tests.stores import Store
from tests.sync.backup import Backup
from tests.sync.person import Person
from tests.sync.synced import LAYOUT, Synced

Json = dict[str, Any]
HOUR = 3_600.0
A, T, JOB = "warehouse.d.s.a", "warehouse.d.s.t", "runs.job"
ROWS, NOT_NULL = f"{T}.rows", f"{T}.k.not_null"
WRITES = {"PUT", "POST", "PATCH", "DELETE"}


def checked(
    second: float,
    run: int = 1,
    kind: str = "COMPLETE",
    *,
    name: str = "t",
    rows: int = 3,
    of: str = "k",
    sql: str = "1",
) -> Json:
    """A run of `job` that makes t of a, checks and measures it."""
    checks = [{"assertion": "rows", "success": True}, {"assertion": "not_null", "success": True, "column": "k"}]
    written = dataset(
        name,
        schema=schema("k", "v"),
        columnLineage=columns({of: [field("a", "k", done())]}),
        dataQualityAssertions=facet(assertions=checks),
        output_facets={"dataQualityMetrics": facet(rowCount=rows), "outputStatistics": facet(rowCount=rows)},
    )
    query = {"sql": facet(query=f"SELECT {sql}")}
    read = dataset("a", schema=schema("k"))
    return run_event(kind, second, run=run, inputs=[read], outputs=[written], job_facets=query)


def dropped(second: float, name: str = "t") -> Json:
    """A run of `job`, too, that drops a table."""
    gone = dataset(name, lifecycleStateChange=lifecycle("DROP"))
    return run_event(second=second, run=99, outputs=[gone])


def declared(second: float, source: str) -> Json:
    """What a job declares: it replaces what it declared before."""
    return job_event(second, job="declared", inputs=[dataset(source)], outputs=[dataset("t")])


@pytest.fixture
def synced() -> Iterator[Synced]:
    made = Synced()
    made.compare_seconds = HOUR
    with made:
        yield made


@pytest.fixture
def person(synced: Synced) -> Person:
    return Person(synced.standin)


def said(edge: Json) -> Json:
    by = edge.get("pipeline", {}).get("fullyQualifiedName")
    return {key: edge.get(key) for key in ("columnsLineage", "sqlQuery", "description", "source")} | {"by": by}


def picture(standin: StandIn) -> Json:
    """Tell what a person sees: living entities, edges between them, and each moment that was told, as often as it is."""
    state = standin.state()
    living = {name for (_, name), entity in state["entities"].items() if not entity["deleted"]}
    return {
        "entities": sorted(living),
        "edges": {pair: said(edge) for pair, edge in state["edges"].items() if set(pair) <= living},
        "statuses": {
            name: [(one["timestamp"], one["executionId"], one["executionStatus"]) for one in rows]
            for name, rows in state["statuses"].items()
            if name in living
        },
        "cases": sorted(name for name, case in state["cases"].items() if not case["deleted"]),
        "results": {
            name: [(one["timestamp"], one["testCaseStatus"], one["result"]) for one in rows]
            for name, rows in state["results"].items()
            if not state["cases"][name]["deleted"]
        },
        "profiles": {
            name: sorted((one["timestamp"], one["rowCount"]) for one in kept["table"])
            for name, kept in state["profiles"].items()
            if name in living
        },
    }


def drop_status(standin: StandIn) -> None:
    person = Person(standin)
    (newest, *_) = sorted(standin.store.statuses[person.find("pipeline", JOB).id], reverse=True)
    person.ask("DELETE", f"pipelines/{JOB}/status/{newest}")


def change_status(standin: StandIn) -> None:
    person = Person(standin)
    (known, *_) = standin.store.statuses[person.find("pipeline", JOB).id].values()
    said = {key: known[key] for key in ("timestamp", "executionId")}
    person.ask("PUT", f"pipelines/{JOB}/status", said | {"executionStatus": "Pending", "taskStatus": []})


def drop_case(standin: StandIn) -> None:
    """The recordings have no call that deletes a test case, so the stand-in has none."""
    checks = standin.store.checks
    case = checks.cases.pop(ROWS)
    case.suite.cases.remove(case)


def drop_result(standin: StandIn) -> None:
    (first, *_) = standin.store.checks.cases[ROWS].results
    Person(standin).ask("DELETE", f"dataQuality/testCases/testCaseResults/{ROWS}/{first}")


def change_result(standin: StandIn) -> None:
    results = standin.store.checks.cases[ROWS].results
    for at in list(results):
        results[at] = {**results[at], "testCaseStatus": "Aborted"}


def drop_profile(standin: StandIn) -> None:
    kept = standin.store.profiles[Person(standin).find("table", T).id]
    Person(standin).ask("DELETE", f"tables/{T}/table/{kept.table[0]['timestamp']}/profile")


def make_anew(standin: StandIn) -> None:
    """Lose the table and all that was told of it."""
    person = Person(standin)
    person.ask("DELETE", f"tables/{person.find('table', T).id}?hardDelete=true&recursive=true")


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


def test_a_result_that_a_store_forgot_is_not_told_twice(synced: Synced) -> None:
    synced.apply(checked(0), checked(5, 2)).converge()
    before = picture(synced.standin)["results"]
    db = synced.store.db
    with db.transaction():
        db.run("DELETE FROM sync_item WHERE kind = 'result'")
    mark_everything(db, "default", "openmetadata", synced.clock())
    synced.converge()
    assert picture(synced.standin)["results"] == before


def differences(synced: Synced) -> list[tuple[str, str, str]]:
    """Tell what `verify` tells, without the times."""
    bits = synced.reconciler.compare()
    return sorted((one.kind, one.name.split(" at ")[0], one.what) for bit in bits for one in bit.differences)


def test_what_was_dropped_and_is_wanted_again_is_no_difference_when_a_backup_brings_it_back(synced: Synced) -> None:
    first, then = RESTORED["a table that was dropped and written again"]
    synced.apply(*first).converge()
    backup = Backup(synced.standin)
    for event in then:
        synced.apply(event).converge()
    backup.restore()
    assert {kind for kind, *_ in differences(synced)} == {"run", "result", "profile"}
    assert all(what != "was taken back, and is there again" for *_, what in differences(synced))


@pytest.mark.parametrize("namespace", ["db", "other"])
def test_an_edge_that_one_of_two_names_has_still_stays(namespace: str) -> None:
    names = (Mapping("db", "warehouse", "d", "s"), Mapping("other", "warehouse", "d", "s"), Mapping("jobs", "runs"))
    with Synced(Rules(Layout(names))) as synced:
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
        assert [one for one in differences(synced) if one[2].startswith("was taken back")] == []


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
    monkeypatch.setattr("bridge.sync.openmetadata.told_moments._AT_ONCE", 2)
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
        synced.store.db.run(
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
    removals = [(item.kind, item.key) for item in synced.items_by(Outcome.PUSHED) if item.kind == REMOVAL]
    synced.queue.retry(removals)
    synced.converge()
    assert T in synced.entities("table")


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
    made = Synced(Rules(LAYOUT, most_deletions=2))
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
        (reason,) = {item.reason for item in synced.items.pending(REMOVAL)}
        assert reason.startswith("3 deletions wait, and openmetadata.most_deletions is 2")
        synced.connect(Rules(LAYOUT, most_deletions=3))
        synced.converge()
        assert set(synced.entities("table")) == {A}


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
    back = "was taken back, and is there again"
    assert found == [
        ("check", ROWS, "is not there"),
        ("lineage", f"{A} -> warehouse.d.s.u", back),
        ("profile", T, "is not there"),
        ("profile", T, "is not there"),
        ("removal", "warehouse.d.s.u", back),
        ("result", NOT_NULL, "is not there"),
        ("result", NOT_NULL, "is not there"),
        ("run", JOB, "is not there"),
        ("run", JOB, "is not there"),
        ("run", JOB, "is not there"),
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
    synced.connect(Rules(LAYOUT, **off))
    moments = {"run", "check", "result", "profile"}
    assert {bit.kind for bit in synced.reconciler.compare()} & moments == kinds


def test_what_was_told_is_read_in_the_order_of_its_index(sqlite_store: Any) -> None:
    read, plans = sqlite_store.db.rows, []

    class Explaining:
        def rows(self, sql: str, *values: object) -> list[Any]:
            plans.extend(step for *_, step in read(f"EXPLAIN QUERY PLAN {sql}", *values))
            return []

    assert list(told_of(Explaining(), "default", "openmetadata", "run", 10)) == []
    assert plans[0].startswith("SEARCH sync_item USING INDEX ix_sync_item__remote_id")
