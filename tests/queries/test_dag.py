"""Who waits for whom: circles, what nobody makes, and what is registered; on both stores."""

from typing import Any

import pytest

from bridge.queries.dag import DagQuery, DagResult
from bridge.queries.processes import RegisteredProcessesQuery
from bridge.versions.registry import VersionRegistry
from tests.factories import Json, at, dataset, job_event, micros, parent, run_event, spark_type
from tests.stores import Store

DEPENDS = "lineageBridge_jobDependencies"


def job(spelled: str, number: int, namespace: str = "jobs", **facets: Json) -> Json:
    """Spell a run: `clean: raw -> a b` reads raw and writes a and b."""
    name, _, io = spelled.partition(": ")
    read, _, made = io.partition("->")
    return run_event(
        second=number, run=number, job=name, namespace=namespace, job_facets=facets,
        inputs=[dataset(one) for one in read.split()], outputs=[dataset(one) for one in made.split()],
    )  # fmt: skip


def estate(store: Store, *jobs: str) -> Store:
    return store.apply_each(*(job(one, number) for number, one in enumerate(jobs, start=1)))


def register(store: Store, name: str, definition: Any, namespace: str = "jobs", version: str | None = None) -> None:
    registry = VersionRegistry(store.db, store.org, lambda: micros(59))
    with registry.transaction():
        registry.definitions.register("process", namespace, name, definition, "ann", version=version)


def circles(found: DagResult) -> list[str]:
    called = {one.id: one.name for one in found.processes}
    return [" ".join(called[one] for one in cycle) for cycle in found.cycles]


def missing(found: DagResult) -> dict[str, str]:
    called = {one.id: one.name for one in found.processes}
    return {one.dataset.name: " ".join(called[reader] for reader in one.readers) for one in found.missing}


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
def test_circles_are_found(store: Store, jobs: list[str], cycles: list[str]) -> None:
    found = estate(store, *jobs).ask(DagQuery())
    assert circles(found) == cycles
    assert store.ask(DagQuery(most=1)).cycles == found.cycles


def test_what_is_declared_closes_a_circle(store: Store) -> None:
    upstream = {"upstream": [{"job": {"namespace": "jobs", "name": "q"}}]}
    estate(store, "p: a -> b", "q: b -> c")
    store.apply(job_event(9, job="p", **{DEPENDS: upstream}))
    assert circles(store.ask(DagQuery())) == ["p q"]


def test_a_circle_is_one_of_those_who_are_asked_for(store: Store) -> None:
    store.apply(job("p: a -> b", 1), job("q: b -> a", 2, namespace="other"))
    assert circles(store.ask(DagQuery())) == ["p q"]
    assert store.ask(DagQuery(namespace="jobs")).cycles == []


def test_a_job_that_is_waited_for_in_several_ways_is_one_dependency_with_all_of_them(store: Store) -> None:
    upstream = [
        {"job": {"namespace": "jobs", "name": "q"}, "dependency_type": "CONDITION", "status_trigger_rule": rule}
        for rule in ("SUCCESS", "FAILURE", "EXITCODE = 5")
    ]
    store.apply(job_event(1, job="p", **{DEPENDS: {"upstream": upstream}}))
    (one,) = store.ask(DagQuery()).dependencies
    assert one.declared == {"dependency_type": "CONDITION", "status_trigger_rule": "SUCCESS, FAILURE, EXITCODE = 5"}


def test_what_is_waited_for_elsewhere_is_told_with_the_namespace_that_waits(store: Store) -> None:
    upstream = {"upstream": [{"job": {"namespace": "other", "name": "q"}}]}
    store.apply(job("r: -> a", 1, namespace="third"), job("p: a -> b", 2), job("s: b ->", 3, namespace="other"))
    store.apply(job_event(9, job="p", **{DEPENDS: upstream}))
    found = store.ask(DagQuery(namespace="jobs"))
    called = {one.id: one.name for one in found.processes}
    assert sorted(called.values()) == ["p", "q", "r"]
    waits = {(called[one.before], called[one.after], one.kind) for one in found.dependencies}
    assert waits == {("q", "p", "declared"), ("r", "p", "inferred")}


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
def test_a_process_is_told_with_the_box_that_its_definition_names(
    store: Store, definition: Any, box: str | None
) -> None:
    register(store, "box", {})
    register(store, "p", definition)
    found = {one.name: one for one in store.ask(DagQuery()).processes}
    assert found["p"].box == (found["box"].id if box else None)


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
def test_what_is_read_and_made_by_nobody_is_told(store: Store, jobs: list[str], expected: dict[str, str]) -> None:
    assert missing(estate(store, *jobs).ask(DagQuery())) == expected


def test_raw_files_of_what_an_integration_tells_are_no_news_until_the_job_is_registered(store: Store) -> None:
    spark = {"jobType": spark_type("APPLICATION")}
    store.apply(job("app: raw -> a", 1, **spark), job("other: raw -> b", 2, **spark))
    assert missing(store.ask(DagQuery())) == {}
    register(store, "app", {})
    assert missing(store.ask(DagQuery())) == {"raw": "app"}


def test_who_makes_it_elsewhere_makes_it(store: Store) -> None:
    store.apply(job("p: -> a", 1, namespace="other"), job("q: a -> b", 2))
    assert store.ask(DagQuery(namespace="jobs")).missing == []


def test_actions_count_as_the_application_that_people_know(store: Store) -> None:
    action = job("app.write: a -> b", 2, jobType=spark_type())
    action["run"]["facets"]["parent"] = parent(1, "app")
    store.apply(job("app: ->", 1, jobType=spark_type("APPLICATION")), action, job("p: b -> a", 3))
    assert circles(store.ask(DagQuery())) == ["app p"]


def test_what_is_registered_is_there_before_it_runs(store: Store) -> None:
    estate(store, "p: a -> b")
    register(store, "p", {"x": 1})
    register(store, "p", {"x": 2}, version="spring")
    register(store, "new", {})
    assert [(one.name, one.version) for one in store.ask(DagQuery()).processes] == [("new", "1"), ("p", "spring")]
    assert store.ask(DagQuery(namespace="elsewhere")).processes == []


FILE = {"process": {"name": "p", "owner": "desk@company.com", "trigger_mode": "HYBRID"}, "outputs": []}


@pytest.mark.parametrize(
    ("definition", "owners", "trigger"),
    [
        (FILE, ["desk@company.com"], "HYBRID"),
        ({"process": {"name": "p"}}, ["etl"], None),
        ({"process": "p"}, ["etl"], None),
        ({"process": {"owner": 3, "trigger_mode": "MANUAL"}}, ["etl"], None),
        ({}, ["etl"], None),
    ],
)
def test_a_process_is_listed_by_what_its_definition_says(
    store: Store, definition: Any, owners: list[str], trigger: str | None
) -> None:
    owned = {"_producer": "x", "_schemaURL": "x", "owners": [{"name": "etl", "type": "team"}]}
    store.apply(job("p: a -> b", 1, ownership=owned))
    register(store, "p", definition)
    (one,) = store.ask(RegisteredProcessesQuery()).items
    assert (one.namespace, one.name, one.version, one.registered_by) == ("jobs", "p", "1", "ann")
    assert (one.owners, one.trigger_mode, one.registered_at) == (owners, trigger, at(59))
    assert one.id == next(found.id for found in store.ask(DagQuery()).processes)


def test_a_process_tells_its_last_run(store: Store) -> None:
    register(store, "new", {})
    register(store, "p", {})
    store.apply_each(
        run_event("COMPLETE", 1, run=1, job="p"), run_event("START", 2, run=2, job="p"), run_event("FAIL", 4, run=2, job="p")
    )  # fmt: skip
    new, p = store.ask(RegisteredProcessesQuery()).items
    assert (new.last_run, p.last_run and (p.last_run.status, p.last_run.end_ts)) == (None, ("FAILED", at(4)))


def test_processes_come_in_pages(store: Store) -> None:
    for namespace, name in (("b", "p"), ("a", "q"), ("a", "p")):
        register(store, name, {}, namespace)
    first = store.ask(RegisteredProcessesQuery(limit=2))
    rest = store.ask(RegisteredProcessesQuery(limit=2, after=first.next))
    listed = [(one.namespace, one.name) for one in (*first.items, *rest.items)]
    assert (listed, rest.next) == ([("a", "p"), ("a", "q"), ("b", "p")], None)
