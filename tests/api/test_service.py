"""Health, readiness and metrics of the service, and its behavior under load and failure."""

import asyncio
import hashlib
import math
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from bridge import __version__
from bridge.bootstrap.store import make_writer
from bridge.cli.main import app as command
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from bridge.store.writer import Writer
from tests.api.service import PROBLEM, TIMEOUT, RunningService, event_with, settings_for, wait_until
from tests.factories import run_event
from tests.stores import Json

UNLIMITED = 0x7FFFFFFF


class BlockedWriter:
    """A writer that blocks commits until released, and records the size of groups."""

    embedded = False
    version = "held"

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.entered = threading.Event()
        self.release = threading.Event()
        self.groups: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def write(self, group: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition] = ()) -> None:
        self.groups.append(len(group))
        self.entered.set()
        assert self.release.wait(TIMEOUT)
        self._writer.write(group, positions)


def service_with_blocked_writer(folder: Path, **intake: int) -> tuple[RunningService, BlockedWriter]:
    settings = settings_for(folder, intake=dict(intake))
    writer = BlockedWriter(make_writer(settings))
    return RunningService(settings, lambda: writer), writer  # type: ignore[arg-type, return-value]


async def send_while_blocked(
    api: RunningService, writer: BlockedWriter, count: int
) -> list[asyncio.Task[httpx.Response]]:
    """Send one event whose commit is blocked, and `count` events that wait behind it; return all requests."""
    first = asyncio.create_task(api.send(run_event(run=1)))
    await wait_until(writer.entered.is_set)
    waiting = [asyncio.create_task(api.send(run_event(run=2 + i))) for i in range(count)]
    await wait_until(lambda: api.committer.pending_event_count() == count)
    return [first, *waiting]


def head(api: RunningService, path: str) -> int:
    return api.run(api.client.head(path)).status_code


def metric(api: RunningService, name: str) -> float:
    """Read a metric with exactly one line."""
    assert api.service.metrics is not None
    lines = api.service.metrics.render().decode().splitlines()
    (value,) = (line.split()[-1] for line in lines if line.startswith(f"lineage_bridge_{name}"))
    return float(value)


def incompressible(number: int) -> bytes:
    return hashlib.shake_256(str(number).encode()).digest(60_000)


def big_event(number: int) -> Json:
    return run_event(job=incompressible(number).hex())


def test_requests_waiting_for_commit_share_the_next(tmp_path: Path) -> None:
    running, writer = service_with_blocked_writer(tmp_path)

    async def send(api: RunningService) -> set[int]:
        requests = await send_while_blocked(api, writer, 50)
        assert not requests[0].done()
        writer.release.set()
        return {response.status_code for response in await asyncio.gather(*requests)}

    with running as api:
        assert api.run(send(api)) == {201}
        assert writer.groups == [1, 50]
        assert api.events() == 51


def test_group_size_is_limited(tmp_path: Path) -> None:
    running, writer = service_with_blocked_writer(tmp_path, max_group=20)

    async def send(api: RunningService) -> None:
        requests = await send_while_blocked(api, writer, 50)
        writer.release.set()
        await asyncio.gather(*requests)

    with running as api:
        api.run(send(api))
        assert writer.groups == [1, 20, 20, 10]


def test_number_of_waiting_events_is_limited(tmp_path: Path) -> None:
    running, writer = service_with_blocked_writer(tmp_path, max_waiting=3)

    async def send(api: RunningService) -> None:
        requests = await send_while_blocked(api, writer, 3)
        rejected = await api.send(run_event(run=9))
        assert (rejected.status_code, rejected.headers["content-type"], rejected.headers["retry-after"]) == (
            503,
            PROBLEM,
            "2",
        )
        assert "3 events waiting" in rejected.json()["detail"]
        unready = await api.client.get("/readyz")
        assert (unready.status_code, "waiting" in unready.json()["detail"]) == (503, True)
        writer.release.set()
        assert {response.status_code for response in await asyncio.gather(*requests)} == {201}

    with running as api:
        api.run(send(api))
        assert api.get("/readyz").status_code == 200
        assert api.post(run_event(run=9)).status_code == 201
        assert api.events() == 5


def test_waiting_events_are_written_on_shutdown(tmp_path: Path) -> None:
    running, writer = service_with_blocked_writer(tmp_path)

    async def send(api: RunningService) -> list[asyncio.Task[object]]:
        tasks: list[asyncio.Task[object]] = [asyncio.create_task(api.send(run_event(run=i))) for i in range(1, 6)]
        await wait_until(lambda: sum(writer.groups) + api.committer.pending_event_count() == 5)
        writer.release.set()
        return tasks

    with running as api:
        api.run(send(api))
    assert running.events() == 5


def test_full_store_returns_503_and_recovers(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    writer = make_writer(settings)
    with RunningService(settings, lambda: writer) as api:
        assert api.post(big_event(1)).status_code == 201
        writer._db.execute("PRAGMA max_page_count = 1")  # SQLite raises it to the current size
        full = api.post(big_event(2))
        assert (full.status_code, full.headers["content-type"], full.headers["retry-after"]) == (503, PROBLEM, "2")
        assert "full" in full.json()["detail"]
        unready = api.get("/readyz")
        assert (unready.status_code, unready.headers["retry-after"]) == (503, "2")
        assert "the store is full" in unready.json()["detail"]
        assert api.get("/healthz").status_code == 200
        assert api.events() == 1
        writer._db.execute(f"PRAGMA max_page_count = {UNLIMITED}")
        assert api.post(big_event(2)).status_code == 201
        assert api.get("/readyz").status_code == 200
        assert api.events() == 2


def test_rejected_input_returns_503_if_store_is_full(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    writer = make_writer(settings)
    garbage = incompressible(1)
    with RunningService(settings, lambda: writer) as api:
        writer._db.execute("PRAGMA max_page_count = 1")
        assert api.post(garbage).status_code == 503
        writer._db.execute(f"PRAGMA max_page_count = {UNLIMITED}")
        assert api.post(garbage).status_code == 400


def test_store_size_limit_is_a_setting(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, store={"max_size_mb": 1})
    with RunningService(settings) as api:
        statuses = [api.post(big_event(number)).status_code for number in range(12)]
        assert set(statuses) == {201, 503}
        stored = api.events()
    larger = settings.model_copy(update={"store": settings.store.model_copy(update={"max_size_mb": 20})})
    with RunningService(larger) as api:
        assert api.post(big_event(11)).status_code == 201
        assert api.events() == stored + 1


def test_unmapped_event_is_stored_listed_and_merged_on_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_for(tmp_path)
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL", settings.store.url)

    def rejected_command(*args: str) -> tuple[int, str]:
        result = CliRunner().invoke(command, ["rejected", *args], catch_exceptions=False)
        return result.exit_code, result.stdout

    def fail(*_: object) -> None:
        raise ArithmeticError("a fault of ours")

    with monkeypatch.context() as fault:
        fault.setattr("bridge.intake.event_reader.map_event", fail)
        with RunningService(settings) as api:
            assert api.post(run_event()).status_code == 201
            assert 'merged="false"} 1.0' in api.get("/metrics").text
            assert api.rows("SELECT failure FROM run_event") == [("ArithmeticError: a fault of ours",)]
            assert api.rows("SELECT count(*) FROM ol_run") == [(0,)]
        code, listed = rejected_command("list")
        assert (code, "unmerged" in listed, "ArithmeticError: a fault of ours" in listed) == (0, True, True)
        assert rejected_command("retry") == (1, "0 ingested, 1 still rejected\n")
    assert rejected_command("retry") == (0, "1 ingested, 0 still rejected\n")
    assert rejected_command("list") == (0, "")
    assert api.rows("SELECT failure FROM run_event") == [(None,)]
    assert api.rows("SELECT count(*) FROM ol_run") == [(1,)]


def test_service_is_alive_and_ready(api: RunningService) -> None:
    assert api.get("/healthz").json() == {"status": "alive"}
    ready = api.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")


def test_head_requests_return_same_status(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    writer = make_writer(settings)
    with RunningService(settings, lambda: writer) as api:
        assert [head(api, path) for path in ("/healthz", "/readyz")] == [200, 200]
        writer._db.execute("PRAGMA max_page_count = 1")
        api.post(big_event(2))
        assert [head(api, path) for path in ("/healthz", "/readyz")] == [200, 503]


def test_service_reports_starting(tmp_path: Path) -> None:
    running = RunningService(settings_for(tmp_path))
    assert running.service.not_ready_reason() == "starting"


def test_metrics_count_accepted_and_rejected_events(api: RunningService) -> None:
    api.post(run_event(job="a-secret-name"))
    api.post(b"{}")
    api.post(b"{}")
    api.post(b"", content_length=str(1 << 40))
    response = api.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    for line in (
        'lineage_bridge_events_accepted_total{merged="true"} 1.0',
        'lineage_bridge_events_accepted_total{merged="false"} 0.0',
        'lineage_bridge_events_refused_total{reason="rejected"} 2.0',
        'lineage_bridge_events_refused_total{reason="too_large"} 1.0',
        'lineage_bridge_events_refused_total{reason="unavailable"} 0.0',
        "lineage_bridge_events_waiting 0.0",
        "lineage_bridge_oldest_pending_age_seconds 0.0",
        "lineage_bridge_ready 1.0",
        "lineage_bridge_store_healthy 1.0",
    ):
        assert line in response.text.splitlines()
    assert "a-secret-name" not in response.text


def test_age_of_oldest_event_grows_while_commit_is_blocked(tmp_path: Path) -> None:
    running, writer = service_with_blocked_writer(tmp_path)

    async def send(api: RunningService) -> None:
        requests = await send_while_blocked(api, writer, 2)
        first = metric(api, "oldest_pending_age_seconds")
        await wait_until(lambda: metric(api, "oldest_pending_age_seconds") > first)
        assert first > 0
        writer.release.set()
        await asyncio.gather(*requests)

    with running as api:
        api.run(send(api))
        assert metric(api, "oldest_pending_age_seconds") == 0


def test_metrics_show_unready_service(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    writer = make_writer(settings)
    with RunningService(settings, lambda: writer) as api:
        writer._db.execute("PRAGMA max_page_count = 1")
        api.post(big_event(2))
        assert (metric(api, "ready"), metric(api, "store_healthy")) == (0, 0)
        assert metric(api, "oldest_pending_age_seconds") > 0


def test_metrics_contain_free_disk_space_and_build(api: RunningService, tmp_path: Path) -> None:
    assert metric(api, "store_free_bytes") == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.2)
    assert f'version="{__version__}"' in api.get("/metrics").text
    assert metric(api, "build_info") == 1


def test_disk_error_keeps_other_metrics(api: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> None:
        raise OSError("no such device")

    monkeypatch.setattr("bridge.api.metrics.disk_usage", fail)
    assert math.isnan(metric(api, "store_free_bytes"))
    assert metric(api, "ready") == 1


def test_openapi_document(api: RunningService) -> None:
    document = api.get("/openapi.json").json()
    assert document["info"]["title"] == "lineage-bridge"
    assert {"/healthz", "/readyz", "/metrics"} <= set(document["paths"])


def test_metrics_have_no_labels_from_events(api: RunningService) -> None:
    before = len(api.get("/metrics").text.splitlines())
    for number in range(20):
        api.post(event_with(str(number)))
    assert len(api.get("/metrics").text.splitlines()) == before


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("GET", "/nope", 404, "GET /nope is not served: see /openapi.json"),
        ("GET", "/api/v1/lineage", 405, "GET /api/v1/lineage is not served: use POST"),
        ("POST", "/healthz", 405, "POST /healthz is not served: use GET"),
        ("GET", "/" + "x" * 1000, 404, f"GET /{'x' * 255} is not served: see /openapi.json"),
    ],
)
def test_unknown_routes_return_problem_details(
    api: RunningService, method: str, path: str, status: int, detail: str
) -> None:
    response = api.run(api.client.request(method, path))
    assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM)
    assert response.json()["detail"] == detail
    assert ("allow" in response.headers) is (status == 405)
