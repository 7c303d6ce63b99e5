"""Completeness figures of comparisons: expected items found in OpenMetadata."""

from collections.abc import Callable, Iterator

import pytest

from bridge.sync.comparison import ComparisonReport, KindReport, ReportBuilder, percent, read_report
from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import DELETION
from bridge.sync.target import ComparedBatch, Difference, ExpectedCount
from tests.factories import Json, dataset, facet, run_event, schema
from tests.standins.openmetadata import OpenMetadata as StandIn
from tests.standins.openmetadata import error, failing_rows
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness
from tests.sync.other_writers import Person

HOUR = 3_600.0
A, T = "warehouse.d.s.a", "warehouse.d.s.t"


def copy_run(source: str, target: str, run: int, second: float = 0, state: str = "COMPLETE") -> Json:
    """A run that copies one table to another."""
    return run_event(
        state, run=run, second=second, job=f"make {target}", inputs=[dataset(source)], outputs=[dataset(target)]
    )


@pytest.fixture
def synced() -> Iterator[OpenMetadataHarness]:
    """Three tables, two jobs, two edges."""
    harness = OpenMetadataHarness()
    harness.compare_seconds = HOUR
    with harness:
        harness.apply(copy_run("a", "t", 1), copy_run("t", "u", 2)).converge()
        yield harness


def compare_by_kind(synced: OpenMetadataHarness) -> dict[str, KindReport]:
    """Run a full comparison and return its reports by kind."""
    synced.compare()
    report = latest_report(synced)
    assert report is not None
    return dict(report.kinds)


def latest_report(synced: OpenMetadataHarness) -> ComparisonReport | None:
    return read_report(synced.store.db, "default", "openmetadata")


def first_comparison(synced: OpenMetadataHarness) -> dict[str, KindReport]:
    """Run the first comparison, even if items remain unsettled, and return its reports by kind."""
    synced.clock.wait(HOUR + 60)
    while (report := latest_report(synced)) is None:
        synced.round()
        synced.clock.wait(1)
    return dict(report.kinds)


def in_sync_and_expected(synced: OpenMetadataHarness, kind: str) -> tuple[int, int]:
    report = compare_by_kind(synced)[kind]
    return report.in_sync, report.expected


def test_no_report_before_first_comparison(synced: OpenMetadataHarness) -> None:
    synced.clock.wait(HOUR / 2)
    synced.round()
    assert latest_report(synced) is None


def test_complete_target_is_100_percent_in_sync(synced: OpenMetadataHarness) -> None:
    reports = compare_by_kind(synced)
    assert {kind: reports[kind] for kind in ("dataset", "job", "lineage")} == {
        "dataset": KindReport(3, 0, 3, 0),
        "job": KindReport(2, 0, 2, 0),
        "lineage": KindReport(2, 0, 2, 0),
    }
    assert {report.percent for report in reports.values() if report.expected} == {100.0}
    assert latest_report(synced).ended_at <= synced.clock()  # type: ignore[union-attr]


def drop_edge(synced: OpenMetadataHarness) -> None:
    person = Person(synced.standin)
    person.request("DELETE", f"lineage/table/{person.find('table', A).id}/table/{person.find('table', T).id}")


def drop_table(synced: OpenMetadataHarness) -> None:
    person = Person(synced.standin)
    person.request("DELETE", f"tables/{person.find('table', T).id}?hardDelete=true")


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (drop_edge, {"dataset": (3, 3), "lineage": (1, 2)}),
        (drop_table, {"dataset": (2, 3), "lineage": (2, 2)}),  # restored with its edges before these were compared
    ],
)
def test_deleted_items_are_missing_until_next_comparison(
    synced: OpenMetadataHarness, damage: Callable[[OpenMetadataHarness], None], expected: dict[str, tuple[int, int]]
) -> None:
    damage(synced)
    reports = compare_by_kind(synced)
    assert {kind: (reports[kind].in_sync, reports[kind].expected) for kind in expected} == expected
    assert compare_by_kind(synced)["lineage"]._replace(checked=2) == KindReport(
        2, 0, 2, 0
    )  # deletions are checked too


def reject_edge(synced: OpenMetadataHarness) -> None:
    """Add an edge that the server rejects."""
    synced.standin.faults.plan = lambda _, method, path: (
        error(400, "No such edge") if (method, path) == ("PUT", "/api/v1/lineage") else None
    )
    synced.apply(copy_run("a", "v", 3))


def reject_table(synced: OpenMetadataHarness) -> None:
    """Add a table that the server rejects, so its edge is missing too."""
    synced.standin.faults.next(failing_rows("v"), path="/tables/bulk")
    synced.apply(copy_run("a", "v", 3))


def start_run(synced: OpenMetadataHarness) -> None:
    """Add a table without a complete run."""
    synced.apply(copy_run("a", "v", 3, state="START"))


@pytest.mark.parametrize(
    ("change", "tables", "edges"),
    [(reject_edge, (4, 4), (2, 3)), (reject_table, (3, 4), (2, 3)), (start_run, (3, 4), (2, 3))],
)
def test_rejected_and_waiting_items_are_missing(
    synced: OpenMetadataHarness,
    change: Callable[[OpenMetadataHarness], None],
    tables: tuple[int, int],
    edges: tuple[int, int],
) -> None:
    change(synced)
    synced.converge()
    reports = compare_by_kind(synced)
    assert (reports["dataset"].in_sync, reports["dataset"].expected) == tables
    assert (reports["lineage"].in_sync, reports["lineage"].expected) == edges
    assert reports["lineage"].percent == 66.66


def test_unresolved_items_are_missing() -> None:
    synced = OpenMetadataHarness(OpenMetadataOptions(LAYOUT, create="nothing"))
    synced.compare_seconds = HOUR
    with synced:
        synced.apply(copy_run("a", "t", 1)).converge()
        reports = compare_by_kind(synced)
        assert (reports["dataset"].in_sync, reports["dataset"].expected) == (0, 2)
        assert (reports["lineage"].in_sync, reports["lineage"].expected) == (0, 1)


def test_dropped_and_disabled_items_are_not_expected(synced: OpenMetadataHarness) -> None:
    dropped = dataset("u", lifecycleStateChange=facet(lifecycleStateChange="DROP"))
    synced.apply(run_event(run=9, second=9, job="drop", outputs=[dropped])).converge()
    assert in_sync_and_expected(synced, "dataset") == (2, 2)
    assert in_sync_and_expected(synced, "lineage") == (1, 1)
    synced.connect(OpenMetadataOptions(LAYOUT, track_lineage=False))
    synced.reconciler.enable()
    synced.converge()
    assert compare_by_kind(synced)["lineage"] == KindReport(0, 0, 0, 0)


def test_edges_of_dropped_table_are_not_expected(synced: OpenMetadataHarness) -> None:
    dropped = dataset("t", lifecycleStateChange=facet(lifecycleStateChange="DROP"))
    synced.apply(run_event(run=9, second=9, job="drop", outputs=[dropped])).converge()
    assert in_sync_and_expected(synced, "dataset") == (2, 2)
    assert in_sync_and_expected(synced, "lineage") == (0, 0)


def test_edge_that_cannot_be_deleted_is_not_expected(synced: OpenMetadataHarness) -> None:
    synced.standin.faults.plan = lambda _, method, path: (
        error(400) if method == "DELETE" and "lineage" in path else None
    )
    dropped = dataset("u", lifecycleStateChange=facet(lifecycleStateChange="DROP"))
    synced.apply(run_event(run=9, second=9, job="drop", outputs=[dropped]))
    report = first_comparison(synced)["lineage"]
    assert (len(synced.edges()), report.in_sync, report.expected) == (2, 1, 1)


def test_outdated_postponed_item_is_missing(synced: OpenMetadataHarness) -> None:
    synced.standin.faults.plan = lambda _, __, path: error(429) if path.endswith("/tables/bulk") else None
    changed = dataset("u", schema=schema("k"))
    synced.apply(run_event(run=9, second=9, job="make u", inputs=[dataset("t")], outputs=[changed]))
    report = first_comparison(synced)["dataset"]
    assert (report.in_sync, report.expected, report.checked) == (2, 3, 2)


def test_edge_with_rejected_update_is_missing(synced: OpenMetadataHarness) -> None:
    """The server has the old edge; the store has newer SQL."""
    synced.standin.faults.plan = lambda _, method, path: (
        error(400) if (method, path) == ("PUT", "/api/v1/lineage") else None
    )
    sql = {"sql": facet(query="insert into t select * from a")}
    synced.apply(
        run_event(run=5, second=5, job="make t", inputs=[dataset("a")], outputs=[dataset("t")], job_facets=sql)
    )
    synced.converge()
    assert in_sync_and_expected(synced, "lineage") == (1, 2)


def test_interrupted_comparison_keeps_previous_report(synced: OpenMetadataHarness) -> None:
    before = compare_by_kind(synced)
    ended_at = latest_report(synced).ended_at  # type: ignore[union-attr]
    drop_edge(synced)
    synced.clock.wait(HOUR + 60)
    synced.standin.faults.plan = lambda _, __, path: error(503) if "lineage" in path else None
    for _ in range(10):
        synced.round()
    assert (latest_report(synced).kinds, latest_report(synced).ended_at) == (before, ended_at)  # type: ignore[union-attr]


def test_report_is_discarded_when_server_changes(synced: OpenMetadataHarness) -> None:
    compare_by_kind(synced)
    synced.connect(OpenMetadataOptions(LAYOUT, track_column_lineage=False))
    synced.reconciler.enable()
    assert latest_report(synced) is not None
    with StandIn() as other_server:
        synced.connect(url=other_server.url, token=other_server.bot_token)
        synced.reconciler.enable()
        assert latest_report(synced) is None


def test_failed_comparison_writes_no_report(synced: OpenMetadataHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_midway() -> Iterator[ComparedBatch]:
        yield ComparedBatch("dataset", 3, ())
        raise ArithmeticError

    monkeypatch.setattr(synced.target, "compare", fail_midway)
    synced.clock.wait(HOUR + 60)
    for _ in range(10):
        try:
            synced.round()
        except ArithmeticError:
            break
    synced.round()
    assert latest_report(synced) is None


@pytest.mark.parametrize(
    ("found", "expected", "percentage"),
    [(0, 0, None), (0, 3, 0.0), (3, 3, 100.0), (2, 3, 66.66), (99_999, 100_000, 99.99), (57, 100, 57.0)],
)
def test_percentage_is_100_only_if_nothing_is_missing(found: int, expected: int, percentage: float | None) -> None:
    assert percent(found, expected) == percentage


def test_report_builder_counts_by_kind() -> None:
    builder = ReportBuilder()
    for count in (
        ExpectedCount("result", 5, 1),
        ExpectedCount("result", 2, 0),
        ExpectedCount("profile", 9, 9),
        ExpectedCount("lineage", 4, 4),
    ):
        builder.add_expected(count)
    builder.add_compared(ComparedBatch(DELETION, 3, ()))
    builder.add_compared(ComparedBatch("result", 6, [Difference("result", b"k", "case", "is missing")]))
    assert builder.reports({"lineage"}) == {"result": KindReport(7, 1, 6, 1), "lineage": KindReport(4, 4, 0, 0)}
    assert builder.reports({"lineage"})["result"].in_sync == 5


def test_in_sync_is_never_negative() -> None:
    assert KindReport(2, 2, 3, 1).in_sync == 0


def test_second_comparison_replaces_report(store: object) -> None:
    synced = OpenMetadataHarness(db=store.db)  # type: ignore[attr-defined]
    synced.compare_seconds = HOUR
    with synced:
        synced.apply(copy_run("a", "t", 1)).converge()
        for _ in range(2):
            assert compare_by_kind(synced)["lineage"] == KindReport(1, 0, 1, 0)


def test_pushes_due_items_while_counting(synced: OpenMetadataHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synced.target, "count_expected", lambda: iter([ExpectedCount("dataset", 1, 0)] * 15))
    synced.clock.wait(HOUR + 60)
    assert synced.calls_of_next_round() == {}  # counts ten items
    synced.apply(copy_run("a", "late", 9))
    outcomes = synced.round()
    assert (outcomes["pushed"] > 0, outcomes["compared"] > 0) == (True, True)
    assert latest_report(synced) is None
    while not synced.reconciler.step().idle:
        pass
    assert latest_report(synced).kinds["dataset"].expected == 15  # type: ignore[union-attr]
