"""openlineage-python, unchanged: every transport of it arrives, also through answers that are slow or say no."""

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
from tests.system.service import Service, kept, new_store, run, until

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


def arrived(store: Path) -> set[str]:
    """Name the jobs whose events are in the store, every one of them merged and booked."""
    with closing(SqliteDatabase.for_reading(store)) as db:
        assert audit_intake(db, "default").discrepancies == []
    return {json.loads(payload)["job"]["name"] for payload in kept(store)}


def expected(numbers: range) -> set[str]:
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
def test_what_a_client_sends_over_http_arrives(tmp_path: Path, transport: dict[str, Any]) -> None:
    store, settings = new_store(tmp_path), {}
    if "auth" in transport:
        key = {"name": "producer", "sha256": hashlib.sha256(_KEY.encode()).hexdigest(), "scopes": ["ingest"]}
        settings["SERVER__API_KEYS"] = json.dumps([key])
    with Service(store, **settings) as service:
        emit(transport | {"url": f"http://127.0.0.1:{service.port}"}, range(30))
    assert arrived(store) == expected(range(30))


@pytest.mark.system
@pytest.mark.parametrize("append", [True, False])
def test_what_a_client_writes_to_files_arrives(tmp_path: Path, append: bool) -> None:
    store, folder = new_store(tmp_path), tmp_path / "events"
    folder.mkdir()
    name = "events.ndjson" if append else "event"
    emit({"type": "file", "log_file_path": str(folder / name), "append": append}, range(20))
    code, said = run(store, "ingest", str(folder))
    assert code == 0, said
    assert arrived(store) == expected(range(20))


@pytest.mark.system
def test_what_finds_no_service_lies_in_the_file_beside_it(tmp_path: Path) -> None:
    store, file = new_store(tmp_path), tmp_path / "events.ndjson"
    with Service(store) as service:
        url = f"http://127.0.0.1:{service.port}"
    both = [
        {"type": "file", "log_file_path": str(file), "append": True},
        {"type": "http", "url": url, "retry": {"total": 0}},
    ]
    emit({"type": "composite", "transports": both, "continue_on_failure": True}, range(5))
    assert run(store, "ingest", str(file))[0] == 0
    assert arrived(store) == expected(range(5))


class Front(http.server.ThreadingHTTPServer):
    """Stands before a service and answers the first requests as it was told: with a status, or too late."""

    daemon_threads = True

    def __init__(self, port: int, script: list[int | str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind = port
        self.script = script
        self.late = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Front

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        step = self.server.script.pop(0) if self.server.script else "pass"
        if isinstance(step, int):
            self.send_response(step)
            self.send_header("Retry-After", "0")
            self.end_headers()
            return
        with closing(http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=20)) as behind:
            behind.request("POST", self.path, body, {"Content-Type": "application/json"})
            status = behind.getresponse().status
        if step == "late":
            self.server.late.wait(20)  # the client has given up by then
        try:
            self.send_response(status)
            self.end_headers()
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        pass


@contextmanager
def front(service: Service, *script: int | str) -> Iterator[Front]:
    with Front(service.port, list(script)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.late.set()
            server.shutdown()
            thread.join()


@pytest.mark.system
@pytest.mark.parametrize("kind", ["http", "async_http"])
@pytest.mark.parametrize("script", [[503, 503], [502, 500]], ids=["overloaded", "failing"])
def test_a_client_that_is_told_to_come_back_does(tmp_path: Path, kind: str, script: list[int | str]) -> None:
    store = new_store(tmp_path)
    with Service(store) as service, front(service, *script) as before:
        emit({"type": kind, "url": before.url}, range(3))
    assert arrived(store) == expected(range(3))


@pytest.mark.system
def test_a_client_that_gave_up_waiting_and_sends_again_makes_no_second_event(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with Service(store) as service, front(service, "late") as before:
        emit(
            {
                "type": "http",
                "url": before.url,
                "timeout": 0.5,
                "retry": {"total": 3, "read": 3, "allowed_methods": ["POST"]},
            },
            range(1),
        )
    assert arrived(store) == expected(range(1))
    with closing(SqliteDatabase.for_reading(store)) as db:
        assert db.fetch_all("SELECT receipts FROM run_event") == [(2,)]


@pytest.mark.system
def test_a_client_outlasts_a_restart_of_the_service(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with Service(store) as service:
        port = service.port
    sender = threading.Thread(target=emit, args=({"type": "http", "url": f"http://127.0.0.1:{port}"}, range(2)))
    sender.start()
    begun = time.monotonic()
    with Service(store, SERVER__PORT=str(port)):
        started = time.monotonic() - begun
        sender.join(30)
    assert started < 8, "a client waits about nine seconds in all"
    assert arrived(store) == expected(range(2))


@pytest.mark.system
def test_an_event_that_is_too_large_is_an_error_at_the_client_and_listed_here(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with Service(store, INTAKE__MAX_BODY_MB="0.1") as service:
        with pytest.raises(requests.HTTPError, match="413"):
            emit({"type": "http", "url": f"http://127.0.0.1:{service.port}"}, range(1), size=5000)
        until(lambda: "limit is" in run(store, "rejected", "list")[1], "the refusal to be listed")
