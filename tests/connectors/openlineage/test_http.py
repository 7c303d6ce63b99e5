"""The client of a service that takes events."""

import gc
import threading
import weakref
from collections.abc import Callable

import httpx
import pytest

from connectors.errors import Unreachable
from connectors.http import HttpSession
from connectors.openlineage.http import BridgeClient, SendResult

Handler = Callable[[httpx.Request], httpx.Response]


def client(handler: Handler, url: str = "http://bridge:8090", api_key: str | None = None) -> BridgeClient:
    return BridgeClient(url, api_key=api_key, transport=httpx.MockTransport(handler))


@pytest.mark.parametrize("url", ["http://bridge:8090", "http://bridge:8090/", "https://bridge/lineage"])
def test_an_event_is_posted_as_it_is(url: str) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(201)

    with client(answer, url) as events:
        assert events.send(b'{"a": 1}') == SendResult(201, "")
    request = seen[0]
    assert (request.method, str(request.url)) == ("POST", url.rstrip("/") + "/api/v1/lineage")
    assert (request.content, request.headers["content-type"]) == (b'{"a": 1}', "application/json")
    assert "authorization" not in request.headers


def test_a_key_is_sent_as_a_bearer_token() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(201 if request.headers.get("authorization") == "Bearer secret" else 401)

    with client(answer, api_key="secret") as events:
        assert events.send(b"{}").status == 201


@pytest.mark.parametrize("status", [400, 401, 413, 500, 503])
def test_a_refusal_is_an_answer_with_its_reason(status: int) -> None:
    with client(lambda _: httpx.Response(status, text="because")) as events:
        assert events.send(b"{}") == SendResult(status, "because")


@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError])
def test_no_answer_is_an_error_that_names_the_service(error: type[httpx.TransportError]) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise error("broken")

    with client(fail) as events:
        with pytest.raises(Unreachable, match="http://bridge:8090 does not answer: broken"):
            events.send(b"{}")
        assert not events.is_ready()


@pytest.mark.parametrize(("status", "ready"), [(200, True), (503, False), (404, False)])
def test_ready_is_what_the_service_says(status: int, *, ready: bool) -> None:
    with client(lambda request: httpx.Response(status if request.url.path == "/readyz" else 500)) as events:
        assert events.is_ready() is ready


def test_many_events_are_sent_over_several_connections_and_answered_in_order() -> None:
    together = threading.Barrier(4, timeout=20)

    def answer(request: httpx.Request) -> httpx.Response:
        together.wait()
        return httpx.Response(201, text=request.content.decode())

    with client(answer) as events:
        answers = list(events.send_all((str(i).encode() for i in range(20)), connections=4))
    assert answers == [SendResult(201, str(i)) for i in range(20)]


def test_an_answer_is_not_kept_after_it_was_read() -> None:
    kept: list[weakref.ref[httpx.Response]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        answer = httpx.Response(200, content=b"x" * 1000)
        kept.append(weakref.ref(answer))
        return answer

    session = HttpSession("http://target", transport=httpx.MockTransport(handler))
    gc.disable()
    try:
        assert len(session.request("GET", "/").body) == 1000
        assert kept[0]() is None
    finally:
        gc.enable()
        session.close()
