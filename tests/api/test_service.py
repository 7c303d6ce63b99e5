"""What the service tells about itself, and what it does when it cannot take events."""

import asyncio
import hashlib
import math
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from bridge import __version__
from bridge.bootstrap.store import make_writer
from bridge.cli.main import app as command
from bridge.store.event_log import FilePosition, IncomingEvent, RejectedInput
from bridge.store.writer import Writer
from tests.api.service import PROBLEM, WAIT, Running, event_with, settings_for, until
from tests.factories import run_event
from tests.stores import Json

BOUNDLESS = 0x7FFFFFFF


class HeldWriter:
    """A writer whose first commit waits until it is let go, and which counts its commits."""

    embedded = False
    version = "held"

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.held = threading.Event()
        self.go = threading.Event()
        self.groups: list[int] = []

    def write(self, group: Sequence[IncomingEvent | RejectedInput], positions: Sequence[FilePosition] = ()) -> None:
        self.groups.append(len(group))
        self.held.set()
        assert self.go.wait(WAIT)
        self._writer.write(group, positions)


def held_service(folder: Path, **intake: int) -> tuple[Running, HeldWriter]:
    settings = settings_for(folder, intake=dict(intake))
    writer = HeldWriter(make_writer(settings))
    return Running(settings, lambda: writer), writer  # type: ignore[arg-type, return-value]


async def send_behind(api: Running, writer: HeldWriter, count: int) -> list[asyncio.Task[httpx.Response]]:
    """Send one event whose commit is held, and others that wait behind it; gives all these requests."""
    first = asyncio.create_task(api.send(run_event(run=1)))
    await until(writer.held.is_set)
    others = [asyncio.create_task(api.send(run_event(run=2 + i))) for i in range(count)]
    await until(lambda: api.gate.pending_events() == count)
    return [first, *others]


def head(api: Running, path: str) -> int:
    return api.run(api.client.head(path)).status_code


def metric(api: Running, name: str) -> float:
    """Read one metric, of which there is one line."""
    assert api.service.metrics is not None
    lines = api.service.metrics.render().decode().splitlines()
    (value,) = (line.split()[-1] for line in lines if line.startswith(f"lineage_bridge_{name}"))
    return float(value)


def incompressible(number: int) -> bytes:
    return hashlib.shake_256(str(number).encode()).digest(60_000)


def big_event(number: int) -> Json:
    return run_event(job=incompressible(number).hex())


def test_requests_that_wait_while_a_commit_is_under_way_share_the_next(tmp_path: Path) -> None:
    running, writer = held_service(tmp_path)

    async def send(api: Running) -> set[int]:
        requests = await send_behind(api, writer, 50)
        assert not requests[0].done()
        writer.go.set()
        return {answer.status_code for answer in await asyncio.gather(*requests)}

    with running as api:
        assert api.run(send(api)) == {201}
        assert writer.groups == [1, 50]
        assert api.events() == 51


def test_a_group_has_its_limit(tmp_path: Path) -> None:
    running, writer = held_service(tmp_path, max_group=20)

    async def send(api: Running) -> None:
        requests = await send_behind(api, writer, 50)
        writer.go.set()
        await asyncio.gather(*requests)

    with running as api:
        api.run(send(api))
        assert writer.groups == [1, 20, 20, 10]


def test_no_more_events_wait_than_may_wait(tmp_path: Path) -> None:
    running, writer = held_service(tmp_path, max_waiting=3)

    async def send(api: Running) -> None:
        requests = await send_behind(api, writer, 3)
        over = await api.send(run_event(run=9))
        assert (over.status_code, over.headers["content-type"], over.headers["retry-after"]) == (503, PROBLEM, "2")
        assert "3 events are waiting" in over.json()["detail"]
        unready = await api.client.get("/readyz")
        assert (unready.status_code, "waiting" in unready.json()["detail"]) == (503, True)
        writer.go.set()
        assert {answer.status_code for answer in await asyncio.gather(*requests)} == {201}

    with running as api:
        api.run(send(api))
        assert api.get("/readyz").status_code == 200
        assert api.post(run_event(run=9)).status_code == 201
        assert api.events() == 5


def test_events_that_wait_when_the_service_stops_are_written(tmp_path: Path) -> None:
    running, writer = held_service(tmp_path)

    async def send(api: Running) -> list[asyncio.Task[object]]:
        tasks: list[asyncio.Task[object]] = [asyncio.create_task(api.send(run_event(run=i))) for i in range(1, 6)]
        await until(lambda: sum(writer.groups) + api.gate.pending_events() == 5)
        writer.go.set()
        return tasks

    with running as api:
        api.run(send(api))
    assert running.events() == 5


def test_a_full_store_answers_503_and_recovers_when_there_is_room(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    writer = make_writer(settings)
    with Running(settings, lambda: writer) as api:
        assert api.post(big_event(1)).status_code == 201
        writer._db.execute("PRAGMA max_page_count = 1")  # SQLite makes of it: not a page more than now
        full = api.post(big_event(2))
        assert (full.status_code, full.headers["content-type"], full.headers["retry-after"]) == (503, PROBLEM, "2")
        assert "full" in full.json()["detail"]
        unready = api.get("/readyz")
        assert (unready.status_code, unready.headers["retry-after"]) == (503, "2")
        assert "the store is full" in unready.json()["detail"]
        assert api.get("/healthz").status_code == 200
        assert api.events() == 1
        writer._db.execute(f"PRAGMA max_page_count = {BOUNDLESS}")
        assert api.post(big_event(2)).status_code == 201
        assert api.get("/readyz").status_code == 200
        assert api.events() == 2


def test_a_refused_input_needs_room_too(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    writer = make_writer(settings)
    garbage = incompressible(1)
    with Running(settings, lambda: writer) as api:
        writer._db.execute("PRAGMA max_page_count = 1")
        assert api.post(garbage).status_code == 503
        writer._db.execute(f"PRAGMA max_page_count = {BOUNDLESS}")
        assert api.post(garbage).status_code == 400


def test_the_size_limit_of_the_store_is_a_setting(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, store={"max_size_mb": 1})
    with Running(settings) as api:
        answers = [api.post(big_event(number)).status_code for number in range(12)]
        assert set(answers) == {201, 503}
        kept = api.events()
    wider = settings.model_copy(update={"store": settings.store.model_copy(update={"max_size_mb": 20})})
    with Running(wider) as api:
        assert api.post(big_event(11)).status_code == 201
        assert api.events() == kept + 1


def test_an_event_that_cannot_be_mapped_is_kept_listed_and_merged_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(tmp_path)
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL", settings.store.url)

    def rejected(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(command, ["rejected", *words], catch_exceptions=False)
        return done.exit_code, done.stdout

    def fail(*_: object) -> None:
        raise ArithmeticError("a fault of ours")

    with monkeypatch.context() as fault:
        fault.setattr("bridge.intake.event_reader.map_event", fail)
        with Running(settings) as api:
            assert api.post(run_event()).status_code == 201
            assert 'merged="false"} 1.0' in api.get("/metrics").text
            assert api.rows("SELECT failure FROM run_event") == [("ArithmeticError: a fault of ours",)]
            assert api.rows("SELECT count(*) FROM ol_run") == [(0,)]
        code, listed = rejected("list")
        assert (code, "unmerged" in listed, "ArithmeticError: a fault of ours" in listed) == (0, True, True)
        assert rejected("retry") == (1, "0 ingested, 1 still rejected\n")
    assert rejected("retry") == (0, "1 ingested, 0 still rejected\n")
    assert rejected("list") == (0, "")
    assert api.rows("SELECT failure FROM run_event") == [(None,)]
    assert api.rows("SELECT count(*) FROM ol_run") == [(1,)]


def test_the_service_is_alive_and_ready(api: Running) -> None:
    assert api.get("/healthz").json() == {"status": "alive"}
    ready = api.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")


def test_who_asks_for_the_head_alone_gets_the_same_answer(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    writer = make_writer(settings)
    with Running(settings, lambda: writer) as api:
        assert [head(api, path) for path in ("/healthz", "/readyz")] == [200, 200]
        writer._db.execute("PRAGMA max_page_count = 1")
        api.post(big_event(2))
        assert [head(api, path) for path in ("/healthz", "/readyz")] == [200, 503]


def test_a_service_that_has_not_started_says_so(tmp_path: Path) -> None:
    running = Running(settings_for(tmp_path))
    assert running.service.not_ready_reason() == "starting"


def test_the_metrics_count_what_was_taken_and_refused(api: Running) -> None:
    api.post(run_event(job="a-secret-name"))
    api.post(b"{}")
    api.post(b"{}")
    api.post(b"", content_length=str(1 << 40))
    answer = api.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
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
        assert line in answer.text.splitlines()
    assert "a-secret-name" not in answer.text


def test_the_oldest_event_ages_while_its_commit_does_not_end(tmp_path: Path) -> None:
    running, writer = held_service(tmp_path)

    async def send(api: Running) -> None:
        requests = await send_behind(api, writer, 2)
        begun = metric(api, "oldest_pending_age_seconds")
        await until(lambda: metric(api, "oldest_pending_age_seconds") > begun)
        assert begun > 0
        writer.go.set()
        await asyncio.gather(*requests)

    with running as api:
        api.run(send(api))
        assert metric(api, "oldest_pending_age_seconds") == 0


def test_what_is_not_ready_says_so_in_the_metrics(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    writer = make_writer(settings)
    with Running(settings, lambda: writer) as api:
        writer._db.execute("PRAGMA max_page_count = 1")
        api.post(big_event(2))
        assert (metric(api, "ready"), metric(api, "store_healthy")) == (0, 0)
        assert metric(api, "oldest_pending_age_seconds") > 0


def test_the_metrics_name_the_room_on_the_disk_and_the_build(api: Running, tmp_path: Path) -> None:
    assert metric(api, "store_free_bytes") == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.2)
    assert f'version="{__version__}"' in api.get("/metrics").text
    assert metric(api, "build_info") == 1


def test_a_disk_that_does_not_answer_leaves_the_other_metrics(api: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> None:
        raise OSError("no such device")

    monkeypatch.setattr("bridge.api.metrics.disk_usage", fail)
    assert math.isnan(metric(api, "store_free_bytes"))
    assert metric(api, "ready") == 1


def test_the_api_describes_itself(api: Running) -> None:
    described = api.get("/openapi.json").json()
    assert described["info"]["title"] == "lineage-bridge"
    assert {"/healthz", "/readyz", "/metrics"} <= set(described["paths"])


def test_what_an_event_holds_is_never_a_label(api: Running) -> None:
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
def test_what_no_route_takes_is_a_problem_too(api: Running, method: str, path: str, status: int, detail: str) -> None:
    answer = api.run(api.client.request(method, path))
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
    assert answer.json()["detail"] == detail
    assert ("allow" in answer.headers) is (status == 405)
