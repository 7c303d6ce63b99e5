"""The service dies in the middle of a real Spark job: what each transport loses, and what it does not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from connectors.spark.conf import ConfOptions, ListenerTransport
from tests.system.service import Service, finish, new_store, run, start, stored_payloads, until
from tests.system.spark.job import JOB_SECONDS, end_job, line_under_test, make_inputs, start_job
from tests.system.spark.seen import see

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]

_STEPS = ("one", "two", "three")
_ALL = {"lake/one": [3], "lake/two": [3], "lake/three": [3]}


def job_with_an_outage(base: Path, store: Path, transport: ListenerTransport, **settings: str) -> Path:
    """Run three steps; the service is killed before the second and comes back before the third. Gives the events' file."""
    make_inputs(base)
    events = base / "events.ndjson"
    first = Service(store, **settings)
    wanted = ConfOptions(
        line_under_test(),
        transport,
        url=f"http://127.0.0.1:{first.port}",
        location=str(events),
        namespace="spark",
    )
    process = start_job(base, "steps", wanted=wanted)

    def let(step: str) -> None:
        (base / f"{step}.begin").touch()
        done: Callable[[], bool] = (base / f"{step}.done").exists
        until(lambda: done() or process.poll() is not None, f"step {step}", JOB_SECONDS)

    try:
        with first:
            let("one")
        let("two")
        with Service(store, **settings | {"SERVER__PORT": str(first.port)}):
            let("three")
            ended = end_job(base, "steps", process)
    finally:
        process.kill()
        process.wait()
    assert ended.code == 0, ended.log[-4000:]
    return events


def assert_all_is_there_once(base: Path, store: Path, events: Path) -> None:
    """Every line of the listener's file is in the store, and nothing beside: HTTP brought the same events."""
    written = set(events.read_bytes().splitlines())
    assert stored_payloads(store) == written
    assert len(written) > len(_STEPS) * 2
    assert see(store, base).versions == _ALL
    assert see(store, base).outcomes == {"steps": "SUCCESS"}


def test_a_file_that_is_tailed_loses_nothing(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    tail = {"INTAKE__TAIL": f'["{tmp_path}/events.ndjson"]', "INTAKE__TAIL_POLL_SECONDS": "0.05"}
    events = job_with_an_outage(tmp_path, store, ListenerTransport.file, **tail)
    assert run(store, "tail", "--once", str(events))[0] == 0
    assert_all_is_there_once(tmp_path, store, events)


def test_http_and_a_file_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    events = job_with_an_outage(tmp_path, store, ListenerTransport.composite)
    over_http = stored_payloads(store)
    assert over_http < set(events.read_bytes().splitlines()), "HTTP alone has lost the outage"
    assert see(store, tmp_path).versions == {name: rows for name, rows in _ALL.items() if name != "lake/two"}
    process = start(store, "tail", "--once", str(events))
    code, said = finish(process)
    assert code == 0, said
    assert_all_is_there_once(tmp_path, store, events)
    assert run(store, "doctor")[0] == 0


def test_http_alone_loses_the_outage_and_the_job_does_not_notice(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    job_with_an_outage(tmp_path, store, ListenerTransport.http)
    seen = see(store, tmp_path)
    assert seen.versions == {"lake/one": [3], "lake/three": [3]}
    assert "lake/two" not in seen.datasets
    assert seen.outcomes == {"steps": "SUCCESS"}
