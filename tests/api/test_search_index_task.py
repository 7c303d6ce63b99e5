"""The search index that the service keeps: soon up to date, and nobody's trouble when it cannot be."""

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
from tests.api.service import Running, settings_for, until
from tests.factories import dataset, run_event


def found(settings: Settings, q: str) -> list[str]:
    with closing(open_store(settings)) as db:
        return [hit.name for hit in search(db, settings.org, SearchCriteria(q)).items]


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_INDEX_POLL_SECONDS", 0.01)
    monkeypatch.setattr(background, "RETRY_SECONDS", 0.01)


def test_what_was_taken_is_found_soon(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with Running(settings) as api:
        assert api.post(run_event(job="make it", outputs=[dataset("made")])).status_code == 201
        api.run(until(lambda: found(settings, "mad") == ["made"]))
        api.run(until(lambda: found(settings, "make") == ["make it"]))


def test_a_failure_is_logged_and_tried_again_and_no_trouble_of_the_intake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failures = iter([StoreFull("no room"), ArithmeticError("a fault of ours")])
    index_batch = SearchIndexer.index_batch

    def sometimes(indexer: SearchIndexer, limit: int = 100) -> int:
        if (error := next(failures, None)) is not None:
            raise error
        return index_batch(indexer, limit)

    monkeypatch.setattr(SearchIndexer, "index_batch", sometimes)
    settings = settings_for(tmp_path)
    with Running(settings) as api:
        assert api.post(run_event(outputs=[dataset("made")])).status_code == 201
        api.run(until(lambda: found(settings, "made") == ["made"]))
        assert api.get("/readyz").status_code == 200
    said = capsys.readouterr().out
    assert said.count("search indexing failed, retrying") == 2
    assert "no room" in said
    assert "a fault of ours" in said


def test_a_batch_rests_long_while_others_need_the_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SearchIndexer, "index_batch", lambda *_: 1)
    monkeypatch.setattr(tasks, "_INDEX_POLL_SECONDS", 60)

    async def rests(busy: float) -> float:
        monkeypatch.setattr(tasks, "_MAX_LOAD", busy)
        made = tasks.SearchIndexTask(settings_for(tmp_path))
        try:
            return made.step()
        finally:
            await made.stop()

    assert asyncio.run(rests(busy=1e9)) == 0
    assert asyncio.run(rests(busy=-1)) > 0


def test_a_service_that_stops_leaves_what_it_did_not_reach_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_INDEX_POLL_SECONDS", 60)
    settings = settings_for(tmp_path)
    with Running(settings) as api:
        api.post(run_event(outputs=[dataset("made")]))
    assert found(settings, "made") == []
    monkeypatch.setattr(tasks, "_INDEX_POLL_SECONDS", 0.01)
    with Running(settings) as api:
        api.run(until(lambda: found(settings, "made") == ["made"]))
