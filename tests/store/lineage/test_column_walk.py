"""Walks from column to column, with what is done on each hop."""

import pytest

from bridge.store.lineage.column_walk import ColumnLineageWalker
from bridge.store.lineage.walk import Direction
from tests import factories as make
from tests.factories import Json, columns, dataset, done, field, run_event
from tests.stores import Store


def made(
    number: int, source: str, target: str, fields: dict[str, list[Json]], whole: list[Json] | None = None
) -> Json:
    output = dataset(target, columnLineage=columns(fields, whole))
    return run_event("COMPLETE", number, run=number, job=f"job{number}", inputs=[dataset(source)], outputs=[output])


PIPELINE = (
    made(1, "raw", "clean", {"mail": [field("raw", "email", done())], "id": [field("raw", "id", done())]}),
    made(
        2,
        "clean",
        "report",
        {"who": [field("clean", "mail", done("DIRECT", "TRANSFORMATION", masking=True))]},
        [field("clean", "id", done("INDIRECT", "JOIN"))],
    ),
    made(3, "report", "clean", {"mail": [field("report", "who", done())]}),
)


def walked(
    store: Store, name: str, column: str, direction: Direction, depth: int = 9, most: int = 99
) -> tuple[set[str], str | None]:
    graph = store.graph()
    start = graph.find_dataset("db", name)
    assert start is not None
    found = ColumnLineageWalker(store.db, store.org).walk((start, column), direction, depth, most)
    told = {
        f"{graph.dataset_name(hop.source[0]).name}.{hop.source[1]}>{graph.dataset_name(hop.target[0]).name}.{hop.target[1]}"
        f" {hop.subtype}{' masked' * hop.masking} {graph.job_name(hop.job).name}"
        for hop in found.hops
    }
    assert len(told) == len(found.hops)
    return told, found.truncated_by


@pytest.mark.parametrize(
    ("start", "direction", "depth", "hops", "cut"),
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
def test_a_column_is_followed_hop_by_hop(
    store: Store, start: str, direction: Direction, depth: int, hops: set[str], cut: str | None
) -> None:
    store.apply(*PIPELINE)
    assert walked(store, *start.split("."), direction, depth) == (hops, cut)


def test_a_walk_that_is_too_large_says_so(store: Store) -> None:
    store.apply(*(made(n, "raw", f"copy{n}", {"id": [field("raw", "id", done())]}) for n in range(1, 6)))
    found, cut = walked(store, "raw", "id", "downstream", most=3)
    assert (len(found), cut) == (3, "size")
    assert walked(store, "raw", "id", "downstream", most=5)[1] is None


@pytest.mark.parametrize(
    ("second", "shown"),
    [(0.5, set()), (1, {"a.old>b.y"}), (5, {"a.new>b.y"}), (7, {"a.explicit>b.y"}), (9, {"a.late>b.y"})],
)
@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_a_walk_of_the_past_knows_what_the_newest_run_of_then_said(
    store: Store, second: float, shown: set[str], direction: Direction
) -> None:
    def said(begin: int, source: str) -> Json:
        return run_event(
            "COMPLETE",
            begin,
            run=begin,
            outputs=[dataset("b", columnLineage=columns({"y": [field("a", source, done())]}))],
        )

    entry = {
        "type": "DATASET",
        "namespace": "db",
        "name": "b",
        "fields": {"y": {"inputs": [field("a", "explicit", done()) | {"type": "DATASET"}]}},
    }
    explicit = run_event("COMPLETE", 6, run=6, job_facets={"lineage": make.facet(entries=[entry])})
    store.apply_each(said(8, "late"), said(1, "old"), explicit, said(4, "new"))
    graph = store.graph()
    start = graph.find_dataset("db", "b" if direction == "upstream" else "a")
    assert start is not None
    walk = ColumnLineageWalker(store.db, store.org, make.micros(second))
    starts = ["y"] if direction == "upstream" else ["old", "new", "explicit", "late"]
    found = {hop for name in starts for hop in walk.walk((start, name), direction, 9).hops}
    assert {
        f"{graph.dataset_name(h.source[0]).name}.{h.source[1]}>{graph.dataset_name(h.target[0]).name}.{h.target[1]}"
        for h in found
    } == shown
