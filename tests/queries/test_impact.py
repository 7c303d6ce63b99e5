"""What a change of a dataset reaches."""

from typing import Any

import pytest

from bridge.queries.impact import AffectedNode, ImpactQuery
from tests import factories as make
from tests.factories import Json, dataset, dataset_event, job_event, run_event
from tests.stores import Store


def made(number: int, source: str, target: str, owner: str = "", steward: str = "") -> Json:
    def owned(name: str) -> Json:
        return {"ownership": make.facet(owners=[{"name": name, "type": "team"}])} if name else {}

    return run_event(
        "COMPLETE", number, run=number, job=f"job{number}", job_facets=owned(owner),
        inputs=[dataset(source)], outputs=[dataset(target, **owned(steward))],
    )  # fmt: skip


def told(reached: list[AffectedNode]) -> list[tuple[Any, ...]]:
    return [(one.name, one.distance, tuple(one.owners)) for one in reached]


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
    reached = store.ask(ImpactQuery(namespace="db", name=start, depth=depth))
    assert told(reached.datasets) == datasets
    assert [job for job in told(reached.jobs) if job[0] != "job4"] == jobs
    assert (reached.owners, reached.cut) == (owners, cut)


def test_what_was_promised_of_it_is_told_in_its_newest_words(store: Store) -> None:
    store.apply(
        made(1, "raw", "clean"),
        job_event(2, job="job1", lineageBridge_sla=make.facet(max_duration="45m")),
        dataset_event(4, dataset("clean", lineageBridge_sla=make.facet(expected_by="06:30"))),
        dataset_event(3, dataset("clean", lineageBridge_sla=make.facet(expected_by="09:00"))),
    )
    reached = store.ask(ImpactQuery(namespace="db", name="raw"))
    assert [one.sla for one in (*reached.datasets, *reached.jobs)] == [
        {"expected_by": "06:30"},
        {"max_duration": "45m"},
    ]
