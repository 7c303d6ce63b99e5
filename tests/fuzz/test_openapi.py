"""The description of the API is true: its routes are all of them, its examples are taken, its answers are given."""

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
def described(tmp_path: Path) -> Iterator[RunningService]:
    with RunningService(settings_for(tmp_path, legacy=DB2)) as running:
        yield running


def test_every_route_is_described(described: RunningService) -> None:
    paths = described.get("/openapi.json").json()["paths"]
    assert sorted((path, method) for path, methods in paths.items() for method in methods) == _OPERATIONS


@pytest.mark.parametrize("path", _EVENTS)
def test_every_example_is_taken(described: RunningService, path: str) -> None:
    route = described.get("/openapi.json").json()["paths"][path]["post"]
    example = route["requestBody"]["content"]["application/json"]["example"]
    answer = described.post(msgspec.json.encode(example), path)
    assert answer.is_success, answer.text
    assert str(answer.status_code) in route["responses"]
    assert described.events() > 0
    assert described.rows("SELECT count(*) FROM run_event WHERE failure IS NOT NULL") == [(0,)]


def test_every_example_of_an_order_is_done(described: RunningService) -> None:
    """One after the other, in the order in which they are written."""
    write_versions(described)
    whole = described.get("/openapi.json").json()
    for kind, example in EXAMPLES.items():
        operation = whole["paths"][kind.path][kind.method.lower()]
        if kind.method == "DELETE":
            shown = {one["name"]: one["example"] for one in operation["parameters"] if "example" in one}
            answer = described.run(described.client.delete(kind.path, params=shown))
        else:
            shown = operation["requestBody"]["content"]["application/json"]["example"]
            answer = described.post(msgspec.json.encode(shown), kind.path)
        assert (shown, answer.status_code) == (example, 200), answer.text
        answer.elapsed = timedelta()
        schemathesis.openapi.from_dict(whole)[kind.path][kind.method].validate_response(answer)


@pytest.mark.parametrize("path", QUERY_ROUTES)
def test_every_example_is_a_question_and_its_answer(described: RunningService, path: str) -> None:
    for event in SAMPLE_EVENTS:
        assert described.post(event).status_code == 201
    with closing(StoreUrl(described.settings.store.url).open_for_background_writes()) as db:
        decide(db)
    with closing(make_indexer(described.settings)) as indexer:
        indexer.index_all()
    whole = described.get("/openapi.json").json()
    route = whole["paths"][path]["get"]
    example = route["responses"]["200"]["content"]["application/json"]["example"]
    inside, asked = (
        {one["name"]: one["example"] for one in route["parameters"] if one["in"] == place and "example" in one}
        for place in ("path", "query")
    )
    assert {one["name"] for one in route["parameters"] if one["required"]} <= inside.keys() | asked.keys()
    answer = described.get(
        path.format(**inside),
        params={name: msgspec.json.encode(one).decode().strip('"') for name, one in asked.items()},
    )
    assert answer.status_code == 200, answer.text
    shown = httpx.Response(200, json=example, request=httpx.Request("GET", "http://bridge"))
    shown.elapsed = timedelta()
    schemathesis.openapi.from_dict(whole)[path]["GET"].validate_response(shown)
    if path.endswith("/events"):
        return  # they tell when they came
    assert shortened(answer.json()) == example


def shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shortened(one) for key, one in value.items()}
    return [shortened(one) for one in value[:2]] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    running = RunningService(settings_for(tmp_path_factory.mktemp("openapi"), legacy=DB2))
    yield schemathesis.openapi.from_asgi("/openapi.json", running.app)
    asgi.shutdown_lifespans()


@pytest.mark.parametrize(("path", "method"), _OPERATIONS)
@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
def test_whatever_is_sent_is_answered_as_described(api: Any, path: str, method: str, mode: GenerationMode) -> None:
    operation = api[path][method]
    takes = method == "post"
    if not takes and mode is GenerationMode.NEGATIVE:
        return  # there is nothing to get wrong

    @settings(max_examples=150 if takes else 5, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(mode))
    def check(case: schemathesis.Case) -> None:
        answer = case.call_and_validate(checks=_CHECKS)
        assert answer.status_code < 300 or not (takes and path in LINEAGE_ROUTES and mode is GenerationMode.POSITIVE)

    check()
