"""Every route against every kind of key."""

import hashlib
from pathlib import Path

import pytest

from bridge.api.app import ROUTE_SCOPES
from bridge.api.command_routes import COMMAND_ROUTES
from bridge.api.examples import EXAMPLES, LEGACY_ROUTES
from tests.api.service import LINEAGE, PROBLEM, Running, settings_for
from tests.factories import run_event
from tests.stores import as_bytes

SCOPES = ("ingest", "read", "operate")
KEYS = [
    {"name": f"{scope} key", "sha256": hashlib.sha256(f"key-{scope}".encode()).hexdigest(), "scopes": [scope]}
    for scope in SCOPES
]
BODIES = {route.path: route.example for route in LEGACY_ROUTES}
BODIES |= {path: EXAMPLES[kind] for (method, path), kind in COMMAND_ROUTES.items() if method == "POST"}
OPEN = frozenset({"/healthz", "/readyz"})


def routes(running: Running) -> set[tuple[str, str]]:
    return {
        (method, route.path.replace(":path}", "}"))
        for route in running.app.app.routes
        for method in route.methods - {"HEAD"}
    }


def status(running: Running, method: str, path: str, authorization: str | None, **headers: str) -> int:
    if authorization is not None:
        headers["Authorization"] = authorization
    typed = {"content-type": "application/json", **headers}
    request = running.client.request(method, path, headers=typed, content=as_bytes(BODIES.get(path, run_event())))
    answer = running.run(request)
    assert answer.status_code not in {401, 403} or answer.headers["content-type"] == PROBLEM
    return answer.status_code


def test_every_route_and_no_other_is_in_the_table_of_scopes(api: Running) -> None:
    assert {path for _, path in routes(api)} == set(ROUTE_SCOPES)
    assert {path for path, scope in ROUTE_SCOPES.items() if scope is None} == OPEN


def test_every_route_lets_exactly_its_scope_through(tmp_path: Path) -> None:
    with Running(settings_for(tmp_path, server={"api_keys": KEYS})) as api:
        found = {}
        for method, path in routes(api):
            for key in (None, "unknown", *SCOPES):
                authorization = None if key is None else f"Bearer key-{key}"
                found[method, path, key] = status(api, method, path, authorization)
        for (method, path, key), answered in found.items():
            order = COMMAND_ROUTES.get((method, path))
            scope = order.scope if order else ROUTE_SCOPES[path]
            passed = (
                {200, 400, 404} if order else {200, 201, 400}
            )  # 400: the body is an event, the route takes batches
            if scope is None or key == scope:
                assert answered in passed, (method, path, key)
            else:
                assert answered == (403 if key in SCOPES else 401), (method, path, key)


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
def test_a_key_is_sent_as_a_bearer_token(tmp_path: Path, authorization: str, expected: int) -> None:
    with Running(settings_for(tmp_path, server={"api_keys": KEYS})) as api:
        assert status(api, "POST", LINEAGE, authorization) == expected


def test_a_key_may_have_several_scopes(tmp_path: Path) -> None:
    both = [{**KEYS[0], "scopes": ["ingest", "operate"]}]
    with Running(settings_for(tmp_path, server={"api_keys": both})) as api:
        paths = (("POST", LINEAGE), ("GET", "/metrics"), ("GET", "/openapi.json"))
        assert [status(api, method, path, "Bearer key-ingest") for method, path in paths] == [201, 200, 403]


def test_a_refusal_names_the_key_and_the_scope_but_never_the_secret(tmp_path: Path) -> None:
    with Running(settings_for(tmp_path, server={"api_keys": KEYS})) as api:
        answer = api.post(run_event(), authorization="Bearer key-read")
    assert answer.json()["detail"] == "the key read key lacks the scope ingest"
    assert "key-read" not in answer.text


@pytest.mark.parametrize("host", ["x/healthz?", "x/healthz#", "x/nowhere"])
def test_the_host_header_does_not_choose_the_scope(tmp_path: Path, host: str) -> None:
    with Running(settings_for(tmp_path, server={"api_keys": KEYS})) as api:
        assert status(api, "GET", "/metrics", None, Host=host) == 401


@pytest.mark.parametrize("path", ["//api/v1/lineage", "/api/v1/lineage//", "/metrics/", "/docs", "/redoc"])
def test_other_spellings_of_a_path_lead_nowhere(tmp_path: Path, path: str) -> None:
    with Running(settings_for(tmp_path, server={"api_keys": KEYS})) as api:
        assert status(api, "GET", f"http://bridge{path}", None) == 404
