"""Queries that run for too long, or keep others waiting."""

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bridge.api import query_routes, query_slots
from bridge.queries.lineage import LineageQuery
from bridge.queries.query import QueryContext
from bridge.settings.model import Settings
from bridge.store.lineage.graph import LineageGraph, QualifiedName
from bridge.store.schema import upgrade_postgres
from tests.api.service import PROBLEM, RunningService, settings_for
from tests.factories import dataset, run_event
from tests.postgres import server
from tests.stores import Store

_HEAVY = "/api/v1/dataset/by-name/lineage?namespace=db&name=made"
_LIGHT = "/api/v1/dataset/by-name?namespace=db&name=made"
_ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.system("postgres"))])
def api(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningService]:
    if request.param == "sqlite":
        settings = settings_for(tmp_path)
    else:
        url = server().new_database(f"queries_{secrets.token_hex(4)}")
        upgrade_postgres(url, "queries")
        settings = Settings.model_validate({"store": {"url": url}})
    with RunningService(settings) as running:
        assert running.post(run_event(outputs=[dataset("made")])).status_code == 201
        yield running


def replace_walk(monkeypatch: pytest.MonkeyPatch, run: Callable[[QueryContext], None]) -> None:
    """Replace what the lineage query does before its walk."""
    walk = LineageQuery.run

    def replaced(query: LineageQuery, ctx: QueryContext) -> Any:
        run(ctx)
        return walk(query, ctx)

    monkeypatch.setattr(LineageQuery, "run", replaced)


def shorten_limit(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(query_slots, "QUERY_SECONDS", seconds)
    monkeypatch.setattr(query_routes, "QUERY_SECONDS", seconds)


def use_cpu(seconds: float) -> Callable[[QueryContext], None]:
    def run(ctx: QueryContext) -> None:
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            ctx.db.fetch_all("SELECT 1")

    return run


async def timed(response: Any) -> tuple[httpx.Response, float]:
    started_at = time.monotonic()
    return await response, time.monotonic() - started_at


def test_light_queries_do_not_wait_for_heavy_ones(api: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_walk(monkeypatch, use_cpu(0.35))

    async def run() -> None:
        heavy = [asyncio.create_task(timed(api.client.get(_HEAVY))) for _ in range(12)]
        await asyncio.sleep(0.1)
        light = [await timed(api.client.get(_LIGHT)) for _ in range(5)]
        assert [response.status_code for response, _ in light] == [200] * 5
        slowest_light = max(seconds for _, seconds in light)
        results = await asyncio.gather(*heavy)
        assert [response.status_code for response, _ in results] == [200] * 12
        assert slowest_light < max(seconds for _, seconds in results) / 3

    api.run(run())


def test_number_of_heavy_queries_is_limited(api: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_slots, "_MAX_HEAVY", 2)
    replace_walk(monkeypatch, use_cpu(0.35))
    with RunningService(api.settings) as limited:

        async def run() -> list[httpx.Response]:
            return await asyncio.gather(*(limited.client.get(_HEAVY) for _ in range(6)))

        responses = limited.run(run())
    statuses = sorted(response.status_code for response in responses)
    assert set(statuses) == {200, 503}
    details = {response.json()["detail"] for response in responses if response.status_code == 503}
    assert details == {"2 other heavy queries are running or waiting"}


def endless_statement(ctx: QueryContext) -> None:
    ctx.db.fetch_all(_ENDLESS)


def endless_snapshot(ctx: QueryContext) -> None:
    with ctx.db.snapshot():
        ctx.db.fetch_all(_ENDLESS)


@pytest.mark.parametrize("run", [endless_statement, endless_snapshot, use_cpu(1_000)])
def test_time_of_a_query_is_limited(
    api: RunningService, monkeypatch: pytest.MonkeyPatch, run: Callable[[QueryContext], None]
) -> None:
    shorten_limit(monkeypatch, 0.5)
    with monkeypatch.context() as patch:
        replace_walk(patch, run)
        for _ in range(3):
            started_at = time.monotonic()
            response = api.get(_HEAVY)
            assert time.monotonic() - started_at < 3
            assert (response.status_code, response.headers["content-type"]) == (503, PROBLEM)
            assert "too long" in response.text or "ask for less" in response.text
    for _ in range(query_slots.MAX_THREADS):
        assert api.get(_HEAVY).status_code == 200


def test_query_without_statements_is_answered_in_time(api: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_limit(monkeypatch, 0.5)
    replace_walk(monkeypatch, lambda _: time.sleep(4))
    started_at = time.monotonic()
    assert api.get(_HEAVY).status_code == 503
    assert time.monotonic() - started_at < 2.5
    assert api.get(_LIGHT).status_code == 200


def test_shutdown_ends_queries(api: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_walk(monkeypatch, use_cpu(1_000))
    with RunningService(api.settings) as stopping:

        async def run() -> asyncio.Task[httpx.Response]:
            query = asyncio.create_task(stopping.client.get(_HEAVY))
            await asyncio.sleep(0.3)
            return query

        stopping.run(run())
        started_at = time.monotonic()
    assert time.monotonic() - started_at < 5


def test_cached_names_are_found_in_constant_time() -> None:
    ids = [number.to_bytes(16, "big") for number in range(30_000)]
    with Store() as store:
        graph = LineageGraph(store.db, "default")
        graph._names.update({name_id: QualifiedName("db", "d") for name_id in ids})
        started_at = time.process_time()
        for name_id in ids:
            graph.dataset_name(name_id)
            graph.job_name(name_id)
        assert time.process_time() - started_at < 2
