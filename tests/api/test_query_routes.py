"""Queries over HTTP: same results as on the store, and errors with reasons."""

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
from bridge.errors import AmbiguousName, InvalidParameter, NotFound, StoreBusy
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
from mappers.openmetadata.entity_requests import dataset_page
from tests.api.service import PROBLEM, RunningService, settings_for
from tests.factories import columns, dataset, field, run_event, run_uuid
from tests.fuzz.hostile_names import HOSTILE
from tests.queries.decisions import decide
from tests.queries.sample_store import EXAMPLE_QUERIES, SAMPLE_EVENTS


class _ServiceTransport(httpx.BaseTransport):
    """Sends requests to the service in this process."""

    def __init__(self, running: RunningService) -> None:
        self._running = running

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._running.get(str(request.url), headers=dict(request.headers))
        return httpx.Response(response.status_code, content=response.content)


def remote(running: RunningService) -> RemoteQueryService:
    return RemoteQueryService(BridgeClient("http://localhost", transport=_ServiceTransport(running)))


@pytest.fixture
def sample_service(tmp_path: Path) -> Iterator[RunningService]:
    with RunningService(settings_for(tmp_path)) as running:
        for event in SAMPLE_EVENTS:
            assert running.post(event).status_code == 201
        with closing(StoreUrl(running.settings.store.url).open_for_background_writes()) as db:
            decide(db)
        with closing(make_indexer(running.settings)) as indexer:
            indexer.index_all()
        yield running


def run_on_store(settings: Settings, query: Query[Any]) -> Any:
    query_service = open_query_service(settings)
    try:
        return query_service.run(query)
    finally:
        query_service.close()


@pytest.mark.parametrize("query", EXAMPLE_QUERIES, ids=lambda query: type(query).__name__)
def test_service_and_store_return_the_same(sample_service: RunningService, query: Query[Any]) -> None:
    local, remote_result = run_on_store(sample_service.settings, query), remote(sample_service).run(query)
    assert msgspec.json.encode(remote_result) == msgspec.json.encode(local)


@pytest.mark.parametrize("query", EXAMPLE_QUERIES, ids=lambda query: type(query).__name__)
def test_queries_by_id(sample_service: RunningService, query: Query[Any]) -> None:
    if query.subject not in {"dataset", "process"}:
        return
    is_dataset = query.subject == "dataset"
    by_name = DatasetQuery(namespace=query.namespace, name=query.name) if is_dataset else EXAMPLE_QUERIES[8]  # type: ignore[attr-defined]
    summary = remote(sample_service).run(by_name)  # type: ignore[arg-type]
    by_id = msgspec.structs.replace(query, id=summary.id, namespace=None, name=None)  # type: ignore[type-var,attr-defined]
    assert summary.id in to_request(by_id)[0]  # type: ignore[attr-defined]
    assert msgspec.json.encode(remote(sample_service).run(by_id)) == msgspec.json.encode(
        run_on_store(sample_service.settings, query)
    )


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names(tmp_path: Path, name: str) -> None:
    lineage = columns({name: [field(name, name, namespace=name)]})
    event = run_event(
        job=name, namespace=name, inputs=[dataset(name, name)], outputs=[dataset("made", name, columnLineage=lineage)]
    )
    with RunningService(settings_for(tmp_path)) as running:
        assert running.post(event).status_code == 201
        query_service = remote(running)
        if name == HOSTILE["20,000 of 4 bytes"]:
            with pytest.raises(ConfigError, match="too long"):
                query_service.run(DatasetQuery(namespace=name, name=name))
            return
        summary = query_service.run(DatasetQuery(namespace=name, name=name))
        assert query_service.run(DatasetQuery(id=summary.id)) == summary
        graph = query_service.run(LineageQuery(id=summary.id, direction="downstream"))
        assert [edge.target.name for edge in graph.edges] == ["made"]
        for subject in ({"id": summary.id}, {"namespace": name, "name": name}):
            (hop,) = query_service.run(ColumnLineageQuery(**subject, field=name, direction="downstream")).hops
            assert hop.source == hop.target.__class__(summary.id, summary.namespace, summary.name, hop.source.column)


@pytest.mark.parametrize(
    ("path", "status", "field_", "message"),
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
def test_errors_name_the_parameter(
    sample_service: RunningService, path: str, status: int, field_: str | None, message: str
) -> None:
    response = sample_service.get(path)
    problem = response.json()
    assert (response.status_code, response.headers["content-type"], problem["status"]) == (status, PROBLEM, status)
    assert problem.get("field") == field_
    assert message in problem["detail"]


def test_unknown_and_ambiguous_names_list_datasets(sample_service: RunningService) -> None:
    assert sample_service.get("/api/v1/dataset/by-name?name=repor").json()["similar"] == ["db report"]
    sample_service.post(run_event(outputs=[dataset("a.twin"), dataset("b.twin")]))
    with closing(make_indexer(sample_service.settings)) as indexer:
        indexer.index_all()
    problem = sample_service.get("/api/v1/dataset/by-name?name=twin").json()
    assert (problem["status"], problem["field"]) == (400, "name")
    assert [candidate["name"] for candidate in problem["candidates"]] == ["a.twin", "b.twin"]
    candidate_id = problem["candidates"][0]["id"]
    assert sample_service.get(f"/api/v1/dataset/{candidate_id}").json()["name"] == "a.twin"


@pytest.mark.parametrize(
    ("status", "content", "error", "message"),
    [
        (404, b'{"title": "Unknown name", "detail": "no dataset"}', NotFound, "^no dataset$"),
        (404, b'{"title": "Unknown name", "detail": "no dataset; similar: db t", "similar": ["db t"]}', NotFound, "^no dataset; similar: db t$"),
        (400, b'{"title": "Bad parameter", "field": "name", "candidates": [{"namespace": "db", "name": "t"}]}', AmbiguousName, "match: db t;"),
        (404, b'{"title": "Not Found", "detail": "GET /x is not served"}', Unreachable, "is not served"),
        (400, b'{"title": "Bad parameter", "detail": "depth: too deep", "field": "depth"}', InvalidParameter, "^depth: too deep$"),
        (401, b'{"title": "Key required", "detail": "send"}', ConfigError, "LINEAGE_BRIDGE_API_KEY"),
        (503, b'{"title": "Starting", "detail": "the service is starting"}', Unreachable, "the service is starting"),
        (200, b"<html>", ConfigError, "check that it is a lineage-bridge"),
        (200, b'{"items": []}', ConfigError, "of the same version"),
        (502, b"Bad Gateway", ConfigError, "status 502"),
    ],
)  # fmt: skip
def test_client_raises_errors_of_service(status: int, content: bytes, error: type[Exception], message: str) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(status, content=content))
    query_service = RemoteQueryService(BridgeClient("http://bridge", transport=transport))
    with pytest.raises(error, match=message):
        query_service.run(DatasetQuery(name="x"))
    query_service.close()


def test_client_reports_unreachable_service() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(Unreachable, match="http://bridge does not respond: refused"):
        RemoteQueryService(BridgeClient("http://bridge", transport=httpx.MockTransport(refuse))).run(
            DatasetQuery(name="x")
        )


@pytest.mark.parametrize(
    ("error", "status"), [(StoreBusy("locked"), 503), (LineageBridgeError("broken"), 500), (NotFound("no"), 404)]
)
def test_store_errors_have_status(
    sample_service: RunningService, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(DatasetQuery, "run", failing)
    response = sample_service.get(f"/api/v1/dataset/{quote(run_uuid(1))}")
    assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM)
    assert str(error) in response.json()["detail"]


def test_link_to_a_dataset_leads_to_its_json(sample_service: RunningService) -> None:
    names = {"namespace": "db", "name": "a b&c"}
    response = sample_service.get(dataset_page("", *names.values()))
    assert response.status_code == 307
    target = httpx.URL(response.headers["location"])
    assert (target.path, dict(target.params)) == ("/api/v1/dataset/by-name", names)
