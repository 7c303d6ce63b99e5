"""openlineage-python: all transports deliver events, also after slow responses and errors."""

import hashlib
import http.client
import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import schema_dataset

from bridge.store.intake_audit import audit_intake
from bridge.store.sqlite import SqliteDatabase
from tests.factories import run_uuid
from tests.system.service import Service, new_store, run, stored_payloads, until

_KEY = "a-key-of-a-producer"


def event(number: int, size: int = 1) -> RunEvent:
    columns = [schema_dataset.SchemaDatasetFacetFields(name=f"c{i}", type="string") for i in range(size)]
    return RunEvent(
        eventType=RunState.COMPLETE,
        eventTime=datetime(2026, 1, 1, 0, 0, number % 60, tzinfo=UTC).isoformat(),
        run=Run(run_uuid(number)),
        job=Job("clients", f"job{number}"),
        producer="https://example.com/client",
        inputs=[InputDataset("db", "a", facets={"schema": schema_dataset.SchemaDatasetFacet(columns)})],
        outputs=[OutputDataset("db", "b")],
    )


def emit(transport: dict[str, Any], numbers: range, size: int = 1) -> None:
    client = OpenLineageClient(config={"transport": transport})
    try:
        for number in numbers:
            client.emit(event(number, size))
    finally:
        client.close(timeout=30)


def stored_jobs(store: Path) -> set[str]:
    """Jobs of all stored events, after an intake audit."""
    with closing(SqliteDatabase.for_reading(store)) as db:
        assert audit_intake(db, "default").discrepancies == []
    return {json.loads(payload)["job"]["name"] for payload in stored_payloads(store)}


def expected_jobs(numbers: range) -> set[str]:
    return {f"job{number}" for number in numbers}


@pytest.mark.system
@pytest.mark.parametrize(
    "transport",
    [
        {"type": "http"},
        {"type": "http", "compression": "gzip"},
        {"type": "http", "endpoint": "api/v1/openlineage/lineage"},
        {"type": "http", "auth": {"type": "api_key", "apiKey": _KEY}},
        {"type": "async_http"},
        {"type": "async_http", "compression": "gzip", "max_concurrent_requests": 8},
    ],
    ids=["http", "http gzip", "http openmetadata", "http key", "async", "async gzip"],
)
def test_http_transport_delivers_events(tmp_path: Path, transport: dict[str, Any]) -> None:
    store, settings = new_store(tmp_path), {}
    if "auth" in transport:
        key = {"name": "producer", "sha256": hashlib.sha256(_KEY.encode()).hexdigest(), "scopes": ["ingest"]}
        settings["SERVER__API_KEYS"] = json.dumps([key])
    with Service(store, **settings) as service:
        emit(transport | {"url": f"http://127.0.0.1:{service.port}"}, range(30))
    assert stored_jobs(store) == expected_jobs(range(30))


@pytest.mark.system
@pytest.mark.parametrize("append", [True, False])
def test_file_transport_output_can_be_ingested(tmp_path: Path, append: bool) -> None:
    store, folder = new_store(tmp_path), tmp_path / "events"
    folder.mkdir()
    name = "events.ndjson" if append else "event"
    emit({"type": "file", "log_file_path": str(folder / name), "append": append}, range(20))
    code, output = run(store, "ingest", str(folder))
    assert code == 0, output
    assert stored_jobs(store) == expected_jobs(range(20))


@pytest.mark.system
def test_composite_transport_writes_file_while_service_is_down(tmp_path: Path) -> None:
    store, file = new_store(tmp_path), tmp_path / "events.ndjson"
    with Service(store) as service:
        url = f"http://127.0.0.1:{service.port}"
    transports = [
        {"type": "file", "log_file_path": str(file), "append": True},
        {"type": "http", "url": url, "retry": {"total": 0}},
    ]
    emit({"type": "composite", "transports": transports, "continue_on_failure": True}, range(5))
    assert run(store, "ingest", str(file))[0] == 0
    assert stored_jobs(store) == expected_jobs(range(5))


class FaultyProxy(http.server.ThreadingHTTPServer):
    """Proxy that answers the first requests as scripted: with an error status, or too late."""

    daemon_threads = True

    def __init__(self, port: int, script: list[int | str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream_port = port
        self.script = script
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: FaultyProxy

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        step = self.server.script.pop(0) if self.server.script else "pass"
        if isinstance(step, int):
            self.send_response(step)
            self.send_header("Retry-After", "0")
            self.end_headers()
            return
        with closing(http.client.HTTPConnection("127.0.0.1", self.server.upstream_port, timeout=20)) as upstream:
            upstream.request("POST", self.path, body, {"Content-Type": "application/json"})
            status = upstream.getresponse().status
        if step == "late":
            self.server.released.wait(20)  # the client has given up by then
        try:
            self.send_response(status)
            self.end_headers()
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - name given by http.server
        pass


@contextmanager
def faulty_proxy(service: Service, *script: int | str) -> Iterator[FaultyProxy]:
    with FaultyProxy(service.port, list(script)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()


@pytest.mark.system
@pytest.mark.parametrize("kind", ["http", "async_http"])
@pytest.mark.parametrize("script", [[503, 503], [502, 500]], ids=["overloaded", "failing"])
def test_client_retries_after_server_error(tmp_path: Path, kind: str, script: list[int | str]) -> None:
    store = new_store(tmp_path)
    with Service(store) as service, faulty_proxy(service, *script) as proxy:
        emit({"type": kind, "url": proxy.url}, range(3))
    assert stored_jobs(store) == expected_jobs(range(3))


@pytest.mark.system
def test_resend_after_timeout_creates_no_second_event(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with Service(store) as service, faulty_proxy(service, "late") as proxy:
        emit(
            {
                "type": "http",
                "url": proxy.url,
                "timeout": 0.5,
                "retry": {"total": 3, "read": 3, "allowed_methods": ["POST"]},
            },
            range(1),
        )
    assert stored_jobs(store) == expected_jobs(range(1))
    with closing(SqliteDatabase.for_reading(store)) as db:
        assert db.fetch_all("SELECT receipts FROM run_event") == [(2,)]


@pytest.mark.system
def test_client_survives_service_restart(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with Service(store) as service:
        port = service.port
    sender = threading.Thread(target=emit, args=({"type": "http", "url": f"http://127.0.0.1:{port}"}, range(2)))
    sender.start()
    started_at = time.monotonic()
    with Service(store, SERVER__PORT=str(port)):
        startup_seconds = time.monotonic() - started_at
        sender.join(30)
    assert startup_seconds < 8, "clients retry for about nine seconds"
    assert stored_jobs(store) == expected_jobs(range(2))


@pytest.mark.system
def test_too_large_event_fails_client_and_is_listed_as_rejected(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with Service(store, INTAKE__MAX_BODY_MB="0.1") as service:
        with pytest.raises(requests.HTTPError, match="413"):
            emit({"type": "http", "url": f"http://127.0.0.1:{service.port}"}, range(1), size=5000)
        until(lambda: "limit is" in run(store, "rejected", "list")[1], "the rejected event to be listed")
