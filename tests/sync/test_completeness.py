"""How much of what OpenMetadata shall have it has, counted by reading it; never more than there is."""

from collections.abc import Callable, Iterator

import pytest

from bridge.sync.comparison import ComparisonReport, KindReport, ReportBuilder, percent, read_report
from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import DELETION
from bridge.sync.target import ComparedBatch, Difference, ExpectedCount
from tests.factories import Json, dataset, facet, run_event, schema
from tests.standins.openmetadata import OpenMetadata as StandIn
from tests.standins.openmetadata import error, failing_rows
from tests.sync.openmetadata_harness import LAYOUT, Synced
from tests.sync.other_writers import Person

HOUR = 3_600.0
A, T = "warehouse.d.s.a", "warehouse.d.s.t"


def copied(source: str, target: str, run: int, second: float = 0, state: str = "COMPLETE") -> Json:
    """A run that makes one table of another."""
    return run_event(
        state, run=run, second=second, job=f"make {target}", inputs=[dataset(source)], outputs=[dataset(target)]
    )


@pytest.fixture
def synced() -> Iterator[Synced]:
    """Three tables, two jobs, two edges."""
    made = Synced()
    made.compare_seconds = HOUR
    with made:
        made.apply(copied("a", "t", 1), copied("t", "u", 2)).converge()
        yield made


def compared(synced: Synced) -> dict[str, KindReport]:
    """Let a comparison come to its end, and give what it found, by kind."""
    synced.compare()
    found = figures(synced)
    assert found is not None
    return dict(found.kinds)


def figures(synced: Synced) -> ComparisonReport | None:
    return read_report(synced.store.db, "default", "openmetadata")


def compared_though_some_wait(synced: Synced) -> dict[str, KindReport]:
    """Let the first comparison come to its end, and give what it found."""
    synced.clock.wait(HOUR + 60)
    while (found := figures(synced)) is None:
        synced.round()
        synced.clock.wait(1)
    return dict(found.kinds)


def complete(synced: Synced, kind: str) -> tuple[int, int]:
    found = compared(synced)[kind]
    return found.in_sync, found.expected


def test_nothing_is_told_before_anything_was_read(synced: Synced) -> None:
    synced.clock.wait(HOUR / 2)
    synced.round()
    assert figures(synced) is None


def test_all_that_shall_be_there_was_found(synced: Synced) -> None:
    found = compared(synced)
    assert {kind: found[kind] for kind in ("dataset", "job", "lineage")} == {
        "dataset": KindReport(3, 0, 3, 0),
        "job": KindReport(2, 0, 2, 0),
        "lineage": KindReport(2, 0, 2, 0),
    }
    assert {one.percent for one in found.values() if one.expected} == {100.0}
    assert figures(synced).ended_at <= synced.clock()  # type: ignore[union-attr]


def drop_edge(synced: Synced) -> None:
    person = Person(synced.standin)
    person.ask("DELETE", f"lineage/table/{person.find('table', A).id}/table/{person.find('table', T).id}")


def drop_table(synced: Synced) -> None:
    person = Person(synced.standin)
    person.ask("DELETE", f"tables/{person.find('table', T).id}?hardDelete=true")


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (drop_edge, {"dataset": (3, 3), "lineage": (1, 2)}),
        (drop_table, {"dataset": (2, 3), "lineage": (2, 2)}),  # its edges came back with it before they were read
    ],
)
def test_what_others_took_away_is_missing_until_it_was_read_again(
    synced: Synced, damage: Callable[[Synced], None], found: dict[str, tuple[int, int]]
) -> None:
    damage(synced)
    told = compared(synced)
    assert {kind: (told[kind].in_sync, told[kind].expected) for kind in found} == found
    assert compared(synced)["lineage"]._replace(checked=2) == KindReport(
        2, 0, 2, 0
    )  # what was taken back is looked at too


def refused_edge(synced: Synced) -> None:
    """An edge that the server does not take."""
    synced.standin.faults.plan = lambda _, method, path: (
        error(400, "No such edge") if (method, path) == ("PUT", "/api/v1/lineage") else None
    )
    synced.apply(copied("a", "v", 3))


def refused_table(synced: Synced) -> None:
    """A table that the server does not take: its edge cannot be there either."""
    synced.standin.faults.next(failing_rows("v"), path="/tables/bulk")
    synced.apply(copied("a", "v", 3))


def unfinished(synced: Synced) -> None:
    """A table that no complete run wrote yet."""
    synced.apply(copied("a", "v", 3, state="START"))


@pytest.mark.parametrize(
    ("change", "tables", "edges"),
    [(refused_edge, (4, 4), (2, 3)), (refused_table, (3, 4), (2, 3)), (unfinished, (3, 4), (2, 3))],
)
def test_what_is_refused_or_waits_is_missing(
    synced: Synced, change: Callable[[Synced], None], tables: tuple[int, int], edges: tuple[int, int]
) -> None:
    change(synced)
    synced.converge()
    told = compared(synced)
    assert (told["dataset"].in_sync, told["dataset"].expected) == tables
    assert (told["lineage"].in_sync, told["lineage"].expected) == edges
    assert told["lineage"].percent == 66.66


def test_what_has_no_place_is_missing() -> None:
    synced = Synced(OpenMetadataOptions(LAYOUT, create="nothing"))
    synced.compare_seconds = HOUR
    with synced:
        synced.apply(copied("a", "t", 1)).converge()
        found = compared(synced)
        assert (found["dataset"].in_sync, found["dataset"].expected) == (0, 2)
        assert (found["lineage"].in_sync, found["lineage"].expected) == (0, 1)


def test_what_was_dropped_or_is_not_to_be_told_is_not_missed(synced: Synced) -> None:
    gone = dataset("u", lifecycleStateChange=facet(lifecycleStateChange="DROP"))
    synced.apply(run_event(run=9, second=9, job="drop", outputs=[gone])).converge()
    assert complete(synced, "dataset") == (2, 2)
    assert complete(synced, "lineage") == (1, 1)
    synced.connect(OpenMetadataOptions(LAYOUT, track_lineage=False))
    synced.reconciler.enable()
    synced.converge()
    assert compared(synced)["lineage"] == KindReport(0, 0, 0, 0)


def test_neither_edge_of_what_lies_between_is_missed_once_it_is_dropped(synced: Synced) -> None:
    gone = dataset("t", lifecycleStateChange=facet(lifecycleStateChange="DROP"))
    synced.apply(run_event(run=9, second=9, job="drop", outputs=[gone])).converge()
    assert complete(synced, "dataset") == (2, 2)
    assert complete(synced, "lineage") == (0, 0)


def test_what_cannot_be_taken_back_is_no_edge_that_shall_be_there(synced: Synced) -> None:
    synced.standin.faults.plan = lambda _, method, path: (
        error(400) if method == "DELETE" and "lineage" in path else None
    )
    gone = dataset("u", lifecycleStateChange=facet(lifecycleStateChange="DROP"))
    synced.apply(run_event(run=9, second=9, job="drop", outputs=[gone]))
    found = compared_though_some_wait(synced)["lineage"]
    assert (len(synced.edges()), found.in_sync, found.expected) == (2, 1, 1)


def test_what_waits_for_its_turn_is_missing_though_it_is_there_as_it_was(synced: Synced) -> None:
    synced.standin.faults.plan = lambda _, __, path: error(429) if path.endswith("/tables/bulk") else None
    changed = dataset("u", schema=schema("k"))
    synced.apply(run_event(run=9, second=9, job="make u", inputs=[dataset("t")], outputs=[changed]))
    found = compared_though_some_wait(synced)["dataset"]
    assert (found.in_sync, found.expected, found.checked) == (2, 3, 2)


def test_what_changed_and_was_not_told_yet_is_missing(synced: Synced) -> None:
    """An edge that is there as it was left, and that the store differs by now."""
    synced.standin.faults.plan = lambda _, method, path: (
        error(400) if (method, path) == ("PUT", "/api/v1/lineage") else None
    )
    sql = {"sql": facet(query="insert into t select * from a")}
    synced.apply(
        run_event(run=5, second=5, job="make t", inputs=[dataset("a")], outputs=[dataset("t")], job_facets=sql)
    )
    synced.converge()
    assert complete(synced, "lineage") == (1, 2)


def test_a_comparison_that_was_cut_off_tells_nothing_new(synced: Synced) -> None:
    before = compared(synced)
    ended_at = figures(synced).ended_at  # type: ignore[union-attr]
    drop_edge(synced)
    synced.clock.wait(HOUR + 60)
    synced.standin.faults.plan = lambda _, __, path: error(503) if "lineage" in path else None
    for _ in range(10):
        synced.round()
    assert (figures(synced).kinds, figures(synced).ended_at) == (before, ended_at)  # type: ignore[union-attr]


def test_what_another_server_had_says_nothing_of_this_one(synced: Synced) -> None:
    compared(synced)
    synced.connect(OpenMetadataOptions(LAYOUT, track_column_lineage=False))
    synced.reconciler.enable()
    assert figures(synced) is not None
    with StandIn() as other:
        synced.connect(url=other.url, token=other.bot_token)
        synced.reconciler.enable()
        assert figures(synced) is None


def test_a_fault_in_the_middle_is_no_end(synced: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[ComparedBatch]:
        yield ComparedBatch("dataset", 3, ())
        raise ArithmeticError

    monkeypatch.setattr(synced.target, "compare", broken)
    synced.clock.wait(HOUR + 60)
    for _ in range(10):
        try:
            synced.round()
        except ArithmeticError:
            break
    synced.round()
    assert figures(synced) is None


@pytest.mark.parametrize(
    ("found", "wanted", "told"),
    [(0, 0, None), (0, 3, 0.0), (3, 3, 100.0), (2, 3, 66.66), (99_999, 100_000, 99.99), (57, 100, 57.0)],
)
def test_a_percentage_is_a_hundred_only_when_nothing_is_missing(found: int, wanted: int, told: float | None) -> None:
    assert percent(found, wanted) == told


def test_kinds_are_counted_by_what_is_read_of_them() -> None:
    tally = ReportBuilder()
    for owed in (
        ExpectedCount("result", 5, 1),
        ExpectedCount("result", 2, 0),
        ExpectedCount("profile", 9, 9),
        ExpectedCount("lineage", 4, 4),
    ):
        tally.add_expected(owed)
    tally.add(ComparedBatch(DELETION, 3, ()))
    tally.add(ComparedBatch("result", 6, [Difference("result", b"k", "case", "is missing")]))
    assert tally.reports({"lineage"}) == {"result": KindReport(7, 1, 6, 1), "lineage": KindReport(4, 4, 0, 0)}
    assert tally.reports({"lineage"})["result"].in_sync == 5


def test_more_misses_than_wishes_are_nothing_found() -> None:
    assert KindReport(2, 2, 3, 1).in_sync == 0


def test_figures_of_both_stores(store: object) -> None:
    synced = Synced(db=store.db)  # type: ignore[attr-defined]
    synced.compare_seconds = HOUR
    with synced:
        synced.apply(copied("a", "t", 1)).converge()
        for _ in range(2):  # the second takes the place of the first
            assert compared(synced)["lineage"] == KindReport(1, 0, 1, 0)


def test_what_is_due_is_pushed_before_all_is_counted(synced: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synced.target, "count_expected", lambda: iter([ExpectedCount("dataset", 1, 0)] * 15))
    synced.clock.wait(HOUR + 60)
    assert synced.quiet() == {}  # ten are counted
    synced.apply(copied("a", "late", 9))
    done = synced.round()
    assert (done["pushed"] > 0, done["compared"] > 0) == (True, True)
    assert figures(synced) is None
    while not synced.reconciler.step().idle:
        pass
    assert figures(synced).kinds["dataset"].expected == 15  # type: ignore[union-attr]
