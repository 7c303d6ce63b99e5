"""The version of a run with an idempotency key replaces the versions of all runs that it started."""

from itertools import permutations

import pytest

from bridge.queries.runs import RunsQuery
from bridge.queries.versions import VersionsQuery
from tests import factories as make
from tests.factories import Json, facet, parent, run_event, run_uuid, spark_type
from tests.stores import Store

KEY = {"lineageBridge_idempotencyKey": facet(key="k")}
PROCESS = {"jobType": facet(processingType="BATCH", integration="LINEAGE_BRIDGE", jobType="PROCESS")}


def process(kind: str, *, keyed: bool = True) -> Json:
    output = make.dataset("out", output_facets=KEY if keyed else {}, version=facet(datasetVersion="v1"))
    return run_event(kind, 1 if kind == "START" else 9, run=1, job="p", outputs=[output], job_facets=PROCESS)


def application(kind: str) -> Json:
    run_facets = {"parent": parent(1, "p", "jobs")}
    second = 2 if kind == "START" else 8
    return run_event(
        kind, second, run=2, job="p_spark", run_facets=run_facets, job_facets={"jobType": spark_type("APPLICATION")}
    )


def action(number: int, parent_run: int, job: str) -> Json:
    output = make.dataset("out", output_facets={"outputStatistics": facet(rowCount=3)})
    return run_event(
        "COMPLETE", 3 + number, run=number, job=f"{job}.write", outputs=[output],
        run_facets={"parent": parent(parent_run, job, "jobs")}, job_facets={"jobType": spark_type()},
    )  # fmt: skip


def tags(store: Store) -> list[str]:
    return [version.tag for version in store.ask(VersionsQuery(namespace="db", name="out")).items]


EVENTS = [process("START"), application("START"), action(3, 2, "p_spark"), process("COMPLETE")]


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=lambda order: "".join(map(str, order)))
def test_process_version_replaces_those_of_its_actions_in_any_order(
    sqlite_store: Store, order: tuple[int, ...]
) -> None:
    sqlite_store.apply_each(*(EVENTS[index] for index in order))
    assert tags(sqlite_store) == ["v1"]


def test_process_version_replaces_those_of_direct_child_actions(store: Store) -> None:
    store.apply_each(*EVENTS, action(4, 1, "p"))
    assert tags(store) == ["v1"]


def test_running_or_failed_process_has_no_version(store: Store) -> None:
    store.apply_each(*EVENTS[:3])
    assert tags(store) == []
    store.apply(process("FAIL"))
    assert tags(store) == []


def test_actions_have_versions_if_the_process_has_no_key(store: Store) -> None:
    store.apply_each(application("START"), action(3, 2, "p_spark"), process("COMPLETE", keyed=False))
    assert sorted(tags(store)) == sorted(["v1", run_uuid(3)])


def test_runs_list_the_process_instead_of_its_application(store: Store) -> None:
    store.apply_each(*EVENTS, application("COMPLETE"))
    assert [run.job for run in store.ask(RunsQuery()).items] == ["p"]
