"""What a change of a dataset reaches."""

import pytest

from bridge.store.impact import Reached, impact
from tests import factories as make
from tests.factories import Json, dataset, run_event
from tests.stores import Store


def made(number: int, source: str, target: str, owner: str = "", steward: str = "") -> Json:
    def owned(name: str) -> Json:
        return {"ownership": make.facet(owners=[{"name": name, "type": "team"}])} if name else {}

    return run_event(
        "COMPLETE", number, run=number, job=f"job{number}", job_facets=owned(owner),
        inputs=[dataset(source)], outputs=[dataset(target, **owned(steward))],
    )  # fmt: skip


def names(reached: list[Reached]) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(one.name.name, one.distance, one.owners) for one in reached]


@pytest.mark.parametrize(
    ("start", "depth", "datasets", "jobs", "owners", "cut"),
    [
        (
            "raw", 9,
            [("clean", 1, ("data",)), ("copy", 1, ()), ("report", 2, ())],
            [("job1", 1, ("etl",)), ("job3", 1, ()), ("job2", 2, ("etl",))],
            ["data", "etl"], None,
        ),
        ("raw", 1, [("clean", 1, ("data",)), ("copy", 1, ())], [("job1", 1, ("etl",)), ("job3", 1, ())], ["data", "etl"], "depth"),
        ("copy", 9, [], [], [], None),
    ],
)  # fmt: skip
def test_a_change_reaches_what_is_made_of_it(
    store: Store,
    start: str,
    depth: int,
    datasets: list[object],
    jobs: list[object],
    owners: list[str],
    cut: str | None,
) -> None:
    store.apply(
        made(1, "raw", "clean", "etl", "data"), made(2, "clean", "report", "etl"), made(3, "raw", "copy"),
        made(4, "report", "report"), made(5, "other", "unreached", "nobody"),
    )  # fmt: skip
    graph = store.graph()
    found = graph.find("db", start)
    assert found is not None
    reached = impact(store.db, store.org, graph, found, depth)
    assert names(reached.datasets) == datasets
    assert [job for job in names(reached.jobs) if job[0] != "job4"] == jobs
    assert (reached.owners, reached.cut) == (owners, cut)
