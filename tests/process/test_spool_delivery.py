"""Delivery of spooled listener events: once, without reads, and without loss."""

import json
from pathlib import Path

import pytest

from bridge.process.spool import lock_spool, send_abandoned_spools, send_spool, spool_file
from connectors.errors import Unreachable
from tests.factories import Json, dataset, run_event, spark_type
from tests.process.process_lake import ProcessHarness


def write_spool(folder: Path, name: str, *events: Json | str) -> Path:
    file = spool_file(folder, name)
    folder.mkdir(exist_ok=True)
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def action(kind: str, second: int, run: int, **io: list[Json]) -> Json:
    return run_event(kind, second, run=run, job=f"app.action{run}", job_facets={"jobType": spark_type()}, **io)


APP = run_event("START", 1, run=9, job="app", job_facets={"jobType": spark_type("APPLICATION")})
WRITE_EVENTS = [action("START", 2, 1, inputs=[dataset("raw")]), action("COMPLETE", 3, 1, outputs=[dataset("out")])]
READ_EVENTS = [action("START", 4, 2, inputs=[dataset("out")]), action("COMPLETE", 5, 2, inputs=[dataset("out")])]


def test_actions_without_outputs_are_skipped(harness: ProcessHarness, tmp_path: Path) -> None:
    file = write_spool(tmp_path / "spool", "a", APP, *WRITE_EVENTS, *READ_EVENTS)
    result = send_spool(harness.backend, file)
    assert (result.events, result.skipped, result.rejected) == (3, 2, [])
    assert not file.exists()
    jobs = harness.store.rows("SELECT name FROM ol_job ORDER BY name")
    assert [name for (name,) in jobs] == ["app", "app.action1"]


def test_invalid_lines_are_sent_and_rejected(harness: ProcessHarness, tmp_path: Path) -> None:
    result = send_spool(harness.backend, write_spool(tmp_path / "spool", "a", *WRITE_EVENTS, "{broken"))
    assert (result.events, len(result.rejected)) == (3, 1)
    assert harness.store.value("SELECT count(*) FROM rejected_event") == 1


def test_missing_spool_sends_nothing(harness: ProcessHarness, tmp_path: Path) -> None:
    assert send_spool(harness.backend, tmp_path / "none.ndjson").events == 0


def test_spool_is_kept_if_service_is_unreachable(
    harness: ProcessHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_spool(tmp_path / "spool", "a", *WRITE_EVENTS)

    def fail(_: object) -> list[str]:
        raise Unreachable("down")

    monkeypatch.setattr(harness.backend, "send_events", fail)
    with pytest.raises(Unreachable):
        send_spool(harness.backend, file)
    assert file.exists()


def test_abandoned_spools_are_sent_but_locked_ones_kept(harness: ProcessHarness, tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    abandoned, active = write_spool(folder, "dead", *WRITE_EVENTS), write_spool(folder, "living", APP)
    with lock_spool(active) as locked:
        assert locked
        assert send_abandoned_spools(harness.backend, folder) == 1
    assert (abandoned.exists(), active.exists()) == (False, True)
    assert send_abandoned_spools(harness.backend, folder) == 1
    assert list(folder.iterdir()) == []


def test_spool_lock_is_exclusive(tmp_path: Path) -> None:
    file = spool_file(tmp_path / "spool", "a")
    with lock_spool(file) as first, lock_spool(file) as second:
        assert (first, second) == (True, False)
