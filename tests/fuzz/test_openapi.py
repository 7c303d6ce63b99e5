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
from bridge.api.description import LINEAGE_ROUTES
from bridge.api.reading import READING_ROUTES
from bridge.bootstrap import make_indexer
from tests.api.service import Running, settings_for
from tests.catalogue.questions import ESTATE

DB2 = {"db2_url": "db2://db2.example.com:50000"}
_METHODS = {
    path: "get" if "/api/" not in path or path in READING_ROUTES else "post"
    for path in ROUTE_SCOPES
    if not path.endswith("/")
}
_CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


@pytest.fixture
def described(tmp_path: Path) -> Iterator[Running]:
    with Running(settings_for(tmp_path, legacy=DB2)) as running:
        yield running


def test_every_route_is_described(described: Running) -> None:
    paths = described.get("/openapi.json").json()["paths"]
    assert {path: next(iter(methods)) for path, methods in paths.items()} == _METHODS


@pytest.mark.parametrize("path", [path for path, method in _METHODS.items() if method == "post"])
def test_every_example_is_taken(described: Running, path: str) -> None:
    route = described.get("/openapi.json").json()["paths"][path]["post"]
    example = route["requestBody"]["content"]["application/json"]["example"]
    answer = described.post(msgspec.json.encode(example), path)
    assert answer.is_success, answer.text
    assert str(answer.status_code) in route["responses"]
    assert described.events() > 0
    assert described.rows("SELECT count(*) FROM run_event WHERE failure IS NOT NULL") == [(0,)]


@pytest.mark.parametrize("path", READING_ROUTES)
def test_every_example_is_a_question_and_its_answer(described: Running, path: str) -> None:
    for event in ESTATE:
        assert described.post(event).status_code == 201
    with closing(make_indexer(described.settings)) as indexer:
        indexer.catch_up_all()
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
    running = Running(settings_for(tmp_path_factory.mktemp("openapi"), legacy=DB2))
    yield schemathesis.openapi.from_asgi("/openapi.json", running.app)
    asgi.shutdown_lifespans()


@pytest.mark.parametrize("path", _METHODS)
@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
def test_whatever_is_sent_is_answered_as_described(api: Any, path: str, mode: GenerationMode) -> None:
    operation = api[path][_METHODS[path]]
    takes = _METHODS[path] == "post"
    if not takes and mode is GenerationMode.NEGATIVE:
        return  # there is nothing to get wrong

    @settings(max_examples=150 if takes else 5, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(mode))
    def check(case: schemathesis.Case) -> None:
        answer = case.call_and_validate(checks=_CHECKS)
        assert answer.status_code < 300 or not (takes and path in LINEAGE_ROUTES and mode is GenerationMode.POSITIVE)

    check()
