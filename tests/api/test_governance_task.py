"""The asset watcher of the service restarts after failures."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridge.api import tasks
from bridge.errors import StoreFull
from bridge.governance.watcher import AssetWatcher, PollResult
from tests.api.service import RunningService, settings_for, wait_until


def test_watcher_restarts_even_if_its_cleanup_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    watchers: list[AssetWatcher] = []
    poll, open_watcher = AssetWatcher.poll, tasks.open_asset_watcher

    def first_fails(watcher: AssetWatcher) -> PollResult:
        watchers.append(watcher)
        if len(watchers) == 1:
            raise StoreFull("no room")
        return poll(watcher)

    @contextmanager
    def first_cleanup_fails(*arguments: object) -> Iterator[AssetWatcher]:
        with open_watcher(*arguments) as watcher:  # type: ignore[arg-type]
            yield watcher
        if len(watchers) == 1:
            raise ArithmeticError("a fault of ours at the end")

    monkeypatch.setattr(AssetWatcher, "poll", first_fails)
    monkeypatch.setattr(tasks, "open_asset_watcher", first_cleanup_fails)
    with RunningService(settings_for(tmp_path, governance={"poll_seconds": 0.01})) as api:
        api.run(wait_until(lambda: len(watchers) > 2))
    assert watchers[0] is not watchers[1] is watchers[2]
    output = capsys.readouterr().out
    assert (output.count("] asset watcher failed, retrying"), "a fault of ours at the end" in output) == (1, True)
