"""Behaviour of Marquez that clients must handle to not lose, repeat or misread events."""

from collections import Counter
from urllib.parse import quote

import httpx
import pytest

from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient as Client
from connectors.marquez.event_log import events_at
from connectors.session import ThrottledSession
from tests.factories import (
    at,
    dataset,
    dataset_event,
    facet,
    job_event,
    micros,
    parent,
    run_event,
    run_uuid,
    schema,
    symlinks,
)
from tests.standins.marquez import Marquez, names

IN, OUT, MORE = dataset("in"), dataset("out"), dataset("more")


def send(client: httpx.Client, *events) -> list[int]:
    return [client.post("/lineage", json=event).status_code for event in events]


def run_events(*steps: tuple[str, float], **attributes) -> list:
    return [run_event(kind, second, inputs=[IN], outputs=[OUT], **attributes) for kind, second in steps]


@pytest.mark.parametrize(
    ("steps", "state"),
    [
        ([("START", 0)], "RUNNING"),
        ([("START", 0), ("COMPLETE", 5)], "COMPLETED"),
        ([("COMPLETE", 5), ("START", 0)], "RUNNING"),
        ([("COMPLETE", 5), ("RUNNING", 1)], "RUNNING"),
        ([("COMPLETE", 5), ("FAIL", 1)], "FAILED"),
        ([("FAIL", 1), ("COMPLETE", 5)], "COMPLETED"),
        ([("COMPLETE", 5), ("START", 0), ("COMPLETE", 5)], "COMPLETED"),
        ([("ABORT", 5)], "ABORTED"),
        ([("nothing known", 5)], "RUNNING"),
        ([("complete", 5)], "COMPLETED"),
    ],
)
def test_last_received_event_decides_run_state(marquez, steps, state):
    server, client = marquez
    assert set(send(client, *run_events(*steps))) == {201}
    assert client.get(f"/jobs/runs/{run_uuid(1)}").json()["state"] == state
    assert server.state()["runs"][run_uuid(1)]["state"] == state


@pytest.mark.parametrize(
    ("events", "inputs", "outputs"),
    [
        ([run_event("START", inputs=[IN], outputs=[OUT])], [], []),
        ([run_event(inputs=[IN], outputs=[OUT])], ["in"], ["out"]),
        ([run_event("START", inputs=[IN]), run_event("RUNNING", outputs=[OUT]), run_event()], ["in"], ["out"]),
        ([run_event(inputs=[IN], outputs=[OUT]), run_event("START", 9, run=2)], [], []),
        ([run_event(inputs=[IN], outputs=[OUT]), run_event("START", 9, run=2, inputs=[IN], outputs=[OUT])], ["in"], ["out"]),
        ([run_event(second=9, run=2, inputs=[IN]), run_event(second=0, inputs=[MORE])], ["more"], []),
        ([run_event("FAIL", inputs=[IN], outputs=[OUT])], ["in"], ["out"]),
        ([job_event(0, inputs=[IN], outputs=[OUT])], ["in"], ["out"]),
    ],
)  # fmt: skip
def test_last_events_decide_job_inputs_and_outputs(marquez, events, inputs, outputs):
    server, client = marquez
    assert set(send(client, *events)) == {201}
    job = server.state()["jobs"]["jobs", "job"]
    assert ([name for _, name in job["inputs"]], [name for _, name in job["outputs"]]) == (inputs, outputs)
    graph = client.get("/lineage", params={"nodeId": "job:jobs:job"}).json()["graph"]
    assert {node["id"] for node in graph} == {"job:jobs:job", *(f"dataset:db:{name}" for name in inputs + outputs)}


def test_paging_loses_events_of_same_time(marquez):
    _, client = marquez
    send(client, *(run_event(second=1, run=run, job=f"j{run}") for run in range(1, 41)))
    window = {"after": at(1), "before": at(1.5), "sortDirection": "asc"}

    def page(limit: int, offset: int) -> list[str]:
        response = client.get("/events/lineage", params={**window, "limit": str(limit), "offset": str(offset)}).json()
        assert response["totalCount"] == 40
        return [event["run"]["runId"] for event in response["events"]]

    paged = Counter(run for offset in range(0, 40, 7) for run in page(7, offset))
    assert paged.total() == 40
    assert len(paged) < 40
    assert len(set(page(100, 0))) == 40
    assert page(100, 0) == page(100, 0) != page(99, 0)
    assert page(7, 40) == []


def test_client_reads_all_events_of_same_time(marquez):
    server, client = marquez
    send(client, *(run_event(second=1, run=run) for run in range(1, 251)))
    session = HttpSession(server.url)
    try:
        assert (
            len({event["run"]["runId"] for event in events_at(Client(ThrottledSession(session)), micros(1))}) == 250
        )
    finally:
        session.close()


def test_log_counts_all_events_and_lists_repeated_run_events(marquez):
    _, client = marquez
    event = run_event(inputs=[dataset("in", acme={"kept": 1, "gone": None})])
    send(client, event, event, dataset_event(0, OUT), job_event(0, outputs=[OUT]))
    response = client.get("/events/lineage").json()
    assert (response["totalCount"], len(response["events"])) == (4, 2)
    first, second = response["events"]
    assert first == second
    assert first["eventTime"] == "2026-01-01T00:00:00Z"
    assert first["inputs"][0]["facets"]["acme"] == {"kept": 1}
    assert first["inputs"][0]["facets"]["schema"] is None
    assert first["inputs"][0]["inputFacets"] is None


@pytest.mark.parametrize(
    ("changes", "status", "logged"),
    [
        ({}, 201, 1),
        ({"outputs": [{"name": "", "namespace": "db"}]}, 400, 1),
        ({"outputs": [{"name": "t", "namespace": "a b"}]}, 400, 1),
        ({"inputs": [{"name": "t", "namespace": "a b"}]}, 400, 1),
        ({"job": {"namespace": "jobs", "name": ""}}, 400, 1),
        ({"job": {"namespace": "", "name": "job"}}, 400, 1),
        ({"job": {"namespace": "a b", "name": "job"}}, 201, 1),
        ({"outputs": [{"name": "t"}]}, 422, 0),
        ({"eventTime": None}, 422, 0),
        ({"eventTime": "yesterday"}, 500, 0),
        ({"inputs": {}}, 500, 0),
        ({"job": "x"}, 500, 0),
        ({"outputs": [{"name": "a\0b", "namespace": "db"}]}, 500, 0),
    ],
)
def test_events_rejected_by_model_are_logged(marquez, changes, status, logged):
    server, client = marquez
    assert send(client, run_event(outputs=[OUT]) | changes) == [status]
    assert len(server.state()["log"]) == logged


@pytest.mark.parametrize(
    ("changes", "namespaces", "jobs"),
    [
        ({"outputs": [{"name": "t", "namespace": "a b"}]}, 500, 500),
        ({"outputs": [{"name": "", "namespace": "db"}]}, 200, 500),
        ({"job": {"namespace": "jobs", "name": ""}}, 200, 500),
        ({"job": {"namespace": "", "name": "job"}}, 500, 500),
        ({"job": {"namespace": "a b", "name": "job"}}, 200, 200),
    ],
)
def test_invalid_name_breaks_lists_and_its_run(marquez, changes, namespaces, jobs):
    _, client = marquez
    bad = send(client, run_event() | changes)
    assert client.get("/namespaces").status_code == namespaces
    assert client.get("/jobs").status_code == jobs
    assert client.get("/namespaces/default").status_code == 200
    assert send(client, run_event(run=2, job="good")) == [201]
    if "outputs" in changes:
        assert send(client, run_event()) == bad == [400]


def test_replaced_namespaces_collide(marquez):
    server, client = marquez
    for namespace in ("a;b", "a=b"):
        send(client, run_event(namespace=namespace, job=namespace[1]))
    assert client.get("/namespaces/a_b/jobs").json()["totalCount"] == 2
    assert send(client, run_event(run=3, outputs=[dataset("t", namespace="x;y")])) == [201]
    assert send(client, run_event(run=4, outputs=[dataset("t", namespace="x_y")])) == [500]
    assert len(server.state()["log"]) == 4


@pytest.mark.parametrize(
    ("job", "parent_facet", "stored"),
    [
        ("load", parent(9, "nightly"), "nightly.load"),
        ("nightly.load", parent(9, "nightly"), "nightly.load"),
        ("load", parent(9, "nightly", namespace="elsewhere"), "nightly.load"),
    ],
)
def test_parent_prefixes_job_name_and_its_run_is_created(marquez, job, parent_facet, stored):
    server, client = marquez
    send(
        client,
        run_event("START", job=job, run_facets={"parent": parent_facet}),
        run_event(job=job, run_facets={"parent": parent_facet}),
    )
    found = client.get(f"/namespaces/jobs/jobs/{stored}").json()
    assert (found["simpleName"], found["parentJobName"]) == ("load", "nightly")
    assert client.get(f"/jobs/runs/{run_uuid(9)}").json()["state"] == "RUNNING"
    assert server.state()["log"][0]["job"]["name"] == job
    assert client.post(f"/namespaces/jobs/jobs/{stored}/tags/X").status_code == 500


def test_parent_run_with_other_job_gets_derived_id(marquez):
    server, client = marquez
    for run in (1, 2):
        send(
            client, run_event(run=run, job="load", run_facets={"parent": parent(9, "nightly", namespace="elsewhere")})
        )
    assert set(server.state()["runs"]) == {
        run_uuid(1), run_uuid(2), run_uuid(9), names.invented_uuid("elsewhere", "nightly", run_uuid(9))
    }  # fmt: skip


def test_run_id_without_uuid_format_is_stored_as_uuid(marquez):
    _, client = marquez
    event = run_event()
    event["run"]["runId"] = "scheduled__2026-11-01"
    assert send(client, event) == [201]
    assert client.get("/jobs/runs/861561de-4699-388c-9878-cfbb763beece").json()["state"] == "COMPLETED"
    assert client.get("/jobs/runs/scheduled__2026-11-01").status_code == 404
    assert client.get("/events/lineage").json()["events"][0]["run"]["runId"] == "scheduled__2026-11-01"


def test_symlink_is_second_name(marquez):
    _, client = marquez
    send(client, run_event(outputs=[dataset("t", schema=schema(id="INT"), symlinks=symlinks("u", namespace="hive"))]))
    datasets = [client.get(f"/namespaces/{path}").json() for path in ("db/datasets/t", "hive/datasets/u")]
    assert [shown["id"]["name"] for shown in datasets] == ["t", "u"]
    assert datasets[0]["fields"] == datasets[1]["fields"]
    assert [output["name"] for output in client.get("/namespaces/jobs/jobs/job").json()["outputs"]] == ["t", "u"]
    assert client.post("/namespaces/db/datasets/t/tags/X").json()["tags"] == ["X"]
    assert client.post("/namespaces/db/datasets/t/fields/id/tags/X").status_code == 500


def test_tags_survive_new_versions_and_deletion(marquez):
    server, client = marquez
    event = run_event(outputs=[dataset("out", schema=schema(id="INT"))])
    send(client, event)
    path = "/namespaces/db/datasets/out"
    assert client.post(f"{path}/tags/Gold").json()["tags"] == ["Gold"]
    assert client.post(f"{path}/fields/id/tags/PII").json()["fields"][0]["tags"] == ["PII"]
    assert client.delete(path).status_code == 200
    assert client.get(path).status_code == 404
    send(client, run_event(second=1, run=2, job="reader", inputs=[OUT]), event | {"run": {"runId": run_uuid(3)}})
    stored = server.state()["datasets"]["db", "out"]
    assert (stored["tags"], stored["field_tags"]) == (["Gold"], {"id": ["PII"]})
    assert client.delete(f"{path}/tags/Gold").json()["tags"] == []
    assert {tag["name"] for tag in client.get("/tags").json()["tags"]} == {"PII", "SENSITIVE", "Gold"}


def test_next_event_restores_deleted_entities(marquez):
    server, client = marquez
    send(client, run_event(outputs=[OUT]), run_event(run=2, job="other"))
    assert client.delete("/namespaces/jobs/jobs/job").status_code == 200
    assert client.delete("/namespaces/jobs").json()["isHidden"] is False
    assert client.get("/namespaces/jobs").json()["isHidden"] is True
    assert client.get("/namespaces/jobs/jobs").json()["totalCount"] == 0
    assert client.get(f"/jobs/runs/{run_uuid(1)}").status_code == 200
    send(client, run_event("START", 5, run=3))
    assert set(server.state()["jobs"]) == {("jobs", "job")}
    assert client.get("/namespaces/jobs").json()["isHidden"] is False


def test_client_reads_all_pages_of_lists(marquez):
    server, client = marquez
    send(client, run_event(outputs=[dataset(f"t{number:04}") for number in range(1_005)]))
    assert client.get("/namespaces/db/datasets").json()["totalCount"] == 1_005
    assert client.get("/namespaces/nowhere/datasets").status_code == 404
    session = HttpSession(server.url)
    try:
        marquez_client = Client(ThrottledSession(session))
        assert len(list(marquez_client.list_datasets("db"))) == 1_005
        assert [job["name"] for job in marquez_client.list_jobs("jobs")] == ["job"]
        assert {namespace["name"] for namespace in marquez_client.list_namespaces()} == {"db", "default", "jobs"}
    finally:
        session.close()


@pytest.mark.parametrize("name", ["a/b", "a:b", "100%", " a b ", "donn\u00e9es", "a;b", "a+b", "a&b=c", "a\nb"])
def test_any_name_can_be_read(marquez, name):
    _, client = marquez
    send(client, run_event(job=name, outputs=[dataset(name)]))
    for kind, namespace in (("jobs", "jobs"), ("datasets", "db")):
        path = f"/api/v1/namespaces/{namespace}/{kind}/{quote(name, safe='')}"
        response = client.get(httpx.URL(str(client.base_url.copy_with(raw_path=path.encode()))))
        assert response.json()["name"] == name


def test_servers_with_same_events_have_equal_state():
    events = [run_event(outputs=[dataset("t", schema=schema(id="INT"))], job_facets={"sql": facet(query="select 1")})]
    states = []
    for _ in range(2):
        with Marquez() as server, httpx.Client(base_url=f"{server.url}/api/v1") as client:
            send(client, *events)
            states.append(server.state())
    assert states[0] == states[1]
    assert states[0]["jobs"]["jobs", "job"]["facets"]["sql"]["query"] == "select 1"
