"""The search index of the service: updates, and retries after failures."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from bridge.api import background, tasks
from bridge.bootstrap.store import open_store
from bridge.errors import StoreFull
from bridge.settings.model import Settings
from bridge.store.search.indexer import SearchIndexer
from bridge.store.search.search import SearchCriteria, search
from tests.api.service import RunningService, settings_for, wait_until
from tests.factories import dataset, run_event


def search_names(settings: Settings, q: str) -> list[str]:
    with closing(open_store(settings)) as db:
        return [hit.name for hit in search(db, settings.org, SearchCriteria(q)).items]


@pytest.fixture(autouse=True)
def _short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_INDEX_POLL_SECONDS", 0.01)
    monkeypatch.setattr(background, "RETRY_SECONDS", 0.01)


def test_new_events_become_searchable(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with RunningService(settings) as api:
        assert api.post(run_event(job="make it", outputs=[dataset("made")])).status_code == 201
        api.run(wait_until(lambda: search_names(settings, "mad") == ["made"]))
        api.run(wait_until(lambda: search_names(settings, "make") == ["make it"]))


def test_failure_is_logged_and_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failures = iter([StoreFull("no room"), ArithmeticError("a fault of ours")])
    index_batch = SearchIndexer.index_batch

    def fail_twice(indexer: SearchIndexer, limit: int = 100) -> int:
        if (error := next(failures, None)) is not None:
            raise error
        return index_batch(indexer, limit)

    monkeypatch.setattr(SearchIndexer, "index_batch", fail_twice)
    settings = settings_for(tmp_path)
    with RunningService(settings) as api:
        assert api.post(run_event(outputs=[dataset("made")])).status_code == 201
        api.run(wait_until(lambda: search_names(settings, "made") == ["made"]))
        assert api.get("/readyz").status_code == 200
    output = capsys.readouterr().out
    assert output.count("search indexing failed, retrying") == 2
    assert "no room" in output
    assert "a fault of ours" in output


def test_indexing_pauses_while_cpu_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SearchIndexer, "index_batch", lambda *_: 1)
    monkeypatch.setattr(tasks, "_INDEX_POLL_SECONDS", 60)

    async def pause_after_batch(max_load: float) -> float:
        monkeypatch.setattr(tasks, "_MAX_LOAD", max_load)
        task = tasks.SearchIndexTask(settings_for(tmp_path))
        try:
            return task.step()
        finally:
            await task.stop()

    assert asyncio.run(pause_after_batch(max_load=1e9)) == 0
    assert asyncio.run(pause_after_batch(max_load=-1)) > 0


def test_next_service_indexes_remaining_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_INDEX_POLL_SECONDS", 60)
    settings = settings_for(tmp_path)
    with RunningService(settings) as api:
        api.post(run_event(outputs=[dataset("made")]))
    assert search_names(settings, "made") == []
    monkeypatch.setattr(tasks, "_INDEX_POLL_SECONDS", 0.01)
    with RunningService(settings) as api:
        api.run(wait_until(lambda: search_names(settings, "made") == ["made"]))
