"""Faults of the Marquez stand-in, as seen by clients."""

import threading

import httpx
import pytest

from connectors.errors import TargetRejected, TargetUnavailable, Unreachable
from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient as Client
from connectors.marquez.event_log import find_logged_events
from connectors.session import ThrottledSession
from tests.factories import dataset, run_event, run_uuid
from tests.standins.marquez import Fault, Marquez, error, half_written, html, random_faults, reset, stall

EVENT = run_event(outputs=[dataset("t")])
POST = ("POST", "/api/v1/lineage")


def send_event(client: httpx.Client, event=EVENT) -> int:
    return client.post("/lineage", json=event).status_code


def stored_state(server: Marquez) -> tuple[int, bool]:
    """Number of logged events, and whether the model has the run."""
    state = server.state()
    return len(state["log"]), run_uuid(1) in state["runs"]


@pytest.mark.parametrize(
    ("fault", "status", "log", "model"),
    [
        (error(503), 503, 0, False),
        (error(500), 500, 0, False),
        (error(429, retry_after=7), 429, 0, False),
        (html(502), 502, 0, False),
        (html(500), 500, 0, False),
        (error(504, applied=True), 504, 1, True),
        (html(500, applied=True), 500, 1, True),
        (half_written(), 500, 1, False),
        (stall(0.01), 201, 1, True),
        (Fault(), 201, 1, True),
    ],
)
def test_fault_replaces_response_with_or_without_applying(marquez, fault, status, log, model):
    server, client = marquez
    server.faults.next(fault)
    response = client.post("/lineage", json=EVENT)
    assert response.status_code == status
    assert stored_state(server) == (log, model)
    assert response.headers.get("Retry-After") == ("7" if status == 429 else None)
    assert send_event(client) == 201
    assert stored_state(server) == (log + 1, True)


@pytest.mark.parametrize("applied", [False, True])
def test_reset_closes_connection_before_or_after_applying(marquez, applied):
    server, client = marquez
    server.faults.next(reset(applied=applied))
    with pytest.raises(httpx.RemoteProtocolError):
        send_event(client)
    assert stored_state(server) == (int(applied), applied)
    assert [request.status for request in server.requests] == [0]


def test_offline_server_refuses_connections_and_keeps_state(marquez):
    server, client = marquez
    send_event(client)
    with server.offline(), httpx.Client() as other, pytest.raises(httpx.ConnectError):
        other.get(f"{server.url}/api/v1/namespaces")
    with httpx.Client(base_url=f"{server.url}/api/v1") as other:
        assert other.get(f"/jobs/runs/{run_uuid(1)}").json()["state"] == "COMPLETED"


def test_half_written_event_returns_html_page_of_real_server(marquez):
    server, client = marquez
    server.faults.next(half_written())
    response = client.post("/lineage", json=EVENT)
    assert response.headers["content-type"] == "text/html;charset=iso-8859-1"
    assert "<title>Error 500 Internal Server Error</title>" in response.text
    assert "<td>/api/v1/lineage</td>" in response.text


def test_faults_match_method_and_path(marquez):
    server, client = marquez
    server.faults.next(error(503), method="GET", path="/jobs/runs/", times=2)
    assert send_event(client) == 201
    statuses = [client.get(f"/jobs/runs/{run_uuid(1)}").status_code for _ in range(3)]
    assert statuses == [503, 503, 200]
    assert not server.faults.pending


def test_stalled_request_continues_when_released(marquez):
    server, client = marquez
    release = threading.Event()
    server.faults.next(stall(until=release), method="POST")
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: statuses.append(send_event(client)))
    thread.start()
    with httpx.Client(base_url=f"{server.url}/api/v1") as other:
        while POST[0] not in {request.method for request in server.requests}:
            other.get("/tags")
    assert statuses == []
    release.set()
    thread.join(10)
    assert statuses == [201]


def test_random_faults_are_reproducible_by_seed():
    failed = []
    for _ in range(2):
        with Marquez() as server, httpx.Client(base_url=f"{server.url}/api/v1") as client:
            plan = random_faults(0.5, seed=3)
            server.faults.plan = lambda number, method, path, plan=plan: plan(number, method, path) and error(503)
            failed.append([client.get("/tags").status_code for _ in range(20)])
    assert failed[0] == failed[1]
    assert set(failed[0]) == {200, 503}


def test_journal_records_requests(marquez):
    server, client = marquez
    send_event(client)
    client.get("/namespaces/db/datasets/t")
    client.get("/nowhere")
    assert server.calls() == {
        POST: 1,
        ("GET", "/api/v1/namespaces/{namespace}/datasets/{dataset}"): 1,
        ("GET", "/api/v1/nowhere"): 1,
    }
    assert server.requests[0].json() == EVENT
    server.journal.clear()
    assert server.requests == []


@pytest.mark.parametrize(
    ("fault", "raised", "logged"),
    [
        (half_written(), TargetUnavailable, True),
        (reset(), Unreachable, False),
        (reset(applied=True), Unreachable, True),
        (error(503), TargetUnavailable, False),
        (html(500, applied=True), TargetUnavailable, True),
        (error(400), TargetRejected, False),
    ],
)
def test_client_detects_whether_event_was_logged(marquez, fault, raised, logged):
    server, _ = marquez
    server.faults.next(fault, method="POST", times=2)  # the client retries a possible race immediately
    session = HttpSession(server.url)
    try:
        client = Client(ThrottledSession(session))
        with pytest.raises(raised):
            client.send(EVENT)
        assert find_logged_events(client, {"first": EVENT, "another": run_event("START", 5)}) == (
            {"first"} if logged else set()
        )
    finally:
        session.close()
