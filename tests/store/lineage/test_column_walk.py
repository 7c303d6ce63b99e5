"""Walks of column lineage, with the transformation of each hop."""

import pytest

from bridge.store.lineage.column_walk import ColumnLineageWalker
from bridge.store.lineage.walk import Direction
from tests import factories as make
from tests.factories import Json, columns, dataset, field, run_event, transformation
from tests.stores import Store


def derive(
    number: int, source: str, target: str, fields: dict[str, list[Json]], dataset_inputs: list[Json] | None = None
) -> Json:
    output = dataset(target, columnLineage=columns(fields, dataset_inputs))
    return run_event("COMPLETE", number, run=number, job=f"job{number}", inputs=[dataset(source)], outputs=[output])


PIPELINE = (
    derive(
        1,
        "raw",
        "clean",
        {"mail": [field("raw", "email", transformation())], "id": [field("raw", "id", transformation())]},
    ),
    derive(
        2,
        "clean",
        "report",
        {"who": [field("clean", "mail", transformation("DIRECT", "TRANSFORMATION", masking=True))]},
        [field("clean", "id", transformation("INDIRECT", "JOIN"))],
    ),
    derive(3, "report", "clean", {"mail": [field("report", "who", transformation())]}),
)


def walk_from(
    store: Store, name: str, column: str, direction: Direction, depth: int = 9, max_edges: int = 99
) -> tuple[set[str], str | None]:
    graph = store.graph()
    start = graph.find_dataset("db", name)
    assert start is not None
    column_walk = ColumnLineageWalker(store.db, store.org).walk((start, column), direction, depth, max_edges)
    hops = {
        f"{graph.dataset_name(hop.source[0]).name}.{hop.source[1]}>{graph.dataset_name(hop.target[0]).name}.{hop.target[1]}"
        f" {hop.subtype}{' masked' * hop.masking} {graph.job_name(hop.job).name}"
        for hop in column_walk.hops
    }
    assert len(hops) == len(column_walk.hops)
    return hops, column_walk.truncated_by


@pytest.mark.parametrize(
    ("start", "direction", "depth", "hops", "truncation"),
    [
        ("raw.email", "downstream", 1, {"raw.email>clean.mail IDENTITY job1"}, "depth"),
        (
            "raw.email",
            "downstream",
            9,
            {
                "raw.email>clean.mail IDENTITY job1",
                "clean.mail>report.who TRANSFORMATION masked job2",
                "report.who>clean.mail IDENTITY job3",
            },
            None,
        ),
        ("raw.id", "downstream", 9, {"raw.id>clean.id IDENTITY job1", "clean.id>report. JOIN job2"}, None),
        (
            "report.who",
            "upstream",
            9,
            {
                "clean.id>report. JOIN job2",
                "clean.mail>report.who TRANSFORMATION masked job2",
                "raw.email>clean.mail IDENTITY job1",
                "report.who>clean.mail IDENTITY job3",
            },
            None,
        ),
        ("raw.email", "upstream", 9, set(), None),
        ("raw.nothing", "downstream", 9, set(), None),
    ],
)
def test_column_is_followed_hop_by_hop(
    store: Store, start: str, direction: Direction, depth: int, hops: set[str], truncation: str | None
) -> None:
    store.apply(*PIPELINE)
    assert walk_from(store, *start.split("."), direction, depth) == (hops, truncation)


def test_oversized_walk_is_truncated(store: Store) -> None:
    store.apply(*(derive(n, "raw", f"copy{n}", {"id": [field("raw", "id", transformation())]}) for n in range(1, 6)))
    hops, truncation = walk_from(store, "raw", "id", "downstream", max_edges=3)
    assert (len(hops), truncation) == (3, "size")
    assert walk_from(store, "raw", "id", "downstream", max_edges=5)[1] is None


@pytest.mark.parametrize(
    ("second", "expected"),
    [(0.5, set()), (1, {"a.old>b.y"}), (5, {"a.new>b.y"}), (7, {"a.explicit>b.y"}), (9, {"a.late>b.y"})],
)
@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_walk_as_of_time_uses_newest_run_of_that_time(
    store: Store, second: float, expected: set[str], direction: Direction
) -> None:
    def derive_at(begin: int, source: str) -> Json:
        return run_event(
            "COMPLETE",
            begin,
            run=begin,
            outputs=[dataset("b", columnLineage=columns({"y": [field("a", source, transformation())]}))],
        )

    entry = {
        "type": "DATASET",
        "namespace": "db",
        "name": "b",
        "fields": {"y": {"inputs": [field("a", "explicit", transformation()) | {"type": "DATASET"}]}},
    }
    explicit = run_event("COMPLETE", 6, run=6, job_facets={"lineage": make.facet(entries=[entry])})
    store.apply_each(derive_at(8, "late"), derive_at(1, "old"), explicit, derive_at(4, "new"))
    graph = store.graph()
    start = graph.find_dataset("db", "b" if direction == "upstream" else "a")
    assert start is not None
    walker = ColumnLineageWalker(store.db, store.org, make.micros(second))
    starts = ["y"] if direction == "upstream" else ["old", "new", "explicit", "late"]
    hops = {hop for name in starts for hop in walker.walk((start, name), direction, 9).hops}
    assert {
        f"{graph.dataset_name(hop.source[0]).name}.{hop.source[1]}>{graph.dataset_name(hop.target[0]).name}.{hop.target[1]}"
        for hop in hops
    } == expected
