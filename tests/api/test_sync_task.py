"""The target that the service keeps: soon what the store says, and nobody's trouble when it cannot be."""

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
from tests.api.service import Running, settings_for, until
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


def settings_with(folder: Path, standin: OpenMetadata, *, enabled: bool = True, **more: object) -> Settings:
    return settings_for(
        folder,
        openmetadata={
            "enabled": enabled,
            "server": {"host": standin.url},
            "auth": {"jwt_token": standin.bot_token},
            "mappings": [{"namespace": "db", "service": "warehouse", "database": "d", "schema": "s"}],
            "retry_config": {"backoff_seconds": 0.01, "max_attempts": 1},
            **more,
        },
    )


def status(settings: Settings, target: str = "openmetadata") -> SyncStatus:
    with closing(open_store(settings)) as db:
        return read_status(db, settings.org, target)


def metrics(api: Running) -> str:
    return api.service.metrics.render().decode()  # type: ignore[union-attr]


def is_there(standin: OpenMetadata, name: str) -> bool:
    return ("table", f"warehouse.d.s.{name}") in standin.state()["entities"]


def test_what_was_taken_is_there_soon(tmp_path: Path, standin: OpenMetadata) -> None:
    with Running(settings_with(tmp_path, standin)) as api:
        assert api.post(run_event(outputs=[dataset("made")])).status_code == 201
        api.run(until(lambda: is_there(standin, "made")))
        api.run(until(lambda: status(api.settings).converged))
        assert api.get("/api/v1/sync").json()["converged"]


def test_what_was_there_before_it_was_enabled_is_sent_too(tmp_path: Path, standin: OpenMetadata) -> None:
    settings = settings_with(tmp_path, standin)
    with Running(settings.model_copy(update={"openmetadata": type(settings.openmetadata)()})) as api:
        api.post(run_event(outputs=[dataset("old")]))
    with Running(settings) as api:
        api.run(until(lambda: is_there(standin, "old")))


def test_nothing_is_sent_nor_marked_once_it_is_not_enabled_any_more(tmp_path: Path, standin: OpenMetadata) -> None:
    settings = settings_with(tmp_path, standin)
    with Running(settings) as api:
        api.run(until(lambda: status(settings).enabled_at is not None))
    with Running(settings.model_copy(update={"openmetadata": type(settings.openmetadata)()})) as api:
        api.run(until(lambda: status(settings).enabled_at is None))
        api.post(run_event(outputs=[dataset("unsent")]))
        assert api.get("/api/v1/sync").json()["marks"] == 0
    assert not is_there(standin, "unsent")


def test_a_server_that_is_down_is_told_and_asked_again(
    tmp_path: Path, standin: OpenMetadata, capsys: pytest.CaptureFixture[str]
) -> None:
    standin.faults.plan = lambda *_: error(503, "Starting")
    with Running(settings_with(tmp_path, standin)) as api:
        assert api.post(run_event(outputs=[dataset("made")])).status_code == 201
        api.run(until(lambda: "Starting" in (status(api.settings).trouble or "")))
        standin.faults.clear()
        api.run(until(lambda: is_there(standin, "made")))
        api.run(until(lambda: status(api.settings).trouble is None))
    said = capsys.readouterr().out
    assert (said.count("circuit open: target not responding") >= 1, "circuit closed: target responding" in said) == (
        True,
        True,
    )


def test_a_failure_is_logged_and_tried_again_and_no_trouble_of_the_intake(
    tmp_path: Path, standin: OpenMetadata, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failures = iter([StoreFull("no room"), ArithmeticError("a fault of ours")])
    whole = Reconciler.step

    def sometimes(reconciler: Reconciler, *words: object) -> object:
        if (failure := next(failures, None)) is not None:
            raise failure
        return whole(reconciler, *words)

    monkeypatch.setattr(Reconciler, "step", sometimes)
    with Running(settings_with(tmp_path, standin)) as api:
        assert api.post(run_event(outputs=[dataset("made")])).status_code == 201
        api.run(until(lambda: is_there(standin, "made")))
    said = capsys.readouterr().out
    assert (said.count("] sync failed, retrying"), "no room" in said, "a fault of ours" in said) == (2, True, True)


def test_how_far_it_is_is_measured(tmp_path: Path, standin: OpenMetadata, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_PROGRESS_SECONDS", 0.0)
    standin.faults.next(error(503), path="/tables/bulk", times=1)
    with Running(settings_with(tmp_path, standin)) as api:
        assert api.post(run_event(outputs=[dataset("made")])).status_code == 201
        api.run(until(lambda: is_there(standin, "made") and status(api.settings).converged))

        def text() -> str:
            return api.service.metrics.render().decode()  # type: ignore[union-attr]

        api.run(until(lambda: 'lineage_bridge_sync_waiting{target="openmetadata"} 0.0' in text()))
        assert 'lineage_bridge_sync_calls_total{kind="bulk",target="openmetadata"} ' in text()
        assert 'lineage_bridge_sync_calls_failed_total{kind="bulk",target="openmetadata"} 1.0' in text()
        assert 'lineage_bridge_sync_left_alone{target="openmetadata"} 0.0' in text()
        assert 'lineage_bridge_sync_troubled{target="openmetadata"} 0.0' in text()
        assert 'lineage_bridge_sync_running{target="openmetadata"} 1.0' in text()
        assert 'lineage_bridge_sync_calls_failed_total{kind="put",target="openmetadata"} 0.0' in text()
        assert 'lineage_bridge_sync_latency_seconds_bucket{le="+Inf",target="openmetadata"} 0.0' not in text()
        assert "lineage_bridge_sync_completeness_ratio{" not in text()  # nothing was read yet


def test_completeness_is_measured_once_it_was_read(tmp_path: Path, standin: OpenMetadata) -> None:
    settings = settings_with(tmp_path, standin, sync={"sync_frequency": "1s"})
    with Running(settings) as api:
        api.post(run_event(inputs=[dataset("a")], outputs=[dataset("t")]))
        api.post(run_event("START", run=2, job="later", inputs=[dataset("a")], outputs=[dataset("u")]))

        def told(kind: str, part: float) -> bool:
            return f'lineage_bridge_sync_completeness_ratio{{kind="{kind}",target="openmetadata"}} {part}' in metrics(
                api
            )

        api.run(until(lambda: told("lineage", 0.5) and told("job", 1.0)))
        assert "lineage_bridge_sync_compared_age_seconds{" in api.get("/metrics").text
        assert api.get("/api/v1/sync").json()["lineage_completeness"] == 50.0


def test_how_far_it_is_is_told_while_it_is_under_way(
    tmp_path: Path, standin: OpenMetadata, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_PROGRESS_SECONDS", 0.0)
    go_on = threading.Event()

    def held_up(_: int, method: str, path: str) -> None:
        if (method, path) == ("PUT", "/api/v1/lineage"):
            go_on.wait(20)

    standin.faults.plan = held_up
    with Running(settings_with(tmp_path, standin)) as api:
        api.post(run_event(inputs=[dataset("a")], outputs=[dataset("t")]))

        def waiting() -> float:
            (value,) = re.findall(
                r'^lineage_bridge_sync_waiting\{target="openmetadata"\} (\S+)$', metrics(api), re.MULTILINE
            )
            return float(value)

        api.run(until(lambda: waiting() > 0))
        go_on.set()
        api.run(until(lambda: waiting() == 0))


def test_one_that_cannot_go_on_is_told_even_if_it_cannot_end_either(
    tmp_path: Path, standin: OpenMetadata, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Reconciler.close
    closed = threading.Event()

    def fail(*_: object) -> object:
        raise StoreFull("no room")

    def closed_and_fail(reconciler: Reconciler) -> None:
        whole(reconciler)
        closed.set()
        raise StoreFull("no room for the last word")

    with monkeypatch.context() as full, Running(settings_with(tmp_path, standin)) as api:
        full.setattr(Reconciler, "step", fail)
        full.setattr(Reconciler, "close", closed_and_fail)
        api.run(until(lambda: 'lineage_bridge_sync_running{target="openmetadata"} 0.0' in metrics(api)))
        api.run(until(closed.is_set))  # it tells that it cannot go on before it tries to end
        full.undo()
        api.post(run_event(outputs=[dataset("made")]))
        api.run(until(lambda: is_there(standin, "made")))
        api.run(until(lambda: 'lineage_bridge_sync_running{target="openmetadata"} 1.0' in metrics(api)))
    assert "no room for the last word" in capsys.readouterr().out


def test_nothing_is_measured_of_what_is_not_kept(tmp_path: Path, standin: OpenMetadata) -> None:
    with Running(settings_with(tmp_path, standin, enabled=False)) as api:
        assert "lineage_bridge_sync" not in api.get("/metrics").text


def test_several_targets_are_kept_beside_each_other(tmp_path: Path, standin: OpenMetadata) -> None:
    with Marquez() as marquez, Webhook() as webhook:
        settings = settings_with(tmp_path, standin).model_copy(
            update={
                "marquez": MarquezSettings(enabled=True, url=marquez.url),
                "webhook": WebhookSettings(enabled=True, url=webhook.url),
            }
        )
        with Running(settings) as api:
            api.post({**run_event(outputs=[dataset("made")]), "eventTime": "2099-01-01T00:00:00Z"})
            api.run(until(lambda: is_there(standin, "made")))
            api.run(until(lambda: marquez.state()["log"] != []))
            api.run(until(lambda: webhook.heard != {}))
            api.run(until(lambda: 'lineage_bridge_sync_waiting{target="marquez"} 0.0' in metrics(api)))
            api.run(until(lambda: status(api.settings, "marquez").converged))
            assert api.get("/api/v1/sync?target=marquez").json()["target"] == "marquez"


def test_one_that_is_not_kept_any_more_costs_no_index(tmp_path: Path, standin: OpenMetadata) -> None:
    with Marquez() as marquez:
        settings = settings_for(tmp_path, marquez={"enabled": True, "url": marquez.url})
        with Running(settings) as api:
            api.run(until(lambda: "ix_run_event__run_id" in indexes(api.settings)))
        with Running(settings.model_copy(update={"marquez": type(settings.marquez)()})) as api:
            api.run(until(lambda: "ix_run_event__run_id" not in indexes(api.settings)))


def indexes(settings: Settings) -> set[str]:
    with closing(open_store(settings)) as db:
        return {name for (name,) in db.fetch_all("SELECT name FROM sqlite_master WHERE type = 'index'")}
