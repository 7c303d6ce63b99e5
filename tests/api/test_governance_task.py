"""The look at assets that the service keeps taking: a failure ends none of it, not even one at the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridge.api import tasks
from bridge.errors import StoreFull
from bridge.governance.watcher import AssetWatcher, PollResult
from tests.api.service import Running, settings_for, until


def test_one_that_cannot_go_on_looks_again_even_if_it_cannot_end_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks: list[AssetWatcher] = []
    whole, make = AssetWatcher.poll, tasks.open_asset_watcher

    def first_fails(watching: AssetWatcher) -> PollResult:
        looks.append(watching)
        if len(looks) == 1:
            raise StoreFull("no room")
        return whole(watching)

    @contextmanager
    def first_cannot_end(*given: object) -> Iterator[AssetWatcher]:
        with make(*given) as watching:  # type: ignore[arg-type]
            yield watching
        if len(looks) == 1:
            raise ArithmeticError("a fault of ours at the end")

    monkeypatch.setattr(AssetWatcher, "poll", first_fails)
    monkeypatch.setattr(tasks, "open_asset_watcher", first_cannot_end)
    with Running(settings_for(tmp_path, governance={"poll_seconds": 0.01})) as api:
        api.run(until(lambda: len(looks) > 2))
    assert looks[0] is not looks[1] is looks[2]
    said = capsys.readouterr().out
    assert (said.count("] asset watcher failed, retrying"), "a fault of ours at the end" in said) == (1, True)
