"""Questions over HTTP: the same answers as from the store itself, and refusals that say why."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
import pytest

from bridge.bootstrap.queries import open_query_service
from bridge.bootstrap.store import make_indexer
from bridge.errors import InvalidParameter, NotFound, StoreBusy
from bridge.queries.dataset import DatasetQuery
from bridge.queries.lineage import ColumnLineageQuery, LineageQuery
from bridge.queries.query import Query
from bridge.queries.remote import RemoteQueryService
from bridge.queries.routes import to_request
from bridge.settings.model import Settings
from bridge.store.connect import StoreUrl
from connectors.errors import ConfigError, Unreachable
from connectors.openlineage.http import BridgeClient
from mappers.errors import LineageBridgeError
from tests.api.service import PROBLEM, Running, settings_for
from tests.factories import columns, dataset, field, run_event, run_uuid
from tests.fuzz.hostile_names import HOSTILE
from tests.queries.decisions import decide
from tests.queries.sample_store import EXAMPLE_QUERIES, SAMPLE_EVENTS


class _ToRunning(httpx.BaseTransport):
    """Takes requests to the service in this process."""

    def __init__(self, running: Running) -> None:
        self._running = running

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._running.get(str(request.url), headers=dict(request.headers))
        return httpx.Response(answer.status_code, content=answer.content)


def remote(running: Running) -> RemoteQueryService:
    return RemoteQueryService(BridgeClient("http://bridge", transport=_ToRunning(running)))


@pytest.fixture
def estate(tmp_path: Path) -> Iterator[Running]:
    with Running(settings_for(tmp_path)) as running:
        for event in SAMPLE_EVENTS:
            assert running.post(event).status_code == 201
        with closing(StoreUrl(running.settings.store.url).open_for_background_writes()) as db:
            decide(db)
        with closing(make_indexer(running.settings)) as indexer:
            indexer.index_all()
        yield running


def answered(settings: Settings, question: Query[Any]) -> Any:
    catalogue = open_query_service(settings)
    try:
        return catalogue.run(question)
    finally:
        catalogue.close()


@pytest.mark.parametrize("question", EXAMPLE_QUERIES, ids=lambda question: type(question).__name__)
def test_a_service_answers_as_its_store_does(estate: Running, question: Query[Any]) -> None:
    mine, theirs = answered(estate.settings, question), remote(estate).run(question)
    assert msgspec.json.encode(theirs) == msgspec.json.encode(mine)


@pytest.mark.parametrize("question", EXAMPLE_QUERIES, ids=lambda question: type(question).__name__)
def test_what_has_an_id_can_be_asked_by_it(estate: Running, question: Query[Any]) -> None:
    if question.subject not in {"dataset", "process"}:
        return
    of_dataset = question.subject == "dataset"
    named = DatasetQuery(namespace=question.namespace, name=question.name) if of_dataset else EXAMPLE_QUERIES[8]  # type: ignore[attr-defined]
    known = remote(estate).run(named)  # type: ignore[arg-type]
    by_id = msgspec.structs.replace(question, id=known.id, namespace=None, name=None)  # type: ignore[type-var,attr-defined]
    assert known.id in to_request(by_id)[0]  # type: ignore[attr-defined]
    assert msgspec.json.encode(remote(estate).run(by_id)) == msgspec.json.encode(answered(estate.settings, question))


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_no_name_is_mistaken_for_anything_else(tmp_path: Path, name: str) -> None:
    made = columns({name: [field(name, name, namespace=name)]})
    said = run_event(
        job=name, namespace=name, inputs=[dataset(name, name)], outputs=[dataset("made", name, columnLineage=made)]
    )
    with Running(settings_for(tmp_path)) as running:
        assert running.post(said).status_code == 201
        catalogue = remote(running)
        if name == HOSTILE["20,000 of 4 bytes"]:
            with pytest.raises(ConfigError, match="too long"):
                catalogue.run(DatasetQuery(namespace=name, name=name))
            return
        known = catalogue.run(DatasetQuery(namespace=name, name=name))
        assert catalogue.run(DatasetQuery(id=known.id)) == known
        found = catalogue.run(LineageQuery(id=known.id, direction="downstream"))
        assert [edge.target.name for edge in found.edges] == ["made"]
        for by in ({"id": known.id}, {"namespace": name, "name": name}):
            (hop,) = catalogue.run(ColumnLineageQuery(**by, field=name, direction="downstream")).hops
            assert hop.source == hop.target.__class__(known.id, known.namespace, known.name, hop.source.column)


@pytest.mark.parametrize(
    ("path", "status", "field_", "said"),
    [
        ("/api/v1/dataset/by-name", 400, "name", "missing dataset"),
        ("/api/v1/dataset/by-name?name=nothing", 404, None, "no dataset 'nothing' in the store"),
        ("/api/v1/dataset/by-name?name=a%00b", 400, "name", "U+0000"),
        ("/api/v1/dataset/by-name?name=a&name=b", 400, "name", "name: repeated"),
        ("/api/v1/dataset/by-name?name=a&id=b", 400, "id", "unknown; allowed: namespace"),
        ("/api/v1/dataset/register", 400, "id", "'register' is not a UUID"),
        (f"/api/v1/dataset/{run_uuid(1)}", 404, None, f"no dataset with the id {run_uuid(1)}"),
        (f"/api/v1/dataset/{run_uuid(1)}?name=x", 400, "name", "unknown; allowed: none"),
        ("/api/v1/dataset/by-name/lineage?name=clean&depth=0", 400, "depth", ">= 1"),
        ("/api/v1/dataset/by-name/lineage?name=clean&depth=x", 400, "depth", "int"),
        ("/api/v1/dataset/by-name/lineage?name=clean&direction=left", 400, "direction", "left"),
        ("/api/v1/dataset/by-name/lineage?name=clean&as_of=yesterday", 400, "as_of", "RFC3339"),
        ("/api/v1/dataset/by-name/lineage?name=clean&columns=maybe", 400, "columns", "bool"),
        ("/api/v1/dataset/by-name/columns/lineage?name=clean", 400, "field", "missing required field"),
        ("/api/v1/process/by-name?name=x", 400, "namespace", "missing job"),
        ("/api/v1/run/x", 400, "id", "not a UUID"),
        (f"/api/v1/run/{run_uuid(77)}", 404, None, "no run"),
        ("/api/v1/runs?limit=1001", 400, "limit", "<= 1000"),
        ("/api/v1/runs?after=x", 400, "after", "not a cursor"),
        ("/api/v1/nothing", 404, None, "is not served"),
    ],
)  # fmt: skip
def test_a_refusal_is_a_problem_that_names_the_parameter(
    estate: Running, path: str, status: int, field_: str | None, said: str
) -> None:
    answer = estate.get(path)
    problem = answer.json()
    assert (answer.status_code, answer.headers["content-type"], problem["status"]) == (status, PROBLEM, status)
    assert problem.get("field") == field_
    assert said in problem["detail"]


@pytest.mark.parametrize(
    ("status", "content", "error", "said"),
    [
        (404, b'{"title": "Unknown name", "detail": "no dataset"}', NotFound, "^no dataset$"),
        (404, b'{"title": "Not Found", "detail": "GET /x is not served"}', Unreachable, "is not served"),
        (400, b'{"title": "Bad parameter", "detail": "depth: too deep", "field": "depth"}', InvalidParameter, "^depth: too deep$"),
        (401, b'{"title": "Key required", "detail": "send"}', ConfigError, "LINEAGE_BRIDGE_API_KEY"),
        (503, b'{"title": "Starting", "detail": "the service is starting"}', Unreachable, "the service is starting"),
        (200, b"<html>", ConfigError, "check that it is a lineage-bridge"),
        (200, b'{"items": []}', ConfigError, "of the same version"),
        (502, b"Bad Gateway", ConfigError, "status 502"),
    ],
)  # fmt: skip
def test_what_a_service_refuses_is_told(status: int, content: bytes, error: type[Exception], said: str) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(status, content=content))
    catalogue = RemoteQueryService(BridgeClient("http://bridge", transport=transport))
    with pytest.raises(error, match=said):
        catalogue.run(DatasetQuery(name="x"))
    catalogue.close()


def test_an_address_without_a_service_is_told() -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(Unreachable, match="http://bridge does not answer: refused"):
        RemoteQueryService(BridgeClient("http://bridge", transport=httpx.MockTransport(gone))).run(
            DatasetQuery(name="x")
        )


@pytest.mark.parametrize(
    ("error", "status"), [(StoreBusy("locked"), 503), (LineageBridgeError("broken"), 500), (NotFound("no"), 404)]
)
def test_a_store_that_fails_is_a_problem(
    estate: Running, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(DatasetQuery, "run", failing)
    answer = estate.get(f"/api/v1/dataset/{quote(run_uuid(1))}")
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
    assert str(error) in answer.json()["detail"]
