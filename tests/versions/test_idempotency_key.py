"""What a run that names the key of its version starts makes no versions of its own: the listener's actions in a process."""

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
    out = make.dataset("out", output_facets=KEY if keyed else {}, version=facet(datasetVersion="v1"))
    return run_event(kind, 1 if kind == "START" else 9, run=1, job="p", outputs=[out], job_facets=PROCESS)


def application(kind: str) -> Json:
    above = {"parent": parent(1, "p", "jobs")}
    second = 2 if kind == "START" else 8
    return run_event(
        kind, second, run=2, job="p_spark", run_facets=above, job_facets={"jobType": spark_type("APPLICATION")}
    )


def action(number: int, above: int, job: str) -> Json:
    out = make.dataset("out", output_facets={"outputStatistics": facet(rowCount=3)})
    return run_event(
        "COMPLETE", 3 + number, run=number, job=f"{job}.write", outputs=[out],
        run_facets={"parent": parent(above, job, "jobs")}, job_facets={"jobType": spark_type()},
    )  # fmt: skip


def tags(store: Store) -> list[str]:
    return [one.tag for one in store.ask(VersionsQuery(namespace="db", name="out")).items]


EVENTS = [process("START"), application("START"), action(3, 2, "p_spark"), process("COMPLETE")]


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=lambda order: "".join(map(str, order)))
def test_the_version_of_a_process_stands_for_those_of_its_actions_in_any_order(
    sqlite_store: Store, order: tuple[int, ...]
) -> None:
    sqlite_store.apply_each(*(EVENTS[place] for place in order))
    assert tags(sqlite_store) == ["v1"]


def test_so_it_is_on_both_stores_and_straight_beneath_the_process(store: Store) -> None:
    store.apply_each(*EVENTS, action(4, 1, "p"))
    assert tags(store) == ["v1"]


def test_while_a_process_runs_or_once_it_failed_nothing_of_it_is_a_version(store: Store) -> None:
    store.apply_each(*EVENTS[:3])
    assert tags(store) == []
    store.apply(process("FAIL"))
    assert tags(store) == []


def test_without_a_key_the_actions_speak_for_themselves(store: Store) -> None:
    store.apply_each(application("START"), action(3, 2, "p_spark"), process("COMPLETE", keyed=False))
    assert sorted(tags(store)) == sorted(["v1", run_uuid(3)])


def test_people_know_a_process_and_not_the_application_in_which_it_runs(store: Store) -> None:
    store.apply_each(*EVENTS, application("COMPLETE"))
    assert [one.job for one in store.ask(RunsQuery()).items] == ["p"]
