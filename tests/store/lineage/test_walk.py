"""Lineage walks: each edge once in graphs of any shape, limits, and agreement of both directions."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.store.lineage.graph import LineageGraph
from bridge.store.lineage.walk import Direction, LineageWalk, walk
from tests import factories as make
from tests.factories import Json, dataset, run_event
from tests.laws.strategies import events
from tests.laws.test_convergence import captured
from tests.stores import Store

CHAIN = ("a>b", "b>c", "c>d")
CYCLE = ("a>b", "b>c", "c>a")
DIAMOND = ("a>b", "a>c", "b>d", "c>d")


def runs_for(pairs: Iterable[str], second: int = 0) -> list[Json]:
    """Build one run of a separate job for each `source>target`."""
    endpoints = [pair.split(">") for pair in pairs]
    return [
        run_event(
            "COMPLETE", second + i, run=second + i + 1, job=f"{a}-{b}", inputs=[dataset(a)], outputs=[dataset(b)]
        )
        for i, (a, b) in enumerate(endpoints)
    ]


def walk_from(
    store: Store, name: str, direction: Direction, depth: int = 9, max_edges: int = 99
) -> tuple[list[str], str | None]:
    graph = store.graph()
    start = graph.find_dataset("db", name)
    assert start is not None
    lineage_walk = walk(graph, start, direction, depth, max_edges)
    return sorted(_describe_edges(graph, lineage_walk)), lineage_walk.truncated_by


def _describe_edges(graph: LineageGraph, lineage_walk: LineageWalk) -> list[str]:
    return [
        f"{graph.dataset_name(edge.source).name if edge.source else '?'}>{graph.dataset_name(edge.target).name}"
        for edge in lineage_walk.edges
    ]


@pytest.mark.parametrize(
    ("pairs", "start", "direction", "depth", "expected", "truncation"),
    [
        (CHAIN, "a", "downstream", 9, ["a>b", "b>c", "c>d"], None),
        (CHAIN, "d", "upstream", 9, ["a>b", "b>c", "c>d"], None),
        (CHAIN, "b", "downstream", 1, ["b>c"], "depth"),
        (CHAIN, "d", "downstream", 9, [], None),
        (CYCLE, "a", "downstream", 9, ["a>b", "b>c", "c>a"], None),
        (CYCLE, "a", "upstream", 2, ["b>c", "c>a"], "depth"),
        (DIAMOND, "a", "downstream", 9, ["a>b", "a>c", "b>d", "c>d"], None),
        (DIAMOND, "d", "upstream", 9, ["a>b", "a>c", "b>d", "c>d"], None),
        (("a>a",), "a", "downstream", 9, ["a>a"], None),
    ],
)
def test_walk_returns_every_edge_once(
    store: Store,
    pairs: tuple[str, ...],
    start: str,
    direction: Direction,
    depth: int,
    expected: list[str],
    truncation: str | None,
) -> None:
    store.apply(*runs_for(pairs))
    assert walk_from(store, start, direction, depth) == (expected, truncation)


def test_oversized_walk_is_truncated(store: Store) -> None:
    store.apply(*runs_for(f"a>b{number}" for number in range(5)))
    edges, truncation = walk_from(store, "a", "downstream", max_edges=3)
    assert (len(edges), truncation) == (3, "size")
    assert walk_from(store, "a", "downstream", max_edges=5)[1] is None


def test_walk_as_of_time_ignores_later_runs(store: Store) -> None:
    store.apply(*runs_for(["a>b"]), *runs_for(["c>b"], second=10))
    for second, sources in ((-1, set()), (0, {"a"}), (9.9, {"a"}), (10, {"a", "c"})):
        graph = LineageGraph(store.db, store.org, until=make.micros(second))
        group = graph.find_dataset("db", "b")
        assert group is not None
        assert {graph.dataset_name(edge.source).name for edge in graph.upstream([group]) if edge.source} == sources
        groups = [graph.find_dataset("db", name) for name in ("a", "c")]
        assert len(graph.downstream([source_group for source_group in groups if source_group])) == len(sources)


def assert_directions_agree(store: Store) -> None:
    """Edges found from their sources are those found from their targets, at every granularity."""
    groups = [group for (group,) in store.rows("SELECT DISTINCT class_id FROM ol_dataset")]
    for granularity in ("run", "step", "job", "root"):
        graph = store.graph(granularity)
        edges = {edge for edge in graph.upstream(groups) if edge.source}
        assert graph.downstream(groups) == edges
        assert {edge for group in groups for edge in graph.upstream([group]) if edge.source} == edges
        assert {edge for group in groups for edge in graph.downstream([group])} == edges


@given(st.lists(events, max_size=6))
@settings(max_examples=150)
def test_upstream_and_downstream_agree(sent: list[Json]) -> None:
    with Store() as store:
        assert_directions_agree(store.apply(*sent))


@pytest.mark.parametrize(
    "name", ["b_join_aggregate", "c_sql_tables_inmemory", "e_iceberg", "f_delta", "i_multi_step_parent"]
)
def test_upstream_and_downstream_agree_on_real_events(store: Store, name: str) -> None:
    assert_directions_agree(store.apply(*captured(f"spark-4.1.4/{name}.ndjson")))


@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_walk_scans_no_table(sqlite_store: Store, direction: Direction, monkeypatch: pytest.MonkeyPatch) -> None:
    sqlite_store.apply(*captured("spark-4.1.4/b_join_aggregate.ndjson"), *runs_for(CHAIN))
    fetch_all, plans = sqlite_store.db.fetch_all, []

    def explain_and_fetch(sql: str, *values: object) -> list[tuple[object, ...]]:
        plans.extend((step, sql) for *_, step in fetch_all(f"EXPLAIN QUERY PLAN {sql}", *values))
        return fetch_all(sql, *values)

    monkeypatch.setattr(sqlite_store.db, "fetch_all", explain_and_fetch)
    walk_from(sqlite_store, "b", direction)
    assert len(plans) > 20
    assert [plan for plan in plans if plan[0].startswith("SCAN") and "CONSTANT" not in plan[0]] == []
