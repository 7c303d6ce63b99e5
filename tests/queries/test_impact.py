"""Impact: datasets, jobs and owners that a change of a dataset affects."""

from typing import Any

import pytest

from bridge.queries.impact import AffectedNode, ImpactQuery
from tests import factories as make
from tests.factories import Json, dataset, dataset_event, job_event, run_event
from tests.stores import Store


def derive(number: int, source: str, target: str, owner: str = "", steward: str = "") -> Json:
    def ownership(name: str) -> Json:
        return {"ownership": make.facet(owners=[{"name": name, "type": "team"}])} if name else {}

    return run_event(
        "COMPLETE", number, run=number, job=f"job{number}", job_facets=ownership(owner),
        inputs=[dataset(source)], outputs=[dataset(target, **ownership(steward))],
    )  # fmt: skip


def summarize(nodes: list[AffectedNode]) -> list[tuple[Any, ...]]:
    return [(node.name, node.distance, tuple(node.owners)) for node in nodes]


@pytest.mark.parametrize(
    ("start", "depth", "datasets", "jobs", "owners", "truncation"),
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
def test_change_affects_derived_datasets_and_their_jobs(
    store: Store,
    start: str,
    depth: int,
    datasets: list[object],
    jobs: list[object],
    owners: list[str],
    truncation: str | None,
) -> None:
    store.apply(
        derive(1, "raw", "clean", "etl", "data"), derive(2, "clean", "report", "etl"), derive(3, "raw", "copy"),
        derive(4, "report", "report"), derive(5, "other", "unreached", "nobody"),
    )  # fmt: skip
    impact = store.ask(ImpactQuery(namespace="db", name=start, depth=depth))
    assert summarize(impact.datasets) == datasets
    assert [job for job in summarize(impact.jobs) if job[0] != "job4"] == jobs
    assert (impact.owners, impact.cut) == (owners, truncation)


def test_newest_sla_of_each_affected_node_is_returned(store: Store) -> None:
    store.apply(
        derive(1, "raw", "clean"),
        job_event(2, job="job1", lineageBridge_sla=make.facet(max_duration="45m")),
        dataset_event(4, dataset("clean", lineageBridge_sla=make.facet(expected_by="06:30"))),
        dataset_event(3, dataset("clean", lineageBridge_sla=make.facet(expected_by="09:00"))),
    )
    impact = store.ask(ImpactQuery(namespace="db", name="raw"))
    assert [node.sla for node in (*impact.datasets, *impact.jobs)] == [
        {"expected_by": "06:30"},
        {"max_duration": "45m"},
    ]
