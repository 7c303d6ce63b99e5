"""A link to a service: asked again while it does not answer, and told in the words of a store."""

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
from tests.process.process_lake import Workshop

Answer = Callable[[httpx.Request], httpx.Response]


def link(*answers: httpx.Response | Exception, patience: float = 30) -> tuple[RemoteBackend, list[httpx.Request]]:
    """Make a link to a service that answers so, one after the other, and the last for ever."""
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        found = answers[min(len(asked), len(answers) - 1)]
        asked.append(request)
        if isinstance(found, Exception):
            raise found
        return found

    client = BridgeClient("http://bridge", transport=httpx.MockTransport(answer))
    return RemoteBackend(client, retry_seconds=patience), asked


def test_events_go_in_batches_and_those_that_are_none_come_back_with_reasons() -> None:
    failed = {"failed_events": [{"index": 1, "reason": "job: is missing"}]}
    speaking, asked = link(httpx.Response(204), httpx.Response(200, json=failed))
    assert speaking.send_events([b"{}"] * 150) == ["job: is missing"]
    assert [len(httpx.Response(200, content=one.content).json()) for one in asked] == [100, 50]


def test_an_event_of_our_own_that_is_none_is_an_error() -> None:
    speaking, _ = link(httpx.Response(200, json={"failed_events": [{"reason": "job: is missing"}]}))
    with pytest.raises(InvalidInput, match="job: is missing"):
        send_event(speaking, b"{}")


@pytest.mark.parametrize(
    "trouble", [httpx.ConnectError("refused"), httpx.ReadTimeout("late"), httpx.Response(503, text="full")]
)
def test_what_passes_is_waited_for(trouble: httpx.Response | Exception) -> None:
    speaking, asked = link(trouble, httpx.Response(204))
    assert speaking.send_events([b"{}"]) == []
    assert len(asked) == 2


def test_what_does_not_pass_is_told_at_last() -> None:
    speaking, _ = link(httpx.ConnectError("refused"), patience=0)
    with pytest.raises(Unreachable, match="http://bridge does not answer"):
        speaking.send_events([b"{}"])


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_without_its_scope_is_told_at_once(status: int) -> None:
    speaking, asked = link(httpx.Response(status))
    with pytest.raises(ConfigError, match="lacks the scope ingest"):
        speaking.send_events([b"{}"])
    assert len(asked) == 1


REFUSALS = [
    (404, "Unknown name", NotFound), (409, "Conflict", StateConflict), (401, "Key required", ConfigError),
]  # fmt: skip


@pytest.mark.parametrize(("status", "title", "error"), REFUSALS)
def test_a_service_refuses_as_a_store_does(status: int, title: str, error: type[Exception]) -> None:
    speaking, asked = link(httpx.Response(status, json={"title": title, "detail": "why"}))
    with pytest.raises(error, match="why"):
        speaking.query(ResolveVersionQuery(name="d"))
    with pytest.raises(error, match="why"):
        speaking.execute(RegisterDefinitionCommand(namespace="n", name="p", definition={}))
    assert [(one.method, one.url.path) for one in asked] == [
        ("GET", "/api/v1/dataset/by-name/resolve"),
        ("POST", "/api/v1/definitions"),
    ]


def test_a_list_is_read_to_its_end(workshop: Workshop) -> None:
    from bridge.queries.versions import VersionsQuery

    for number in range(1, 6):
        workshop.version("trades", f"t{number}", number)
    question = VersionsQuery(namespace="file", name=workshop.path("trades"), limit=2)
    assert [one.tag for one in iterate_pages(workshop.link, question)] == ["t5", "t4", "t3", "t2", "t1"]
