"""The process DAG: cycles, inputs without a producer, and registered definitions; on both stores."""

from typing import Any

import pytest

from bridge.queries.dag import DagQuery, DagResult
from bridge.queries.processes import RegisteredProcessesQuery
from bridge.versions.registry import VersionRegistry
from tests.factories import Json, at, dataset, job_event, micros, parent, run_event, spark_type
from tests.stores import Store

DEPENDS = "lineageBridge_jobDependencies"


def job(text: str, number: int, namespace: str = "jobs", **facets: Json) -> Json:
    """Build a run from a text: `clean: raw -> a b` reads raw and writes a and b."""
    name, _, io = text.partition(": ")
    inputs, _, outputs = io.partition("->")
    return run_event(
        second=number, run=number, job=name, namespace=namespace, job_facets=facets,
        inputs=[dataset(dataset_name) for dataset_name in inputs.split()], outputs=[dataset(dataset_name) for dataset_name in outputs.split()],
    )  # fmt: skip


def apply_jobs(store: Store, *jobs: str) -> Store:
    return store.apply_each(*(job(text, number) for number, text in enumerate(jobs, start=1)))


def register(store: Store, name: str, definition: Any, namespace: str = "jobs", version: str | None = None) -> None:
    registry = VersionRegistry(store.db, store.org, lambda: micros(59))
    with registry.transaction():
        registry.definitions.register("process", namespace, name, definition, "ann", version=version)


def cycle_names(result: DagResult) -> list[str]:
    names = {process.id: process.name for process in result.processes}
    return [" ".join(names[process_id] for process_id in cycle) for cycle in result.cycles]


def unproduced(result: DagResult) -> dict[str, str]:
    names = {process.id: process.name for process in result.processes}
    return {missing.dataset.name: " ".join(names[reader] for reader in missing.readers) for missing in result.missing}


@pytest.mark.parametrize(
    ("jobs", "cycles"),
    [
        (["p: a -> b", "q: b -> c"], []),
        (["p: a -> a"], []),
        (["p: a -> b", "q: b -> a"], ["p q"]),
        (["q: b -> a", "p: a -> b"], ["p q"]),
        (["p: a -> b", "q: b -> a", "r: x -> y", "s: y -> x"], ["p q", "r s"]),
        (["p: a -> b", "q: b -> c", "r: c -> a b"], ["p q r"]),
        (["p: a x -> b", "q: b -> a", "r: b -> x"], ["p q r"]),
        (["p: a -> b", "q: b -> a", "r: a -> c", "s: c -> d"], ["p q"]),
        (["p: a -> a", "q: a -> a"], ["p q"]),
    ],
)
def test_cycles_are_found(store: Store, jobs: list[str], cycles: list[str]) -> None:
    result = apply_jobs(store, *jobs).ask(DagQuery())
    assert cycle_names(result) == cycles
    assert store.ask(DagQuery(most=1)).cycles == result.cycles


def test_declared_dependency_closes_a_cycle(store: Store) -> None:
    upstream = {"upstream": [{"job": {"namespace": "jobs", "name": "q"}}]}
    apply_jobs(store, "p: a -> b", "q: b -> c")
    store.apply(job_event(9, job="p", **{DEPENDS: upstream}))
    assert cycle_names(store.ask(DagQuery())) == ["p q"]


def test_cycle_lies_within_the_requested_namespace(store: Store) -> None:
    store.apply(job("p: a -> b", 1), job("q: b -> a", 2, namespace="other"))
    assert cycle_names(store.ask(DagQuery())) == ["p q"]
    assert store.ask(DagQuery(namespace="jobs")).cycles == []


def test_several_conditions_on_one_job_are_one_dependency(store: Store) -> None:
    upstream = [
        {"job": {"namespace": "jobs", "name": "q"}, "dependency_type": "CONDITION", "status_trigger_rule": rule}
        for rule in ("SUCCESS", "FAILURE", "EXITCODE = 5")
    ]
    store.apply(job_event(1, job="p", **{DEPENDS: {"upstream": upstream}}))
    (dependency,) = store.ask(DagQuery()).dependencies
    assert dependency.declared == {
        "dependency_type": "CONDITION",
        "status_trigger_rule": "SUCCESS, FAILURE, EXITCODE = 5",
    }


def test_namespace_includes_upstream_processes_of_other_namespaces(store: Store) -> None:
    upstream = {"upstream": [{"job": {"namespace": "other", "name": "q"}}]}
    store.apply(job("r: -> a", 1, namespace="third"), job("p: a -> b", 2), job("s: b ->", 3, namespace="other"))
    store.apply(job_event(9, job="p", **{DEPENDS: upstream}))
    result = store.ask(DagQuery(namespace="jobs"))
    names = {process.id: process.name for process in result.processes}
    assert sorted(names.values()) == ["p", "q", "r"]
    dependencies = {
        (names[dependency.before], names[dependency.after], dependency.kind) for dependency in result.dependencies
    }
    assert dependencies == {("q", "p", "declared"), ("r", "p", "inferred")}


@pytest.mark.parametrize(
    ("definition", "box"),
    [
        ({"boxes": ["outer", "box"]}, "box"),
        ({"boxes": []}, None),
        ({"boxes": [1]}, None),
        ({}, None),
        (["boxes"], None),
    ],
)
def test_process_has_the_box_of_its_definition(store: Store, definition: Any, box: str | None) -> None:
    register(store, "box", {})
    register(store, "p", definition)
    processes = {process.name: process for process in store.ask(DagQuery()).processes}
    assert processes["p"].box == (processes["box"].id if box else None)


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        (["p: -> a", "q: a -> b"], {}),
        (["p: raw -> a"], {"raw": "p"}),
        (["q: raw -> b", "p: raw new -> a"], {"new": "p", "raw": "p q"}),
        (["p: a -> a"], {}),
        (["p: -> a"], {}),
    ],
)
def test_inputs_without_producer_are_listed(store: Store, jobs: list[str], expected: dict[str, str]) -> None:
    assert unproduced(apply_jobs(store, *jobs).ask(DagQuery())) == expected


def test_inputs_of_integration_jobs_are_listed_once_registered(store: Store) -> None:
    spark = {"jobType": spark_type("APPLICATION")}
    store.apply(job("app: raw -> a", 1, **spark), job("other: raw -> b", 2, **spark))
    assert unproduced(store.ask(DagQuery())) == {}
    register(store, "app", {})
    assert unproduced(store.ask(DagQuery())) == {"raw": "app"}


def test_producer_in_another_namespace_counts(store: Store) -> None:
    store.apply(job("p: -> a", 1, namespace="other"), job("q: a -> b", 2))
    assert store.ask(DagQuery(namespace="jobs")).missing == []


def test_actions_count_as_their_application(store: Store) -> None:
    action = job("app.write: a -> b", 2, jobType=spark_type())
    action["run"]["facets"]["parent"] = parent(1, "app")
    store.apply(job("app: ->", 1, jobType=spark_type("APPLICATION")), action, job("p: b -> a", 3))
    assert cycle_names(store.ask(DagQuery())) == ["app p"]


def test_registered_process_is_listed_before_it_runs(store: Store) -> None:
    apply_jobs(store, "p: a -> b")
    register(store, "p", {"x": 1})
    register(store, "p", {"x": 2}, version="spring")
    register(store, "new", {})
    assert [(process.name, process.version) for process in store.ask(DagQuery()).processes] == [
        ("new", "1"),
        ("p", "spring"),
    ]
    assert store.ask(DagQuery(namespace="elsewhere")).processes == []


DEFINITION = {"process": {"name": "p", "owner": "desk@company.com", "trigger_mode": "HYBRID"}, "outputs": []}


@pytest.mark.parametrize(
    ("definition", "owners", "trigger"),
    [
        (DEFINITION, ["desk@company.com"], "HYBRID"),
        ({"process": {"name": "p"}}, ["etl"], None),
        ({"process": "p"}, ["etl"], None),
        ({"process": {"owner": 3, "trigger_mode": "MANUAL"}}, ["etl"], None),
        ({}, ["etl"], None),
    ],
)
def test_listed_process_has_owner_and_trigger_of_its_definition(
    store: Store, definition: Any, owners: list[str], trigger: str | None
) -> None:
    ownership = {"_producer": "x", "_schemaURL": "x", "owners": [{"name": "etl", "type": "team"}]}
    store.apply(job("p: a -> b", 1, ownership=ownership))
    register(store, "p", definition)
    (process,) = store.ask(RegisteredProcessesQuery()).items
    assert (process.namespace, process.name, process.version, process.registered_by) == ("jobs", "p", "1", "ann")
    assert (process.owners, process.trigger_mode, process.registered_at) == (owners, trigger, at(59))
    assert process.id == next(dag_process.id for dag_process in store.ask(DagQuery()).processes)


def test_listed_process_has_its_last_run(store: Store) -> None:
    register(store, "new", {})
    register(store, "p", {})
    store.apply_each(
        run_event("COMPLETE", 1, run=1, job="p"), run_event("START", 2, run=2, job="p"), run_event("FAIL", 4, run=2, job="p")
    )  # fmt: skip
    new, p = store.ask(RegisteredProcessesQuery()).items
    assert (new.last_run, p.last_run and (p.last_run.status, p.last_run.end_ts)) == (None, ("FAILED", at(4)))


def test_registered_processes_are_paginated(store: Store) -> None:
    for namespace, name in (("b", "p"), ("a", "q"), ("a", "p")):
        register(store, name, {}, namespace)
    first = store.ask(RegisteredProcessesQuery(limit=2))
    rest = store.ask(RegisteredProcessesQuery(limit=2, after=first.next))
    listed = [(process.namespace, process.name) for process in (*first.items, *rest.items)]
    assert (listed, rest.next) == ([("a", "p"), ("a", "q"), ("b", "p")], None)
