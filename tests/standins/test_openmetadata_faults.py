"""Faults of the OpenMetadata stand-in, as seen by clients."""

import asyncio
import base64
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.standins.client import make_client, put, table
from tests.standins.faults import random_faults
from tests.standins.openmetadata import (
    Fault,
    OpenMetadata,
    error,
    expired_token,
    failing_rows,
    html,
    lost_race,
    reset,
    stall,
)

ROOT = Path(__file__).parent.parent.parent
TABLES = ("PUT", "/api/v1/tables")
NAME = ("table", "svc.d.s.t")


@pytest.mark.parametrize("applied", [False, True])
def test_reset_closes_connection_before_or_after_applying(standin, applied):
    server, client = standin
    server.faults.next(reset(applied=applied))
    with pytest.raises(httpx.RemoteProtocolError):
        client.put("/tables", json=table("t"))
    assert (NAME in server.state()["entities"]) == applied
    assert client.put("/tables", json=table("t")).status_code == (200 if applied else 201)
    assert [request.status for request in server.requests] == [0, 200 if applied else 201]


def test_in_process_reset_is_transport_error():
    server = OpenMetadata()
    server.faults.next(reset())
    with httpx.Client(transport=_InProcessTransport(server), base_url="http://standin") as client:
        with pytest.raises(httpx.ReadError):
            client.get("/api/v1/system/version")
        assert client.get("/api/v1/system/version").json()["version"].startswith("2.0")


class _InProcessTransport(httpx.BaseTransport):
    def __init__(self, server: OpenMetadata) -> None:
        self.inner = httpx.ASGITransport(server.app)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def send() -> httpx.Response:
            response = await self.inner.handle_async_request(request)
            content = await response.aread()
            return httpx.Response(response.status_code, headers=response.headers, content=content)

        return asyncio.run(send())


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_server_errors(standin, status):
    server, client = standin
    server.faults.next(error(status), method="PUT", path="/tables")
    assert client.get("/tables").status_code == 200
    response = client.put("/tables", json=table("t"))
    assert (response.status_code, response.json()["code"]) == (status, status)
    assert ("Retry-After" in response.headers) == (status == 429)
    assert NAME not in server.state()["entities"]


def test_error_after_applying_request(standin):
    server, client = standin
    server.faults.next(error(504, applied=True))
    assert client.put("/tables", json=table("t")).status_code == 504
    assert NAME in server.state()["entities"]


def test_lost_race_is_conflict_and_retry_finds_entity(standin):
    server, client = standin
    server.faults.next(lost_race())
    response = client.put("/tables", json=table("t"))
    assert (response.status_code, response.json()["message"]) == (409, "Entity already exists")
    assert client.put("/tables", json=table("t")).headers["X-OpenMetadata-Change"] == "entityNoChange"


def test_html_response(standin):
    server, client = standin
    server.faults.next(html(), times=2)
    for _ in range(2):
        assert client.get("/tables").headers["Content-Type"].startswith("text/html")
    assert client.get("/tables").json()["data"] == []


def test_stalled_request_continues_when_released(standin):
    server, client = standin
    release = threading.Event()
    server.faults.next(stall(until=release))
    with pytest.raises(httpx.ReadTimeout), make_client(server, timeout=0.05) as impatient_client:
        impatient_client.put("/tables", json=table("t"))
    assert client.get("/tables").json()["data"] == []
    release.set()
    deadline = time.monotonic() + 5
    while NAME not in server.state()["entities"]:
        assert time.monotonic() < deadline, "the stalled write was never applied"


def test_failing_rows_of_bulk(standin):
    server, client = standin
    server.faults.next(failing_rows("b", message="no"))
    body = client.put("/tables/bulk", json=[table("a"), table("b"), table("c")]).json()
    assert (body["status"], body["numberOfRowsPassed"], body["numberOfRowsFailed"]) == ("partialSuccess", 2, 1)
    assert [(row["request"]["name"], row["message"]) for row in body["failedRequest"]] == [("b", "no")]


def test_expired_token_can_be_renewed(standin):
    server, client = standin
    server.faults.next(expired_token())
    for _ in range(2):
        response = client.get("/tables")
        assert (response.status_code, response.json()["message"]) == (401, "Expired token!")
    server.renew_bot("another.bot.token")
    with make_client(server) as renewed:
        assert renewed.get("/tables").status_code == 200
        server.expire_bot()
        assert renewed.get("/tables").status_code == 401


def test_plan_gets_number_method_and_path(standin):
    server, client = standin
    server.faults.plan = lambda number, method, path: error(503) if number % 2 and "tables" in path else None
    assert [client.get("/tables").status_code for _ in range(4)] == [503, 200, 503, 200]
    assert client.get("/pipelines").status_code == 200
    server.faults.clear()
    server.faults.script([None, error(500), Fault()])
    assert [client.get("/tables").status_code for _ in range(4)] == [200, 500, 200, 200]


def test_requests_are_counted_by_route(standin):
    server, client = standin
    put(client, "/tables", **table("t"))
    client.get("/tables/name/svc.d.s.t")
    client.get("/tables/name/svc.d.s.nope")
    client.get("/nowhere")
    assert server.calls() == {
        TABLES: 1,
        ("GET", "/api/v1/tables/name/{fqn}"): 2,
        ("GET", "/api/v1/nowhere"): 1,
    }
    assert server.requests[0].json()["name"] == "t"
    assert [request.status for request in server.requests] == [201, 200, 404, 404]


def test_concurrent_puts_create_entity_once(standin):
    server, _ = standin
    barrier = threading.Barrier(8)
    statuses = []

    def put_table() -> None:
        with make_client(server) as client:
            client.get("/system/version")
            barrier.wait()
            statuses.append(client.put("/tables", json=table("t")).status_code)

    threads = [threading.Thread(target=put_table) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(201) == 1
    assert set(statuses) <= {200, 201, 409}


def test_second_of_two_concurrent_puts_gets_409():
    async def send_concurrently() -> list[int]:
        server = OpenMetadata()
        headers = {"Authorization": f"Bearer {server.bot_token}"}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(server.app), base_url="http://x") as client:
            body = {"name": "svc", "serviceType": "Spark"}
            url = "/api/v1/services/pipelineServices"
            responses = await asyncio.gather(*(client.put(url, json=body, headers=headers) for _ in range(2)))
            repeated = await client.put(url, json=body, headers=headers)
        return [*sorted(response.status_code for response in responses), repeated.status_code]

    assert asyncio.run(send_concurrently()) == [201, 409, 200]


@pytest.mark.parametrize(("password", "status"), [("admin", 200), ("wrong", 401)])
def test_login_with_password(standin, password, status):
    _, client = standin
    credentials = {"email": "admin@open-metadata.org", "password": base64.b64encode(password.encode()).decode()}
    assert client.post("/users/login", json=credentials).status_code == status


def test_command_prints_url_and_tokens():
    command = [sys.executable, "-m", "tests.standins.openmetadata", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        printed = [process.stdout.readline().partition(": ")[2].strip() for _ in range(3)]
        headers = {"Authorization": f"Bearer {printed[1]}"}
        assert httpx.get(f"{printed[0]}/v1/users/loggedInUser", headers=headers).json()["isBot"] is True
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_random_faults_are_reproducible_by_seed() -> None:
    plans = [random_faults(0.05, seed) for seed in (1, 1, 2)]
    faults = [[plan(number, "GET", "/") for number in range(2_000)] for plan in plans]
    assert faults[0] == faults[1] != faults[2]
    assert 70 < sum(fault is not None for fault in faults[0]) < 130
