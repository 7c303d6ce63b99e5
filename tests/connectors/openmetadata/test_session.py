"""What a call does within itself: it tries again, keeps its pace, and takes older servers as they are."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from connectors.errors import NoResponse, TargetMisconfigured, TargetRejected, TargetUnavailable, Unreachable
from connectors.http import HttpSession
from connectors.openmetadata.auth import StaticToken, TokenProvider, login_token
from connectors.openmetadata.client import OpenMetadataClient as Client
from connectors.openmetadata.compatibility import ServerFeatures, server_features
from connectors.session import RateLimiter
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
    """A client of a stand-in that sleeps in no time, and what it did."""

    def __init__(self, standin: OpenMetadata, token: TokenProvider | None = None, **more: Any) -> None:
        self.standin = standin
        self.slept: list[float] = []
        self.counted: Counter[str] = Counter()
        self.client = Client(
            HttpSession(standin.url),
            token or StaticToken(standin.bot_token),
            lambda kind: self.counted.update([kind]),
            **{"attempts": 3, "sleep": self.slept.append} | more,
        )

    def furnish(self) -> None:
        self.client.put("services/databaseServices", SERVICE)
        self.client.put("databases", {"name": "d", "service": "svc"})
        self.client.put("databaseSchemas", {"name": "s", "database": "svc.d"})
        self.client.put("services/pipelineServices", {"name": "jobs", "serviceType": "CustomPipeline"})
        self.client.put("pipelines", {"name": "p", "service": "jobs"})


Make = Callable[..., Target]


@pytest.fixture
def make() -> Iterator[Make]:
    """Make a client of a stand-in of its own; furnished, once nothing goes wrong."""
    made: list[Target] = []

    def target(version: str = "2.0.0", **more: Any) -> Target:
        made.append(Target(OpenMetadata(version=version).__enter__(), **more))
        made[-1].furnish()
        made[-1].counted.clear()
        return made[-1]

    yield target
    for each in made:
        each.client.close()
        each.standin.__exit__()


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_passes_is_tried_again_after_a_moment(make: Make, status: int) -> None:
    target = make()
    target.standin.faults.next(error(status, retry_after=0), times=2)
    assert not target.client.put("services/databaseServices", SERVICE).created
    assert target.counted == {"put": 3}
    assert [0.1 <= seconds <= 0.4 for seconds in target.slept] == [True, True]


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (error(503), TargetUnavailable),
        (reset(), NoResponse),
        (html(502), TargetUnavailable),
        (reset(applied=True), NoResponse),
    ],
)
def test_a_call_gives_up_after_its_tries(make: Make, fault: Fault, raised: type[LineageBridgeError]) -> None:
    target = make()
    target.standin.faults.next(fault, times=3)
    with pytest.raises(raised):
        target.client.put("services/databaseServices", SERVICE)
    assert target.counted == {"put": 3}
    assert target.client.put("services/databaseServices", SERVICE).created is False


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (error(400), TargetRejected),
        (error(403), TargetRejected),
        (error(409), TargetRejected),
        (html(200), TargetMisconfigured),
    ],
)
def test_what_would_be_refused_again_is_asked_once(
    make: Make, fault: Fault, raised: type[LineageBridgeError]
) -> None:
    target = make()
    target.standin.faults.next(fault)
    with pytest.raises(raised):
        target.client.put("services/databaseServices", SERVICE)
    assert (target.counted, target.slept) == ({"put": 1}, [])


@pytest.mark.parametrize(("wanted", "tried"), [(1, 2), (2, 2), (3, 1), (60, 1)])
def test_a_server_is_left_alone_as_long_as_it_wants(make: Make, wanted: int, tried: int) -> None:
    target = make()
    target.standin.faults.next(error(503, retry_after=wanted))
    if tried == 1:
        with pytest.raises(TargetUnavailable) as busy:
            target.client.current_user()
        assert busy.value.retry_after == wanted
    else:
        target.client.current_user()
    assert target.counted == {"who": tried}
    assert target.slept == [wanted] * (tried - 1)


def test_nobody_there_is_asked_again() -> None:
    asked: list[str] = []

    def gone(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        raise httpx.ConnectError("refused", request=request)

    session = HttpSession("http://om:8585", transport=httpx.MockTransport(gone))
    with pytest.raises(Unreachable):
        Client(session, StaticToken("t"), attempts=4, sleep=lambda _: None).put_bulk("tables", [], str)
    assert asked == ["/api/v1/system/version"] * 4


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
def test_what_nobody_answered_may_be_at_work_and_is_not_sent_again(
    make: Make, version: str, kind: str, fault: Fault, calls: int
) -> None:
    target = make(version)
    target.standin.faults.next(fault, method="PUT")
    if calls == 1:
        with pytest.raises(NoResponse):
            WRITES[kind](target.client)
    else:
        WRITES[kind](target.client)
    assert target.counted[kind] == calls


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        ("2.0.0", {"version": 1, "bulk": 1}),
        ("1.11.0", {"version": 1, "bulk": 1}),
        ("1.10.9", {"version": 1, "put": 3}),
        ("1.9.9", {"version": 1, "put": 3}),
    ],
)
def test_an_older_server_gets_its_entities_one_by_one(make: Make, version: str, kinds: dict[str, int]) -> None:
    target = make(version)
    done = target.client.put_bulk("tables", TABLES, lambda body: body["name"])
    assert [row.error is None for row in done] == [True, False, True]
    assert "dataLength" in (done[1].error or "")
    assert target.counted == kinds
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
def test_an_older_server_gets_as_much_of_a_status_as_it_keeps(
    make: Make, version: str, calls: int, keys: set[str]
) -> None:
    target = make(version)
    target.client.put_statuses("jobs.p", STATUSES)
    assert target.counted["put statuses"] == calls
    assert [row["timestamp"] for row in target.standin.state()["statuses"]["jobs.p"]] == [1, 2]
    assert [{*row} for row in sent(target)] == [keys, keys]


def sent(target: Target) -> list[dict[str, Any]]:
    """Give the statuses as they were sent."""
    bodies = [json.loads(seen.body) for seen in target.standin.requests if "/status" in seen.path]
    return [row for body in bodies for row in (body if isinstance(body, list) else [body])]


def test_tasks_are_sent_as_an_older_server_keeps_them(make: Make) -> None:
    target = make("1.9.9")
    target.client.put("pipelines", {"name": "p", "service": "jobs", "tasks": [{"name": "t"}]})
    task = {"name": "t", "executionStatus": "Failed", "startTime": 1}
    told = {"timestamp": 1, "executionStatus": "Failed", "taskStatus": [{**task, "metrics": {"rows": 1}}]}
    target.client.put_statuses("jobs.p", [told])
    assert sent(target) == [{"timestamp": 1, "executionStatus": "Failed", "taskStatus": [task]}]


def test_the_version_is_asked_once_and_again_after_the_server_was_away(make: Make) -> None:
    target = make("1.10.9")
    for _ in range(3):
        assert not target.client.features().bulk
    assert target.counted["version"] == 1
    target.standin.faults.next(reset(), times=3)
    with pytest.raises(NoResponse):
        target.client.current_user()
    target.standin.app.version = "2.0.1"
    assert target.client.features().bulk
    assert target.counted["version"] == 2


@pytest.mark.parametrize(
    ("version", "bulk", "rich", "by_name", "verified"),
    [
        ("2.0.0-SNAPSHOT", True, True, True, True),
        ("2.0.3", True, True, True, True),
        ("2.1.0", True, True, True, False),
        ("10.0", True, True, True, False),
        ("1.13.4", True, True, False, False),
        ("1.11.0", True, True, False, False),
        ("1.10.9", False, True, False, False),
        ("1.9.9", False, False, False, False),
        ("", False, False, False, False),
        ("main", False, False, False, False),
    ],
)
def test_a_version_tells_what_a_server_can_do(
    version: str, bulk: bool, rich: bool, by_name: bool, verified: bool
) -> None:
    assert server_features(version) == ServerFeatures(bulk, bulk, rich, by_name, verified)


class Clock:
    """Time that passes while one sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.mark.parametrize(
    ("rate", "calls", "took"),
    [
        (None, 1_000, 0.0),
        (10.0, 10, 0.0),
        (10.0, 30, 2.0),
        (0.5, 1, 0.0),
        (0.5, 3, 4.0),
        (1.5, 4, pytest.approx(5 / 3)),
    ],
)
def test_calls_keep_the_pace(rate: float | None, calls: int, took: float) -> None:
    clock = Clock()
    pace = RateLimiter(rate, clock, clock.sleep)
    for _ in range(calls):
        pace.acquire()
    assert clock.now == took


def test_a_rest_is_worth_one_second_and_no_more() -> None:
    clock = Clock()
    pace = RateLimiter(10.0, clock, clock.sleep)
    for rest in (0.0, 100.0):
        clock.now += rest
        clock.slept.clear()
        for _ in range(11):
            pace.acquire()
        assert sum(clock.slept) == pytest.approx(0.1)


def test_threads_share_a_pace() -> None:
    slept: list[float] = []
    pace = RateLimiter(10.0, lambda: 0.0, slept.append)
    threads = [threading.Thread(target=lambda: [pace.acquire() for _ in range(5)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(slept) == pytest.approx([n / 10 for n in range(1, 11)])


def test_every_try_takes_from_the_pace(make: Make) -> None:
    target = make()
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
    assert clock.slept == [1.0, 1.0]


def test_no_more_calls_are_made_at_once_than_may_be() -> None:
    inside, most, lock = 0, 0, threading.Lock()
    meeting = threading.Barrier(2, timeout=10)

    def answer(_: httpx.Request) -> httpx.Response:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        meeting.wait()
        with lock:
            inside -= 1
        return httpx.Response(200, json={})

    session = HttpSession("http://om", transport=httpx.MockTransport(answer))
    client = Client(session, StaticToken("t"), concurrency=2)
    threads = [threading.Thread(target=client.current_user) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (inside, most) == (0, 2)


def test_a_server_that_takes_no_token_is_not_asked_for_ever(make: Make) -> None:
    target = make()
    issued: list[str] = []

    def login(_: httpx.Request) -> httpx.Response:
        issued.append(f"token {len(issued)}".replace(" ", "-"))
        return httpx.Response(200, json={"accessToken": issued[-1]})

    token = login_token(HttpSession("http://om", transport=httpx.MockTransport(login)), "me@om", "secret")
    other = Target(target.standin, token)
    with pytest.raises(TargetMisconfigured, match="401"):
        other.client.current_user()
    other.client.close()
    assert (other.counted, len(issued)) == ({"who": 2}, 2)


def test_a_login_that_passes_by_itself_is_tried_again(make: Make) -> None:
    target = make()
    answers = [httpx.Response(503), httpx.Response(200, json={"accessToken": target.standin.bot_token})]
    transport = httpx.MockTransport(lambda _: answers.pop(0))
    other = Target(target.standin, login_token(HttpSession("http://om", transport=transport), "me@om", "secret"))
    assert other.client.current_user()["name"] == "ingestion-bot"
    other.client.close()


@pytest.mark.parametrize("token", ["hunter2 2", "hunter2\nX: y", "hunter2\u00fc"])
def test_a_token_that_no_request_can_carry_is_not_repeated(make: Make, token: str) -> None:
    target = Target(make().standin, StaticToken(token))
    with pytest.raises(TargetMisconfigured, match="copy it again") as locked:
        target.client.current_user()
    target.client.close()
    assert "hunter2" not in f"{locked.value!r} {StaticToken(token)!r}"
