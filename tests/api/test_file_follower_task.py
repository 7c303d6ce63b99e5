"""Files followed by the service: metrics, and visible failures."""

from pathlib import Path

import pytest

from bridge.intake.file_tracker import FileTracker
from tests.api.service import RunningService, settings_for, wait_until
from tests.factories import run_event
from tests.stores import as_bytes


def service_with_files(folder: Path) -> RunningService:
    (folder / "events.ndjson").write_bytes(as_bytes(run_event(run=1)) + b"\ngarbage\n" + b"x" * 20_000 + b"\n")
    places = [str(folder / "*.ndjson")]
    return RunningService(
        settings_for(folder, intake={"tail": places, "tail_poll_seconds": 0.01, "max_unpacked_mb": 0.01})
    )


def test_events_from_files_are_counted(tmp_path: Path) -> None:
    with service_with_files(tmp_path) as api:
        api.run(wait_until(lambda: b'reason="too_large"} 1.0' in api.service.metrics.render()))  # type: ignore[union-attr]
        text = api.get("/metrics").text
        assert 'lineage_bridge_events_accepted_total{merged="true"} 1.0' in text
        assert 'lineage_bridge_events_refused_total{reason="rejected"} 1.0' in text
        assert api.post(run_event(run=2)).status_code == 201
        assert api.get("/readyz").status_code == 200
    assert api.events() == 2


def test_failed_follower_makes_service_unready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: FileTracker) -> None:
        raise ArithmeticError("a fault of ours")

    monkeypatch.setattr(FileTracker, "scan", fail)
    with service_with_files(tmp_path) as api:
        api.run(wait_until(lambda: api.service.not_ready_reason() is not None))
        unready = api.get("/readyz")
        assert (unready.status_code, "file follower stopped: " in unready.json()["detail"]) == (503, True)
        assert "ArithmeticError: a fault of ours" in unready.json()["detail"]
        assert api.post(run_event(run=2)).status_code == 201
    output = capsys.readouterr().out
    assert ("file follower stopped" in output, "critical" in output) == (True, True)


def test_without_files_nothing_is_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileTracker, "scan", None)
    with RunningService(settings_for(tmp_path)) as api:
        assert api.get("/readyz").status_code == 200
