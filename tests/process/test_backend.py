"""The backend of a remote service: retries, and errors like those of a store."""

from collections.abc import Callable

import httpx
import pytest

from bridge.errors import NotFound, StateConflict
from bridge.process.backend import RemoteBackend, iterate_pages, send_event
from bridge.queries.versions import ResolveVersionQuery
from bridge.versions.metadata_commands import RegisterDefinitionCommand
from connectors.errors import ConfigError, Unreachable
from connectors.openlineage.http import BridgeClient
from mappers.errors import InvalidInput
from tests.process.process_lake import ProcessHarness

Handler = Callable[[httpx.Request], httpx.Response]


def make_backend(
    *responses: httpx.Response | Exception, retry_seconds: float = 30
) -> tuple[RemoteBackend, list[httpx.Request]]:
    """A backend whose service returns these responses in order, and repeats the last."""
    requests: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        response = responses[min(len(requests), len(responses) - 1)]
        requests.append(request)
        if isinstance(response, Exception):
            raise response
        return response

    client = BridgeClient("http://bridge", transport=httpx.MockTransport(respond))
    return RemoteBackend(client, retry_seconds=retry_seconds), requests


def test_events_are_sent_in_batches_and_rejections_returned() -> None:
    failed = {"failed_events": [{"index": 1, "reason": "job: is missing"}]}
    backend, requests = make_backend(httpx.Response(204), httpx.Response(200, json=failed))
    assert backend.send_events([b"{}"] * 150) == ["job: is missing"]
    assert [len(httpx.Response(200, content=request.content).json()) for request in requests] == [100, 50]


def test_rejected_own_event_is_an_error() -> None:
    backend, _ = make_backend(httpx.Response(200, json={"failed_events": [{"reason": "job: is missing"}]}))
    with pytest.raises(InvalidInput, match="job: is missing"):
        send_event(backend, b"{}")


@pytest.mark.parametrize(
    "failure", [httpx.ConnectError("refused"), httpx.ReadTimeout("late"), httpx.Response(503, text="full")]
)
def test_temporary_errors_are_retried(failure: httpx.Response | Exception) -> None:
    backend, requests = make_backend(failure, httpx.Response(204))
    assert backend.send_events([b"{}"]) == []
    assert len(requests) == 2


def test_unreachable_service_is_an_error() -> None:
    backend, _ = make_backend(httpx.ConnectError("refused"), retry_seconds=0)
    with pytest.raises(Unreachable, match="http://bridge does not respond"):
        backend.send_events([b"{}"])


@pytest.mark.parametrize("status", [401, 403])
def test_missing_scope_is_not_retried(status: int) -> None:
    backend, requests = make_backend(httpx.Response(status))
    with pytest.raises(ConfigError, match="lacks the scope ingest"):
        backend.send_events([b"{}"])
    assert len(requests) == 1


ERRORS = [
    (404, "Unknown name", NotFound), (409, "Conflict", StateConflict), (401, "Key required", ConfigError),
]  # fmt: skip


@pytest.mark.parametrize(("status", "title", "error"), ERRORS)
def test_error_responses_raise_errors_of_store(status: int, title: str, error: type[Exception]) -> None:
    backend, requests = make_backend(httpx.Response(status, json={"title": title, "detail": "why"}))
    with pytest.raises(error, match="why"):
        backend.query(ResolveVersionQuery(name="d"))
    with pytest.raises(error, match="why"):
        backend.execute(RegisterDefinitionCommand(namespace="n", name="p", definition={}))
    assert [(request.method, request.url.path) for request in requests] == [
        ("GET", "/api/v1/dataset/by-name/resolve"),
        ("POST", "/api/v1/definitions"),
    ]


def test_iterate_pages(harness: ProcessHarness) -> None:
    from bridge.queries.versions import VersionsQuery

    for number in range(1, 6):
        harness.write_version("trades", f"t{number}", number)
    query = VersionsQuery(namespace="file", name=harness.path("trades"), limit=2)
    assert [version.tag for version in iterate_pages(harness.backend, query)] == ["t5", "t4", "t3", "t2", "t1"]
