"""Sync targets of the service: updates, retries after failures, and metrics."""

import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bridge.api import background, tasks
from bridge.bootstrap.store import open_store
from bridge.errors import StoreFull
from bridge.settings.model import Settings
from bridge.settings.targets import MarquezSettings, WebhookSettings
from bridge.sync.reconciler import Reconciler
from bridge.sync.status import SyncStatus, read_status
from tests.api.service import RunningService, settings_for, wait_until
from tests.factories import dataset, run_event
from tests.standins.marquez import Marquez
from tests.standins.openmetadata import OpenMetadata, error
from tests.standins.webhook import Webhook


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenMetadata]:
    monkeypatch.setattr(tasks, "_SYNC_POLL_SECONDS", 0.01)
    monkeypatch.setattr(background, "RETRY_SECONDS", 0.01)
    with OpenMetadata() as running:
        yield running


def settings_with(folder: Path, standin: OpenMetadata, *, enabled: bool = True, **options: object) -> Settings:
    return settings_for(
        folder,
        openmetadata={
            "enabled": enabled,
            "server": {"host": standin.url},
            "auth": {"jwt_token": standin.bot_token},
            "mappings": [{"namespace": "db", "service": "warehouse", "database": "d", "schema": "s"}],
            "retry_config": {"backoff_seconds": 0.01, "max_attempts": 1},
            **options,
        },
    )


def status(settings: Settings, target: str = "openmetadata") -> SyncStatus:
    with closing(open_store(settings)) as db:
        return read_status(db, settings.org, target)


def metrics(api: RunningService) -> str:
    return api.service.metrics.render().decode()  # type: ignore[union-attr]


def has_table(standin: OpenMetadata, name: str) -> bool:
    return ("table", f"warehouse.d.s.{name}") in standin.state()["entities"]


def test_new_events_are_synced(tmp_path: Path, standin: OpenMetadata) -> None:
    with RunningService(settings_with(tmp_path, standin)) as api:
        assert api.post(run_event(outputs=[dataset("made")])).status_code == 201
        api.run(wait_until(lambda: has_table(standin, "made")))
        api.run(wait_until(lambda: status(api.settings).converged))
        assert api.get("/api/v1/sync").json()["converged"]


def test_events_before_enabling_are_synced(tmp_path: Path, standin: OpenMetadata) -> None:
    settings = settings_with(tmp_path, standin)
    with RunningService(settings.model_copy(update={"openmetadata": type(settings.openmetadata)()})) as api:
        api.post(run_event(outputs=[dataset("old")]))
    with RunningService(settings) as api:
        api.run(wait_until(lambda: has_table(standin, "old")))


def test_disabled_target_gets_no_requests_and_no_marks(tmp_path: Path, standin: OpenMetadata) -> None:
    settings = settings_with(tmp_path, standin)
    with RunningService(settings) as api:
        api.run(wait_until(lambda: status(settings).enabled_at is not None))
    with RunningService(settings.model_copy(update={"openmetadata": type(settings.openmetadata)()})) as api:
        api.run(wait_until(lambda: status(settings).enabled_at is None))
        api.post(run_event(outputs=[dataset("unsent")]))
        assert api.get("/api/v1/sync").json()["marks"] == 0
    assert not has_table(standin, "unsent")


def test_unavailable_server_is_reported_and_retried(
    tmp_path: Path, standin: OpenMetadata, capsys: pytest.CaptureFixture[str]
) -> None:
    standin.faults.plan = lambda *_: error(503, "Starting")
    with RunningService(settings_with(tmp_path, standin)) as api:
        assert api.post(run_event(outputs=[dataset("made")])).status_code == 201
        api.run(wait_until(lambda: "Starting" in (status(api.settings).trouble or "")))
        standin.faults.clear()
        api.run(wait_until(lambda: has_table(standin, "made")))
        api.run(wait_until(lambda: status(api.settings).trouble is None))
    output = capsys.readouterr().out
    assert (
        output.count("circuit open: target not responding") >= 1,
        "circuit closed: target responding" in output,
    ) == (
        True,
        True,
    )


def test_failure_is_logged_and_retried(
    tmp_path: Path, standin: OpenMetadata, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failures = iter([StoreFull("no room"), ArithmeticError("a fault of ours")])
    step = Reconciler.step

    def fail_twice(reconciler: Reconciler, *args: object) -> object:
        if (failure := next(failures, None)) is not None:
            raise failure
        return step(reconciler, *args)

    monkeypatch.setattr(Reconciler, "step", fail_twice)
    with RunningService(settings_with(tmp_path, standin)) as api:
        assert api.post(run_event(outputs=[dataset("made")])).status_code == 201
        api.run(wait_until(lambda: has_table(standin, "made")))
    output = capsys.readouterr().out
    assert (output.count("] sync failed, retrying"), "no room" in output, "a fault of ours" in output) == (
        2,
        True,
        True,
    )


def test_progress_metrics(tmp_path: Path, standin: OpenMetadata, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_PROGRESS_SECONDS", 0.0)
    standin.faults.next(error(503), path="/tables/bulk", times=1)
    with RunningService(settings_with(tmp_path, standin)) as api:
        assert api.post(run_event(outputs=[dataset("made")])).status_code == 201
        api.run(wait_until(lambda: has_table(standin, "made") and status(api.settings).converged))

        def text() -> str:
            return api.service.metrics.render().decode()  # type: ignore[union-attr]

        api.run(wait_until(lambda: 'lineage_bridge_sync_waiting{target="openmetadata"} 0.0' in text()))
        assert 'lineage_bridge_sync_calls_total{kind="bulk",target="openmetadata"} ' in text()
        assert 'lineage_bridge_sync_calls_failed_total{kind="bulk",target="openmetadata"} 1.0' in text()
        assert 'lineage_bridge_sync_left_alone{target="openmetadata"} 0.0' in text()
        assert 'lineage_bridge_sync_troubled{target="openmetadata"} 0.0' in text()
        assert 'lineage_bridge_sync_running{target="openmetadata"} 1.0' in text()
        assert 'lineage_bridge_sync_calls_failed_total{kind="put",target="openmetadata"} 0.0' in text()
        assert 'lineage_bridge_sync_latency_seconds_bucket{le="+Inf",target="openmetadata"} 0.0' not in text()
        assert "lineage_bridge_sync_completeness_ratio{" not in text()  # nothing was read yet


def test_completeness_metric_appears_after_comparison(tmp_path: Path, standin: OpenMetadata) -> None:
    settings = settings_with(tmp_path, standin, sync={"sync_frequency": "1s"})
    with RunningService(settings) as api:
        api.post(run_event(inputs=[dataset("a")], outputs=[dataset("t")]))
        api.post(run_event("START", run=2, job="later", inputs=[dataset("a")], outputs=[dataset("u")]))

        def reported(kind: str, ratio: float) -> bool:
            return (
                f'lineage_bridge_sync_completeness_ratio{{kind="{kind}",target="openmetadata"}} {ratio}'
                in metrics(api)
            )

        api.run(wait_until(lambda: reported("lineage", 0.5) and reported("job", 1.0)))
        assert "lineage_bridge_sync_compared_age_seconds{" in api.get("/metrics").text
        assert api.get("/api/v1/sync").json()["lineage_completeness"] == 50.0


def test_progress_metrics_update_during_push(
    tmp_path: Path, standin: OpenMetadata, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_PROGRESS_SECONDS", 0.0)
    released = threading.Event()

    def block_lineage(_: int, method: str, path: str) -> None:
        if (method, path) == ("PUT", "/api/v1/lineage"):
            released.wait(20)

    standin.faults.plan = block_lineage
    with RunningService(settings_with(tmp_path, standin)) as api:
        api.post(run_event(inputs=[dataset("a")], outputs=[dataset("t")]))

        def waiting() -> float:
            (value,) = re.findall(
                r'^lineage_bridge_sync_waiting\{target="openmetadata"\} (\S+)$', metrics(api), re.MULTILINE
            )
            return float(value)

        api.run(wait_until(lambda: waiting() > 0))
        released.set()
        api.run(wait_until(lambda: waiting() == 0))


def test_failed_sync_is_reported_even_if_its_cleanup_fails(
    tmp_path: Path, standin: OpenMetadata, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    close = Reconciler.close
    closed = threading.Event()

    def fail(*_: object) -> object:
        raise StoreFull("no room")

    def close_and_fail(reconciler: Reconciler) -> None:
        close(reconciler)
        closed.set()
        raise StoreFull("no room for the last word")

    with monkeypatch.context() as patched, RunningService(settings_with(tmp_path, standin)) as api:
        patched.setattr(Reconciler, "step", fail)
        patched.setattr(Reconciler, "close", close_and_fail)
        api.run(wait_until(lambda: 'lineage_bridge_sync_running{target="openmetadata"} 0.0' in metrics(api)))
        api.run(wait_until(closed.is_set))  # the metric changes before close
        patched.undo()
        api.post(run_event(outputs=[dataset("made")]))
        api.run(wait_until(lambda: has_table(standin, "made")))
        api.run(wait_until(lambda: 'lineage_bridge_sync_running{target="openmetadata"} 1.0' in metrics(api)))
    assert "no room for the last word" in capsys.readouterr().out


def test_disabled_target_has_no_metrics(tmp_path: Path, standin: OpenMetadata) -> None:
    with RunningService(settings_with(tmp_path, standin, enabled=False)) as api:
        assert "lineage_bridge_sync" not in api.get("/metrics").text


def test_several_targets_are_synced(tmp_path: Path, standin: OpenMetadata) -> None:
    with Marquez() as marquez, Webhook() as webhook:
        settings = settings_with(tmp_path, standin).model_copy(
            update={
                "marquez": MarquezSettings(enabled=True, url=marquez.url),
                "webhook": WebhookSettings(enabled=True, url=webhook.url),
            }
        )
        with RunningService(settings) as api:
            api.post({**run_event(outputs=[dataset("made")]), "eventTime": "2099-01-01T00:00:00Z"})
            api.run(wait_until(lambda: has_table(standin, "made")))
            api.run(wait_until(lambda: marquez.state()["log"] != []))
            api.run(wait_until(lambda: webhook.received != {}))
            api.run(wait_until(lambda: 'lineage_bridge_sync_waiting{target="marquez"} 0.0' in metrics(api)))
            api.run(wait_until(lambda: status(api.settings, "marquez").converged))
            assert api.get("/api/v1/sync?target=marquez").json()["target"] == "marquez"


def test_disabled_marquez_target_drops_its_index(tmp_path: Path, standin: OpenMetadata) -> None:
    with Marquez() as marquez:
        settings = settings_for(tmp_path, marquez={"enabled": True, "url": marquez.url})
        with RunningService(settings) as api:
            api.run(wait_until(lambda: "ix_run_event__run_id" in indexes(api.settings)))
        with RunningService(settings.model_copy(update={"marquez": type(settings.marquez)()})) as api:
            api.run(wait_until(lambda: "ix_run_event__run_id" not in indexes(api.settings)))


def indexes(settings: Settings) -> set[str]:
    with closing(open_store(settings)) as db:
        return {name for (name,) in db.fetch_all("SELECT name FROM sqlite_master WHERE type = 'index'")}
