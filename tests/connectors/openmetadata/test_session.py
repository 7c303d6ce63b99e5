"""Retries, rate limits and compatibility of the OpenMetadata client."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from connectors.errors import NoResponse, TargetMisconfigured, TargetRejected, TargetUnavailable, Unreachable
from connectors.http import HttpSession
from connectors.openmetadata.auth import login_token_provider
from connectors.openmetadata.client import OpenMetadataClient as Client
from connectors.openmetadata.compatibility import ServerFeatures, server_features
from connectors.session import RateLimiter, StaticToken, TokenProvider
from mappers.errors import LineageBridgeError
from tests.standins.openmetadata import Fault, OpenMetadata, error, html, reset

SERVICE = {"name": "svc", "serviceType": "CustomDatabase"}
TABLES = [
    {"name": name, "databaseSchema": "svc.d.s", "columns": [{"name": "id", "dataType": kind}]}
    for name, kind in [("a", "INT"), ("b", "VARCHAR"), ("c", "INT")]
]
STATUSES = [
    {"timestamp": n, "executionStatus": "Successful", "executionId": f"run {n}", "endTime": n + 1} for n in (1, 2)
]


class Target:
    """A client of a stand-in that records its sleeps and calls."""

    def __init__(self, standin: OpenMetadata, token: TokenProvider | None = None, **more: Any) -> None:
        self.standin = standin
        self.sleeps: list[float] = []
        self.calls: Counter[str] = Counter()
        self.client = Client(
            HttpSession(standin.url),
            token or StaticToken(standin.bot_token),
            lambda kind: self.calls.update([kind]),
            **{"attempts": 3, "sleep": self.sleeps.append} | more,
        )

    def create_containers(self) -> None:
        self.client.put("services/databaseServices", SERVICE)
        self.client.put("databases", {"name": "d", "service": "svc"})
        self.client.put("databaseSchemas", {"name": "s", "database": "svc.d"})
        self.client.put("services/pipelineServices", {"name": "jobs", "serviceType": "CustomPipeline"})
        self.client.put("pipelines", {"name": "p", "service": "jobs"})


MakeTarget = Callable[..., Target]


@pytest.fixture
def make_target() -> Iterator[MakeTarget]:
    """Create a client with its own stand-in, which has a schema and a pipeline."""
    targets: list[Target] = []

    def target(version: str = "2.0.0", **more: Any) -> Target:
        targets.append(Target(OpenMetadata(version=version).__enter__(), **more))
        targets[-1].create_containers()
        targets[-1].calls.clear()
        return targets[-1]

    yield target
    for target_ in targets:
        target_.client.close()
        target_.standin.__exit__()


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_temporary_errors_are_retried_after_delay(make_target: MakeTarget, status: int) -> None:
    target = make_target()
    target.standin.faults.next(error(status, retry_after=0), times=2)
    assert not target.client.put("services/databaseServices", SERVICE).created
    assert target.calls == {"put": 3}
    assert [0.1 <= seconds <= 0.4 for seconds in target.sleeps] == [True, True]


@pytest.mark.parametrize(
    ("fault", "error_type"),
    [
        (error(503), TargetUnavailable),
        (reset(), NoResponse),
        (html(502), TargetUnavailable),
        (reset(applied=True), NoResponse),
    ],
)
def test_call_fails_after_all_attempts(
    make_target: MakeTarget, fault: Fault, error_type: type[LineageBridgeError]
) -> None:
    target = make_target()
    target.standin.faults.next(fault, times=3)
    with pytest.raises(error_type):
        target.client.put("services/databaseServices", SERVICE)
    assert target.calls == {"put": 3}
    assert target.client.put("services/databaseServices", SERVICE).created is False


@pytest.mark.parametrize(
    ("fault", "error_type"),
    [
        (error(400), TargetRejected),
        (error(403), TargetRejected),
        (error(409), TargetRejected),
        (html(200), TargetMisconfigured),
    ],
)
def test_permanent_errors_are_not_retried(
    make_target: MakeTarget, fault: Fault, error_type: type[LineageBridgeError]
) -> None:
    target = make_target()
    target.standin.faults.next(fault)
    with pytest.raises(error_type):
        target.client.put("services/databaseServices", SERVICE)
    assert (target.calls, target.sleeps) == ({"put": 1}, [])


@pytest.mark.parametrize(("retry_after", "attempts"), [(1, 2), (2, 2), (3, 1), (60, 1)])
def test_retry_after_is_respected_up_to_limit(make_target: MakeTarget, retry_after: int, attempts: int) -> None:
    target = make_target()
    target.standin.faults.next(error(503, retry_after=retry_after))
    if attempts == 1:
        with pytest.raises(TargetUnavailable) as busy:
            target.client.current_user()
        assert busy.value.retry_after == retry_after
    else:
        target.client.current_user()
    assert target.calls == {"who": attempts}
    assert target.sleeps == [retry_after] * (attempts - 1)


def test_unreachable_server_is_retried() -> None:
    paths: list[str] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        raise httpx.ConnectError("refused", request=request)

    session = HttpSession("http://om:8585", transport=httpx.MockTransport(refuse))
    with pytest.raises(Unreachable):
        Client(session, StaticToken("t"), attempts=4, sleep=lambda _: None).put_bulk("tables", [], str)
    assert paths == ["/api/v1/system/version"] * 4


WRITES: dict[str, Callable[[Client], Any]] = {
    "bulk": lambda client: client.put_bulk("tables", TABLES, lambda body: body["name"]),
    "put statuses": lambda client: client.put_statuses("jobs.p", STATUSES),
}


@pytest.mark.parametrize(
    ("version", "kind", "fault", "calls"),
    [
        ("2.0.0", "bulk", reset(applied=True), 1),
        ("2.0.0", "put statuses", reset(applied=True), 1),
        ("1.10.9", "put statuses", reset(applied=True), 1),
        ("2.0.0", "bulk", error(503), 2),
        ("2.0.0", "put statuses", error(503), 2),
    ],
)
def test_unanswered_writes_are_not_retried(
    make_target: MakeTarget, version: str, kind: str, fault: Fault, calls: int
) -> None:
    target = make_target(version)
    target.standin.faults.next(fault, method="PUT")
    if calls == 1:
        with pytest.raises(NoResponse):
            WRITES[kind](target.client)
    else:
        WRITES[kind](target.client)
    assert target.calls[kind] == calls


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        ("2.0.0", {"version": 1, "bulk": 1}),
        ("1.11.0", {"version": 1, "bulk": 1}),
        ("1.10.9", {"version": 1, "put": 3}),
        ("1.9.9", {"version": 1, "put": 3}),
    ],
)
def test_older_server_gets_entities_one_by_one(make_target: MakeTarget, version: str, kinds: dict[str, int]) -> None:
    target = make_target(version)
    results = target.client.put_bulk("tables", TABLES, lambda body: body["name"])
    assert [row.error is None for row in results] == [True, False, True]
    assert "dataLength" in (results[1].error or "")
    assert target.calls == kinds
    assert {name for kind, name in target.standin.state()["entities"] if kind == "table"} == {
        "svc.d.s.a",
        "svc.d.s.c",
    }


@pytest.mark.parametrize(
    ("version", "calls", "keys"),
    [
        ("2.0.0", 1, {"timestamp", "executionStatus", "taskStatus", "executionId", "endTime"}),
        ("1.11.0", 1, {"timestamp", "executionStatus", "taskStatus", "executionId", "endTime"}),
        ("1.10.9", 2, {"timestamp", "executionStatus", "taskStatus", "executionId", "endTime"}),
        ("1.9.9", 2, {"timestamp", "executionStatus", "taskStatus"}),
    ],
)
def test_older_server_gets_supported_status_fields(
    make_target: MakeTarget, version: str, calls: int, keys: set[str]
) -> None:
    target = make_target(version)
    target.client.put_statuses("jobs.p", STATUSES)
    assert target.calls["put statuses"] == calls
    assert [row["timestamp"] for row in target.standin.state()["statuses"]["jobs.p"]] == [1, 2]
    assert [{*row} for row in sent_statuses(target)] == [keys, keys]


def sent_statuses(target: Target) -> list[dict[str, Any]]:
    """Statuses as they were sent."""
    bodies = [
        json.loads(sent_request.body) for sent_request in target.standin.requests if "/status" in sent_request.path
    ]
    return [row for body in bodies for row in (body if isinstance(body, list) else [body])]


def test_older_server_gets_supported_task_fields(make_target: MakeTarget) -> None:
    target = make_target("1.9.9")
    target.client.put("pipelines", {"name": "p", "service": "jobs", "tasks": [{"name": "t"}]})
    task = {"name": "t", "executionStatus": "Failed", "startTime": 1}
    status = {"timestamp": 1, "executionStatus": "Failed", "taskStatus": [{**task, "metrics": {"rows": 1}}]}
    target.client.put_statuses("jobs.p", [status])
    assert sent_statuses(target) == [{"timestamp": 1, "executionStatus": "Failed", "taskStatus": [task]}]


def test_version_is_requested_again_after_outage(make_target: MakeTarget) -> None:
    target = make_target("1.10.9")
    for _ in range(3):
        assert not target.client.features().bulk
    assert target.calls["version"] == 1
    target.standin.faults.next(reset(), times=3)
    with pytest.raises(NoResponse):
        target.client.current_user()
    target.standin.app.version = "2.0.1"
    assert target.client.features().bulk
    assert target.calls["version"] == 2


@pytest.mark.parametrize(
    ("version", "bulk", "rich", "last_runs", "by_name", "verified"),
    [
        ("2.0.0-SNAPSHOT", True, True, True, True, True),
        ("2.0.3", True, True, True, True, True),
        ("2.1.0", True, True, True, True, False),
        ("10.0", True, True, True, True, False),
        ("1.13.4", True, True, True, False, False),
        ("1.11.0", True, True, False, False, False),
        ("1.10.9", False, True, False, False, False),
        ("1.9.9", False, False, False, False, False),
        ("", False, False, False, False, False),
        ("main", False, False, False, False, False),
    ],
)
def test_server_features_of_version(
    version: str, bulk: bool, rich: bool, last_runs: bool, by_name: bool, verified: bool
) -> None:
    assert server_features(version) == ServerFeatures(
        bulk, bulk, rich, last_runs, by_name, by_name, by_name, verified
    )


class Clock:
    """A clock that sleeping advances."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


@pytest.mark.parametrize(
    ("rate", "calls", "seconds"),
    [
        (None, 1_000, 0.0),
        (10.0, 10, 0.0),
        (10.0, 30, 2.0),
        (0.5, 1, 0.0),
        (0.5, 3, 4.0),
        (1.5, 4, pytest.approx(5 / 3)),
    ],
)
def test_rate_limit(rate: float | None, calls: int, seconds: float) -> None:
    clock = Clock()
    limiter = RateLimiter(rate, clock, clock.sleep)
    for _ in range(calls):
        limiter.acquire()
    assert clock.now == seconds


def test_idle_time_allows_burst_of_one_second() -> None:
    clock = Clock()
    limiter = RateLimiter(10.0, clock, clock.sleep)
    for idle in (0.0, 100.0):
        clock.now += idle
        clock.sleeps.clear()
        for _ in range(11):
            limiter.acquire()
        assert sum(clock.sleeps) == pytest.approx(0.1)


def test_threads_share_a_rate_limit() -> None:
    sleeps: list[float] = []
    limiter = RateLimiter(10.0, lambda: 0.0, sleeps.append)
    threads = [threading.Thread(target=lambda: [limiter.acquire() for _ in range(5)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sleeps) == pytest.approx([n / 10 for n in range(1, 11)])


def test_retries_count_towards_rate_limit(make_target: MakeTarget) -> None:
    target = make_target()
    clock = Clock()
    client = Client(
        HttpSession(target.standin.url),
        StaticToken(target.standin.bot_token),
        attempts=3,
        rate_limiter=RateLimiter(1.0, clock, clock.sleep),
        sleep=lambda _: None,
    )
    target.standin.faults.next(error(503), times=2)
    client.current_user()
    client.close()
    assert clock.sleeps == [1.0, 1.0]


def test_concurrency_is_limited() -> None:
    active, maximum, lock = 0, 0, threading.Lock()
    barrier = threading.Barrier(2, timeout=10)

    def respond(_: httpx.Request) -> httpx.Response:
        nonlocal active, maximum
        with lock:
            active += 1
            maximum = max(maximum, active)
        barrier.wait()
        with lock:
            active -= 1
        return httpx.Response(200, json={"id": "u"})

    session = HttpSession("http://om", transport=httpx.MockTransport(respond))
    client = Client(session, StaticToken("t"), concurrency=2)
    threads = [threading.Thread(target=client.current_user) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (active, maximum) == (0, 2)


def test_rejected_login_token_is_renewed_once(make_target: MakeTarget) -> None:
    target = make_target()
    issued: list[str] = []

    def login(_: httpx.Request) -> httpx.Response:
        issued.append(f"token {len(issued)}".replace(" ", "-"))
        return httpx.Response(200, json={"accessToken": issued[-1]})

    token = login_token_provider(HttpSession("http://om", transport=httpx.MockTransport(login)), "me@om", "secret")
    with_login = Target(target.standin, token)
    with pytest.raises(TargetMisconfigured, match="401"):
        with_login.client.current_user()
    with_login.client.close()
    assert (with_login.calls, len(issued)) == ({"who": 2}, 2)


def test_login_is_retried(make_target: MakeTarget) -> None:
    target = make_target()
    responses = [httpx.Response(503), httpx.Response(200, json={"accessToken": target.standin.bot_token})]
    transport = httpx.MockTransport(lambda _: responses.pop(0))
    with_login = Target(
        target.standin, login_token_provider(HttpSession("http://om", transport=transport), "me@om", "secret")
    )
    assert with_login.client.current_user()["name"] == "ingestion-bot"
    with_login.client.close()


@pytest.mark.parametrize("token", ["hunter2 2", "hunter2\nX: y", "hunter2\u00fc"])
def test_invalid_token_is_not_in_error_message(make_target: MakeTarget, token: str) -> None:
    target = Target(make_target().standin, StaticToken(token))
    with pytest.raises(TargetMisconfigured, match="copy it again") as raised:
        target.client.current_user()
    target.client.close()
    assert "hunter2" not in f"{raised.value!r} {StaticToken(token)!r}"
