"""Access to every route with every kind of key."""

import hashlib
from pathlib import Path

import pytest

from bridge.api.app import ROUTE_SCOPES
from bridge.api.command_routes import COMMAND_ROUTES
from bridge.api.examples import EXAMPLES, LEGACY_ROUTES
from tests.api.service import LINEAGE, PROBLEM, RunningService, settings_for
from tests.factories import run_event
from tests.stores import as_bytes

SCOPES = ("ingest", "read", "operate")
KEYS = [
    {"name": f"{scope} key", "sha256": hashlib.sha256(f"key-{scope}".encode()).hexdigest(), "scopes": [scope]}
    for scope in SCOPES
]
REQUEST_BODIES = {route.path: route.example for route in LEGACY_ROUTES}
REQUEST_BODIES |= {path: EXAMPLES[kind] for (method, path), kind in COMMAND_ROUTES.items() if method == "POST"}
PUBLIC = frozenset({"/dataset", "/healthz", "/readyz"})


def routes(running: RunningService) -> set[tuple[str, str]]:
    return {
        (method, route.path.replace(":path}", "}"))
        for route in running.app.app.routes
        for method in route.methods - {"HEAD"}
    }


def request_status(running: RunningService, method: str, path: str, authorization: str | None, **headers: str) -> int:
    if authorization is not None:
        headers["Authorization"] = authorization
    request_headers = {"content-type": "application/json", **headers}
    request = running.client.request(
        method, path, headers=request_headers, content=as_bytes(REQUEST_BODIES.get(path, run_event()))
    )
    response = running.run(request)
    assert response.status_code not in {401, 403} or response.headers["content-type"] == PROBLEM
    return response.status_code


def test_every_route_has_a_scope(api: RunningService) -> None:
    assert {path for _, path in routes(api)} == set(ROUTE_SCOPES)
    assert {path for path, scope in ROUTE_SCOPES.items() if scope is None} == PUBLIC


def test_routes_accept_only_keys_with_their_scope(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path, server={"api_keys": KEYS})) as api:
        statuses = {}
        for method, path in routes(api):
            for key in (None, "unknown", *SCOPES):
                authorization = None if key is None else f"Bearer key-{key}"
                statuses[method, path, key] = request_status(api, method, path, authorization)
        for (method, path, key), response_status in statuses.items():
            command = COMMAND_ROUTES.get((method, path))
            scope = command.scope if command else ROUTE_SCOPES[path]
            accepted = (
                {200, 400, 404} if command else {200, 201, 307, 400}
            )  # 400: the body is an event, the route takes batches
            if scope is None or key == scope:
                assert response_status in accepted, (method, path, key)
            else:
                assert response_status == (403 if key in SCOPES else 401), (method, path, key)


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        ("Bearer key-ingest", 201),
        ("bearer key-ingest", 201),
        ("Bearer  key-ingest ", 201),
        ("Basic key-ingest", 401),
        ("key-ingest", 401),
        ("Bearer", 401),
        ("Bearer ", 401),
        ("Bearer KEY-INGEST", 401),
        ("Bearer " + KEYS[0]["sha256"], 401),  # type: ignore[operator]
        ("Bearer " + "k" * 10_000, 401),
    ],
)
def test_key_is_a_bearer_token(tmp_path: Path, authorization: str, expected: int) -> None:
    with RunningService(settings_for(tmp_path, server={"api_keys": KEYS})) as api:
        assert request_status(api, "POST", LINEAGE, authorization) == expected


def test_key_with_several_scopes(tmp_path: Path) -> None:
    keys = [{**KEYS[0], "scopes": ["ingest", "operate"]}]
    with RunningService(settings_for(tmp_path, server={"api_keys": keys})) as api:
        paths = (("POST", LINEAGE), ("GET", "/metrics"), ("GET", "/openapi.json"))
        assert [request_status(api, method, path, "Bearer key-ingest") for method, path in paths] == [201, 200, 403]


def test_error_names_key_and_scope_but_not_secret(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path, server={"api_keys": KEYS})) as api:
        response = api.post(run_event(), authorization="Bearer key-read")
    assert response.json()["detail"] == "the key read key lacks the scope ingest"
    assert "key-read" not in response.text


@pytest.mark.parametrize("host", ["x/healthz?", "x/healthz#", "x/nowhere"])
def test_host_header_does_not_affect_scope(tmp_path: Path, host: str) -> None:
    with RunningService(settings_for(tmp_path, server={"api_keys": KEYS})) as api:
        assert request_status(api, "GET", "/metrics", None, Host=host) == 401


@pytest.mark.parametrize("path", ["//api/v1/lineage", "/api/v1/lineage//", "/metrics/", "/docs", "/redoc"])
def test_other_spellings_of_paths_are_not_found(tmp_path: Path, path: str) -> None:
    with RunningService(settings_for(tmp_path, server={"api_keys": KEYS})) as api:
        assert request_status(api, "GET", f"http://localhost{path}", None) == 404
