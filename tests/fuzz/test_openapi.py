"""The OpenAPI document matches the service: routes, examples, requests and responses."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.python import asgi
from schemathesis.specs.openapi import checks

from bridge.api.app import ROUTE_SCOPES
from bridge.api.command_routes import COMMAND_ROUTES
from bridge.api.examples import EXAMPLES
from bridge.api.openapi_intake import LINEAGE_ROUTES
from bridge.api.query_routes import QUERY_ROUTES
from bridge.bootstrap.store import make_indexer
from bridge.store.connect import StoreUrl
from tests.api.sample_versions import write_versions
from tests.api.service import RunningService, settings_for
from tests.queries.decisions import decide
from tests.queries.sample_store import SAMPLE_EVENTS

#: The host that the client of schemathesis sends.
_SERVER = {"public_url": "http://testserver"}
DB2 = {"db2_url": "db2://db2.example.com:50000"}
_OPERATIONS = sorted(
    {
        *((path, "get" if "/api/" not in path or path in QUERY_ROUTES else "post") for path in ROUTE_SCOPES),
        *((path, method.lower()) for method, path in COMMAND_ROUTES),
    }
)
_OPERATIONS = [(path, method) for path, method in _OPERATIONS if not path.endswith("/")]
_EVENTS = [path for path, method in _OPERATIONS if method == "post" and ("POST", path) not in COMMAND_ROUTES]
_CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    with RunningService(settings_for(tmp_path, legacy=DB2, server=_SERVER)) as running:
        yield running


def test_every_route_is_documented(service: RunningService) -> None:
    paths = service.get("/openapi.json").json()["paths"]
    assert sorted((path, method) for path, methods in paths.items() for method in methods) == _OPERATIONS


@pytest.mark.parametrize("path", _EVENTS)
def test_event_examples_are_accepted(service: RunningService, path: str) -> None:
    route = service.get("/openapi.json").json()["paths"][path]["post"]
    example = route["requestBody"]["content"]["application/json"]["example"]
    response = service.post(msgspec.json.encode(example), path)
    assert response.is_success, response.text
    assert str(response.status_code) in route["responses"]
    assert service.events() > 0
    assert service.rows("SELECT count(*) FROM run_event WHERE failure IS NOT NULL") == [(0,)]


def test_command_examples_succeed(service: RunningService) -> None:
    """Examples are executed in the order of their declaration."""
    write_versions(service)
    document = service.get("/openapi.json").json()
    for command_type, example in EXAMPLES.items():
        operation = document["paths"][command_type.path][command_type.method.lower()]
        if command_type.method == "DELETE":
            documented = {
                parameter["name"]: parameter["example"]
                for parameter in operation["parameters"]
                if "example" in parameter
            }
            response = service.run(service.client.delete(command_type.path, params=documented))
        else:
            documented = operation["requestBody"]["content"]["application/json"]["example"]
            response = service.post(msgspec.json.encode(documented), command_type.path)
        assert (documented, response.status_code) == (example, 200), response.text
        response.elapsed = timedelta()
        schemathesis.openapi.from_dict(document)[command_type.path][command_type.method].validate_response(response)


@pytest.mark.parametrize("path", QUERY_ROUTES)
def test_query_examples_return_documented_results(service: RunningService, path: str) -> None:
    for event in SAMPLE_EVENTS:
        assert service.post(event).status_code == 201
    with closing(StoreUrl(service.settings.store.url).open_for_background_writes()) as db:
        decide(db)
    with closing(make_indexer(service.settings)) as indexer:
        indexer.index_all()
    document = service.get("/openapi.json").json()
    route = document["paths"][path]["get"]
    example = route["responses"]["200"]["content"]["application/json"]["example"]
    path_parameters, query_parameters = (
        {
            parameter["name"]: parameter["example"]
            for parameter in route["parameters"]
            if parameter["in"] == location and "example" in parameter
        }
        for location in ("path", "query")
    )
    assert {
        parameter["name"] for parameter in route["parameters"] if parameter["required"]
    } <= path_parameters.keys() | query_parameters.keys()
    response = service.get(
        path.format(**path_parameters),
        params={
            name: msgspec.json.encode(parameter).decode().strip('"') for name, parameter in query_parameters.items()
        },
    )
    assert response.status_code == 200, response.text
    documented = httpx.Response(200, json=example, request=httpx.Request("GET", "http://bridge"))
    documented.elapsed = timedelta()
    schemathesis.openapi.from_dict(document)[path]["GET"].validate_response(documented)
    if path.endswith("/events"):
        return  # events contain their time of receipt
    assert shorten(response.json()) == example


def shorten(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    return [shorten(item) for item in value[:2]] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    running = RunningService(settings_for(tmp_path_factory.mktemp("openapi"), legacy=DB2, server=_SERVER))
    yield schemathesis.openapi.from_asgi("/openapi.json", running.app)
    asgi.shutdown_lifespans()


@pytest.mark.parametrize(("path", "method"), _OPERATIONS)
@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
def test_responses_match_documentation(api: Any, path: str, method: str, mode: GenerationMode) -> None:
    operation = api[path][method]
    has_body = method == "post"
    if not has_body and mode is GenerationMode.NEGATIVE:
        return  # nothing to invalidate

    @settings(max_examples=150 if has_body else 5, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(mode))
    def check(case: schemathesis.Case) -> None:
        response = case.call_and_validate(checks=_CHECKS)
        assert response.status_code < 300 or not (
            has_body and path in LINEAGE_ROUTES and mode is GenerationMode.POSITIVE
        )

    check()
