"""Bodies without a key, and many large bodies at once."""

import gzip
import hashlib
from contextlib import ExitStack
from pathlib import Path

import pytest

from bridge.api import body_budget
from bridge.api.command_routes import COMMAND_ROUTES
from bridge.api.examples import LEGACY_ROUTES
from bridge.api.lineage import LINEAGE_PATHS
from tests.api.http_server import HttpServer, post_head, serving, status_of
from tests.api.service import RunningService, settings_for
from tests.factories import run_event
from tests.stores import as_bytes

_KEYS = [{"name": "reader", "sha256": hashlib.sha256(b"key").hexdigest(), "scopes": ["read"]}]
_PATHS = sorted(
    {*LINEAGE_PATHS, *(route.path for route in LEGACY_ROUTES)}
    | {path for (method, path), command in COMMAND_ROUTES.items() if method == "POST" and command.scope != "read"}
)
_MEGABYTE = 1 << 20


@pytest.mark.parametrize(("key", "expected"), [(None, 401), ("unknown", 401), ("key", 403)])
def test_key_is_checked_before_the_body(tmp_path: Path, key: str | None, expected: int) -> None:
    headers = [f"Authorization: Bearer {key}"] if key else []
    with serving(settings_for(tmp_path, server={"api_keys": _KEYS})) as server:
        for path in _PATHS:
            with server.connect() as connection:
                connection.sendall(post_head(9 * _MEGABYTE, *headers, path=path) + b"{")
                assert status_of(connection.recv(1000)) == expected, path


def _half_sent(server: HttpServer, stack: ExitStack, sent_bytes: int) -> int:
    """Send a part of a body of 9 MB; return the status of an early response, or 0."""
    connection = stack.enter_context(server.connect())
    connection.sendall(post_head(9 * _MEGABYTE))
    for _ in range(sent_bytes // 65_536):
        connection.sendall(b" " * 65_536)
    connection.settimeout(0.2)
    try:
        return status_of(connection.recv(1000))
    except TimeoutError:
        return 0


def test_memory_of_half_sent_bodies_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_budget, "MAX_TOTAL_BYTES", 20 * _MEGABYTE)
    with serving(settings_for(tmp_path)) as server:
        with ExitStack() as stack:
            statuses = [_half_sent(server, stack, 8 * _MEGABYTE) for _ in range(6)]
            assert statuses == [0, 0, 503, 503, 503, 503]
            body = as_bytes(run_event())
            connection = stack.enter_context(server.connect())
            connection.sendall(post_head(len(body)) + body)
            assert status_of(connection.recv(1000)) == 201
        with ExitStack() as stack:
            assert _half_sent(server, stack, 8 * _MEGABYTE) == 0


def test_a_single_body_is_always_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_budget, "MAX_TOTAL_BYTES", _MEGABYTE)
    large = as_bytes(run_event(job="x" * 1000)) + b" " * (2 * _MEGABYTE)
    with RunningService(settings_for(tmp_path)) as api:
        for _ in range(3):
            assert api.post(large).status_code == 201
            assert api.post_gzip(gzip.compress(large)).status_code == 201
            assert api.post(large, "/api/v1/publish").status_code == 400
            assert api.post(large, "/api/v1/run_event").status_code == 201
        assert api.service.intake is not None
        assert api.service.intake._bodies.used_bytes == 0


def test_decompressed_size_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_budget, "MAX_TOTAL_BYTES", 20 * _MEGABYTE)
    packed = gzip.compress(as_bytes(run_event()) + b" " * (15 * _MEGABYTE))
    with serving(settings_for(tmp_path)) as server, ExitStack() as stack:
        assert _half_sent(server, stack, 8 * _MEGABYTE) == 0
        connection = stack.enter_context(server.connect())
        connection.sendall(post_head(len(packed), "Content-Encoding: gzip") + packed)
        response = connection.recv(2000)
        assert (status_of(response), b"retry-after: 2" in response.lower()) == (503, True)
