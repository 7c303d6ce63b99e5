"""The HTTP client that sends events."""

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


def make_client(handler: Handler, url: str = "http://bridge:8090", api_key: str | None = None) -> BridgeClient:
    return BridgeClient(url, api_key=api_key, transport=httpx.MockTransport(handler))


@pytest.mark.parametrize("url", ["http://bridge:8090", "http://bridge:8090/", "https://bridge/lineage"])
def test_event_is_posted_unchanged(url: str) -> None:
    requests: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(201)

    with make_client(respond, url) as events:
        assert events.send(b'{"a": 1}') == SendResult(201, "")
    request = requests[0]
    assert (request.method, str(request.url)) == ("POST", url.rstrip("/") + "/api/v1/lineage")
    assert (request.content, request.headers["content-type"]) == (b'{"a": 1}', "application/json")
    assert "authorization" not in request.headers


def test_key_is_sent_as_bearer_token() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(201 if request.headers.get("authorization") == "Bearer secret" else 401)

    with make_client(respond, api_key="secret") as events:
        assert events.send(b"{}").status == 201


@pytest.mark.parametrize("status", [400, 401, 413, 500, 503])
def test_error_status_is_returned_with_text(status: int) -> None:
    with make_client(lambda _: httpx.Response(status, text="because")) as events:
        assert events.send(b"{}") == SendResult(status, "because")


@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError])
def test_missing_response_is_an_error(error: type[httpx.TransportError]) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise error("broken")

    with make_client(fail) as events:
        with pytest.raises(Unreachable, match="http://bridge:8090 does not respond: broken"):
            events.send(b"{}")
        assert not events.is_ready()


@pytest.mark.parametrize(("status", "ready"), [(200, True), (503, False), (404, False)])
def test_is_ready(status: int, *, ready: bool) -> None:
    with make_client(lambda request: httpx.Response(status if request.url.path == "/readyz" else 500)) as events:
        assert events.is_ready() is ready


def test_send_all_uses_several_connections_and_keeps_order() -> None:
    barrier = threading.Barrier(4, timeout=20)

    def respond(request: httpx.Request) -> httpx.Response:
        barrier.wait()
        return httpx.Response(201, text=request.content.decode())

    with make_client(respond) as events:
        results = list(events.send_all((str(i).encode() for i in range(20)), connections=4))
    assert results == [SendResult(201, str(i)) for i in range(20)]


def test_response_is_freed_after_reading() -> None:
    references: list[weakref.ref[httpx.Response]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        response = httpx.Response(200, content=b"x" * 1000)
        references.append(weakref.ref(response))
        return response

    session = HttpSession("http://target", transport=httpx.MockTransport(handler))
    gc.disable()
    try:
        assert len(session.request("GET", "/").body) == 1000
        assert references[0]() is None
    finally:
        gc.enable()
        session.close()
