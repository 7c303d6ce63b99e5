"""What a test can let go wrong with Marquez, as a client sees it."""

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


def sent(client: httpx.Client, event=EVENT) -> int:
    return client.post("/lineage", json=event).status_code


def kept(server: Marquez) -> tuple[int, bool]:
    """Tell how many events the log has, and whether the model knows the run."""
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
def test_a_fault_answers_otherwise_before_or_after_the_work(marquez, fault, status, log, model):
    server, client = marquez
    server.faults.next(fault)
    answer = client.post("/lineage", json=EVENT)
    assert answer.status_code == status
    assert kept(server) == (log, model)
    assert answer.headers.get("Retry-After") == ("7" if status == 429 else None)
    assert sent(client) == 201
    assert kept(server) == (log + 1, True)


@pytest.mark.parametrize("applied", [False, True])
def test_a_reset_closes_the_connection_before_or_after_the_work(marquez, applied):
    server, client = marquez
    server.faults.next(reset(applied=applied))
    with pytest.raises(httpx.RemoteProtocolError):
        sent(client)
    assert kept(server) == (int(applied), applied)
    assert [seen.status for seen in server.requests] == [0]


def test_a_server_that_is_away_refuses_connections_and_comes_back_with_what_it_knew(marquez):
    server, client = marquez
    sent(client)
    with server.offline(), httpx.Client() as other, pytest.raises(httpx.ConnectError):
        other.get(f"{server.url}/api/v1/namespaces")
    with httpx.Client(base_url=f"{server.url}/api/v1") as other:
        assert other.get(f"/jobs/runs/{run_uuid(1)}").json()["state"] == "COMPLETED"


def test_a_page_of_a_half_write_is_that_of_the_real_server(marquez):
    server, client = marquez
    server.faults.next(half_written())
    answer = client.post("/lineage", json=EVENT)
    assert answer.headers["content-type"] == "text/html;charset=iso-8859-1"
    assert "<title>Error 500 Internal Server Error</title>" in answer.text
    assert "<td>/api/v1/lineage</td>" in answer.text


def test_faults_meet_the_requests_they_are_meant_for(marquez):
    server, client = marquez
    server.faults.next(error(503), method="GET", path="/jobs/runs/", times=2)
    assert sent(client) == 201
    answers = [client.get(f"/jobs/runs/{run_uuid(1)}").status_code for _ in range(3)]
    assert answers == [503, 503, 200]
    assert not server.faults.pending


def test_a_test_decides_when_a_stalled_request_goes_on(marquez):
    server, client = marquez
    go = threading.Event()
    server.faults.next(stall(until=go), method="POST")
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(sent(client)))
    thread.start()
    with httpx.Client(base_url=f"{server.url}/api/v1") as other:
        while POST[0] not in {seen.method for seen in server.requests}:
            other.get("/tags")
    assert answers == []
    go.set()
    thread.join(10)
    assert answers == [201]


def test_a_share_of_all_requests_can_fail_the_same_ones_for_the_same_seed():
    failed = []
    for _ in range(2):
        with Marquez() as server, httpx.Client(base_url=f"{server.url}/api/v1") as client:
            plan = random_faults(0.5, seed=3)
            server.faults.plan = lambda number, method, path, plan=plan: plan(number, method, path) and error(503)
            failed.append([client.get("/tags").status_code for _ in range(20)])
    assert failed[0] == failed[1]
    assert set(failed[0]) == {200, 503}


def test_the_journal_tells_what_was_asked(marquez):
    server, client = marquez
    sent(client)
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
    ("fault", "raised", "there"),
    [
        (half_written(), TargetUnavailable, True),
        (reset(), Unreachable, False),
        (reset(applied=True), Unreachable, True),
        (error(503), TargetUnavailable, False),
        (html(500, applied=True), TargetUnavailable, True),
        (error(400), TargetRejected, False),
    ],
)
def test_our_client_finds_out_whether_an_event_arrived(marquez, fault, raised, there):
    server, _ = marquez
    server.faults.next(fault, method="POST", times=2)  # what may have been a race is tried again at once
    session = HttpSession(server.url)
    try:
        client = Client(ThrottledSession(session))
        with pytest.raises(raised):
            client.send(EVENT)
        assert find_logged_events(client, {"it": EVENT, "another": run_event("START", 5)}) == (
            {"it"} if there else set()
        )
    finally:
        session.close()
