"""Walks: every dataset once, whatever the shape, and a word about what was cut."""

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


def writes(pairs: Iterable[str], second: int = 0) -> list[Json]:
    """Make one run of a job of its own for each `source>target`."""
    ends = [pair.split(">") for pair in pairs]
    return [
        run_event(
            "COMPLETE", second + i, run=second + i + 1, job=f"{a}-{b}", inputs=[dataset(a)], outputs=[dataset(b)]
        )
        for i, (a, b) in enumerate(ends)
    ]


def walked(
    store: Store, name: str, direction: Direction, depth: int = 9, most: int = 99
) -> tuple[list[str], str | None]:
    graph = store.graph()
    start = graph.find_dataset("db", name)
    assert start is not None
    found = walk(graph, start, direction, depth, most)
    return sorted(_pairs(graph, found)), found.truncated_by


def _pairs(graph: LineageGraph, found: LineageWalk) -> list[str]:
    return [
        f"{graph.dataset_name(e.source).name if e.source else '?'}>{graph.dataset_name(e.target).name}"
        for e in found.edges
    ]


@pytest.mark.parametrize(
    ("pairs", "start", "direction", "depth", "found", "cut"),
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
def test_a_walk_takes_every_edge_once(
    store: Store,
    pairs: tuple[str, ...],
    start: str,
    direction: Direction,
    depth: int,
    found: list[str],
    cut: str | None,
) -> None:
    store.apply(*writes(pairs))
    assert walked(store, start, direction, depth) == (found, cut)


def test_a_walk_that_is_too_large_says_so(store: Store) -> None:
    store.apply(*writes(f"a>b{number}" for number in range(5)))
    found, cut = walked(store, "a", "downstream", most=3)
    assert (len(found), cut) == (3, "size")
    assert walked(store, "a", "downstream", most=5)[1] is None


def test_a_walk_of_the_past_knows_only_runs_that_had_begun(store: Store) -> None:
    store.apply(*writes(["a>b"]), *writes(["c>b"], second=10))
    for second, sources in ((-1, set()), (0, {"a"}), (9.9, {"a"}), (10, {"a", "c"})):
        graph = LineageGraph(store.db, store.org, until=make.micros(second))
        found = graph.find_dataset("db", "b")
        assert found is not None
        assert {graph.dataset_name(e.source).name for e in graph.upstream([found]) if e.source} == sources
        known = [graph.find_dataset("db", name) for name in ("a", "c")]
        assert len(graph.downstream([one for one in known if one])) == len(sources)


def assert_both_ends_agree(store: Store) -> None:
    """What is found from the sources is what is found from the targets, at every granularity."""
    classes = [found for (found,) in store.rows("SELECT DISTINCT class_id FROM ol_dataset")]
    for granularity in ("run", "step", "job", "root"):
        graph = store.graph(granularity)
        into = {edge for edge in graph.upstream(classes) if edge.source}
        assert graph.downstream(classes) == into
        assert {edge for one in classes for edge in graph.upstream([one]) if edge.source} == into
        assert {edge for one in classes for edge in graph.downstream([one])} == into


@given(st.lists(events, max_size=6))
@settings(max_examples=150)
def test_both_ends_of_an_edge_know_it(said: list[Json]) -> None:
    with Store() as store:
        assert_both_ends_agree(store.apply(*said))


@pytest.mark.parametrize(
    "name", ["b_join_aggregate", "c_sql_tables_inmemory", "e_iceberg", "f_delta", "i_multi_step_parent"]
)
def test_both_ends_of_a_real_edge_know_it(store: Store, name: str) -> None:
    assert_both_ends_agree(store.apply(*captured(f"spark-4.1.4/{name}.ndjson")))


@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_no_table_is_read_as_a_whole(
    sqlite_store: Store, direction: Direction, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlite_store.apply(*captured("spark-4.1.4/b_join_aggregate.ndjson"), *writes(CHAIN))
    read, plans = sqlite_store.db.fetch_all, []

    def explained(sql: str, *values: object) -> list[tuple[object, ...]]:
        plans.extend((step, sql) for *_, step in read(f"EXPLAIN QUERY PLAN {sql}", *values))
        return read(sql, *values)

    monkeypatch.setattr(sqlite_store.db, "fetch_all", explained)
    walked(sqlite_store, "b", direction)
    assert len(plans) > 20
    assert [plan for plan in plans if plan[0].startswith("SCAN") and "CONSTANT" not in plan[0]] == []
