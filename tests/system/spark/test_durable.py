"""Events that each transport loses when the service is killed during a Spark job."""

from collections.abc import Callable
from pathlib import Path

import pytest

from connectors.spark.conf import ConfOptions, ListenerTransport
from tests.system.service import Service, finish, new_store, run, start, stored_payloads, until
from tests.system.spark.job import JOB_SECONDS, end_job, make_inputs, release_under_test, start_job
from tests.system.spark.store_summary import summarize_store

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]

_STEPS = ("one", "two", "three")
_ALL = {"lake/one": [3], "lake/two": [3], "lake/three": [3]}


def run_job_with_outage(base: Path, store: Path, transport: ListenerTransport, **settings: str) -> Path:
    """Run three steps, without a service during the second; return the event file."""
    make_inputs(base)
    events = base / "events.ndjson"
    service = Service(store, **settings)
    options = ConfOptions(
        release_under_test(),
        transport,
        url=f"http://127.0.0.1:{service.port}",
        location=str(events),
        namespace="spark",
    )
    process = start_job(base, "steps", options=options)

    def run_step(step: str) -> None:
        (base / f"{step}.begin").touch()
        done: Callable[[], bool] = (base / f"{step}.done").exists
        until(lambda: done() or process.poll() is not None, f"step {step}", JOB_SECONDS)

    try:
        with service:
            run_step("one")
        run_step("two")
        with Service(store, **settings | {"SERVER__PORT": str(service.port)}):
            run_step("three")
            result = end_job(base, "steps", process)
    finally:
        process.kill()
        process.wait()
    assert result.code == 0, result.log[-4000:]
    return events


def assert_all_events_stored(base: Path, store: Path, events: Path) -> None:
    """The store contains exactly the events of the file of the listener."""
    written = set(events.read_bytes().splitlines())
    assert stored_payloads(store) == written
    assert len(written) > len(_STEPS) * 2
    assert summarize_store(store, base).versions == _ALL
    assert summarize_store(store, base).outcomes == {"steps": "SUCCESS"}


def test_tailed_file_loses_no_events(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    tail = {"INTAKE__TAIL": f'["{tmp_path}/events.ndjson"]', "INTAKE__TAIL_POLL_SECONDS": "0.05"}
    events = run_job_with_outage(tmp_path, store, ListenerTransport.file, **tail)
    assert run(store, "tail", "--once", str(events))[0] == 0
    assert_all_events_stored(tmp_path, store, events)


def test_composite_transport_loses_and_duplicates_no_events(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    events = run_job_with_outage(tmp_path, store, ListenerTransport.composite)
    over_http = stored_payloads(store)
    assert over_http < set(events.read_bytes().splitlines()), "HTTP alone loses the events of the outage"
    assert summarize_store(store, tmp_path).versions == {
        name: rows for name, rows in _ALL.items() if name != "lake/two"
    }
    process = start(store, "tail", "--once", str(events))
    code, output = finish(process)
    assert code == 0, output
    assert_all_events_stored(tmp_path, store, events)
    assert run(store, "doctor")[0] == 0


def test_http_transport_loses_events_of_outage_without_failing_job(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    run_job_with_outage(tmp_path, store, ListenerTransport.http)
    summary = summarize_store(store, tmp_path)
    assert summary.versions == {"lake/one": [3], "lake/three": [3]}
    assert "lake/two" not in summary.datasets
    assert summary.outcomes == {"steps": "SUCCESS"}
