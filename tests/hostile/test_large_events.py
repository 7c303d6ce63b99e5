"""A large event delays nobody: it is read in a child process, and merged in slices after it was acknowledged."""

import asyncio
import hashlib
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import zstandard

from bridge.errors import TooManyRequests
from bridge.intake.child_process import CallFailed, ChildProcess
from bridge.intake.fair_turns import FairTurns
from bridge.intake.large_events import LARGE_BYTES
from bridge.intake.pending_events import PendingEvents
from bridge.settings.model import LogSettings
from bridge.store.event_log import PENDING, EventKey
from tests import factories as make
from tests.api.service import RunningService, settings_for
from tests.factories import dataset, run_event
from tests.stores import as_bytes

Json = dict[str, Any]


def wide_event(columns: int, run: int = 1) -> Json:
    """Build an event with the square of this number of column edges."""
    sources = [make.field("in", f"c{number}") for number in range(columns)]
    lineage = make.columns({f"c{number}": sources for number in range(columns)})
    return run_event("COMPLETE", 1, run=run, inputs=[dataset("in")], outputs=[dataset("out", columnLineage=lineage)])


@pytest.fixture
def process() -> Iterator[ChildProcess]:
    process = ChildProcess(LogSettings())
    yield process
    process.close()


def test_event_with_many_rows_is_pending_until_it_is_merged(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path)) as running:
        assert len(as_bytes(wide_event(50))) < LARGE_BYTES
        assert running.post(wide_event(50)).status_code == 201
        assert running.rows("SELECT failure FROM run_event") == [(PENDING,)]
        running.wait_until_merged()
        assert running.rows("SELECT failure FROM run_event") == [(None,)]
        assert running.rows("SELECT count(*), sum(is_active) FROM column_lineage") == [(2_500, 2_500)]


def test_others_are_served_while_a_large_event_is_read_and_merged(tmp_path: Path) -> None:
    event = as_bytes(wide_event(200))
    assert len(event) > LARGE_BYTES

    async def send_beside_others(running: RunningService) -> list[float]:
        large = asyncio.create_task(running.send(event))
        latencies = []
        is_merged = False
        for number in range(1_000):
            started_at = time.monotonic()
            assert (await running.client.get("/healthz")).status_code == 200
            assert (await running.send(run_event(run=number + 2, job="light"))).status_code == 201
            latencies.append(time.monotonic() - started_at)
            if large.done() and number % 10 == 0:
                is_merged = running.rows("SELECT 1 FROM run_event WHERE failure IS NOT NULL") == []
            if is_merged:
                break
            await asyncio.sleep(0.005)
        assert is_merged
        assert (await large).status_code == 201
        return latencies

    with RunningService(settings_for(tmp_path)) as running:
        latencies = sorted(running.run(send_beside_others(running)))
        assert running.rows("SELECT count(*) FROM column_lineage") == [(40_000,)]
        assert latencies[int(len(latencies) * 0.95)] < 0.25, latencies[-20:]


def test_event_with_too_many_rows_is_kept_with_the_reason(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path, intake={"max_rows": 1_000})) as running:
        assert running.post(wide_event(40)).status_code == 201
        ((failure, rows),) = running.rows("SELECT failure, (SELECT count(*) FROM column_lineage) FROM run_event")
        assert failure.startswith("the event maps to 1614 rows, and the limit is 1000: raise intake.max_rows")
        assert rows == 0


def test_pending_events_of_an_earlier_process_are_merged(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with RunningService(settings) as running:
        running.run(running.service.large_events.stop())  # type: ignore[union-attr]
        assert running.post(wide_event(50)).status_code == 201
        assert running.rows("SELECT failure FROM run_event") == [(PENDING,)]
    with RunningService(settings) as running:
        running.wait_until_merged()
        assert running.rows("SELECT failure FROM run_event") == [(None,)]


def test_killed_child_process_does_not_lose_the_event(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path)) as running:
        child = running.service.child_process
        assert child is not None
        child.call(len, b"")
        assert child._process is not None
        os.kill(child._process.pid, signal.SIGKILL)
        assert running.post(wide_event(100)).status_code == 201


def test_memory_of_the_child_process_is_limited(process: ChildProcess) -> None:
    with pytest.raises(CallFailed, match="MemoryError"):
        process.call(bytes, 2 << 30)
    assert process.call(len, b"abc") == 3


def test_child_process_ends_after_a_very_large_request(process: ChildProcess) -> None:
    first_id = process.call(os.getpid)
    assert process.call(os.getpid) == first_id
    assert process.call(len, bytes(5 << 20)) == 5 << 20
    assert process.call(os.getpid) != first_id


def test_closing_ends_a_call(process: ChildProcess) -> None:
    with ThreadPoolExecutor(1) as executor:
        call = executor.submit(process.call, time.sleep, 60)
        time.sleep(0.5)
        process.close()
        with pytest.raises(Exception, match="the service is stopping"):
            call.result(5)


def test_keys_take_turns() -> None:
    order: list[str] = []

    async def take_turn(turns: FairTurns, key: str, name: str) -> None:
        async with turns.turn(key):
            order.append(name)
            await asyncio.sleep(0)

    async def run() -> None:
        turns = FairTurns(max_waiting_per_key=3)
        async with turns.turn("greedy"):
            tasks = [asyncio.create_task(take_turn(turns, "greedy", f"greedy {number}")) for number in range(3)]
            tasks.append(asyncio.create_task(take_turn(turns, "modest", "modest")))
            await asyncio.sleep(0)
            with pytest.raises(TooManyRequests):
                await take_turn(turns, "greedy", "refused")
            tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await take_turn(turns, "modest", "later")

    asyncio.run(run())
    assert order == ["greedy 0", "modest", "greedy 2", "later"]


def test_pending_events_are_taken_in_turn() -> None:
    events = PendingEvents()
    events.add("greedy", [EventKey(number, b"") for number in range(3)])
    events.add("modest", [EventKey(9, b"")])
    taken = []
    for _ in range(4):
        with events.take() as event:
            assert event is not None
            assert events.total() == 4 - len(taken)
            taken.append(event.micros)
    assert taken == [0, 9, 1, 2]
    assert events.total() == 0


def test_one_key_fills_only_half_of_the_queue(tmp_path: Path) -> None:
    keys = [
        {"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "scopes": ["ingest"]}
        for name in ("greedy", "modest")
    ]
    senders = ["greedy"] * 30 + ["modest"] * 5

    async def flood(running: RunningService) -> list[httpx.Response]:
        return await asyncio.gather(
            *(
                running.send(run_event(run=number), authorization=f"Bearer {sender}")
                for number, sender in enumerate(senders)
            )
        )

    with RunningService(settings_for(tmp_path, server={"api_keys": keys}, intake={"max_waiting": 20})) as running:
        responses = running.run(flood(running))
    assert [response.status_code for response in responses] == [201] * 10 + [429] * 20 + [201] * 5
    assert responses[10].headers["retry-after"]


def test_secrets_of_a_large_event_are_not_stored(tmp_path: Path) -> None:
    event = wide_event(100)
    event["run"]["facets"]["spark_properties"] = make.facet(
        properties={"db.password": "PW1234"}, text="x" * LARGE_BYTES
    )
    with RunningService(settings_for(tmp_path)) as running:
        assert running.post(event).status_code == 201
        assert running.post(b'{"password": "PW1234", "text": "' + b"x" * LARGE_BYTES).status_code == 400
        running.wait_until_merged()
        payloads = running.rows("SELECT payload FROM run_event UNION ALL SELECT payload FROM rejected_event")
        texts = [zstandard.decompress(payload) for (payload,) in payloads]
        assert [len(text) > LARGE_BYTES for text in texts] == [True, True]
        assert not any(b"PW1234" in text for text in texts)
        ((size,),) = running.rows("SELECT payload_size FROM rejected_event")
        assert size > LARGE_BYTES


@pytest.mark.parametrize(
    ("event", "failure", "note"),
    [
        (
            run_event(run_facets={"raw": make.facet(text="x" * (5 << 20))}),
            None,
            "facet raw has 5242891 characters: kept only in the event",
        ),
        (
            run_event(outputs=[dataset("t", documentation=make.facet(description="x" * (9 << 20)))]),
            "the event contains a value of 9437",
            "",
        ),
    ],
    ids=["facet", "description"],
)
def test_large_values_are_kept_only_in_the_event(tmp_path: Path, event: Json, failure: str | None, note: str) -> None:
    with RunningService(settings_for(tmp_path)) as running:
        assert running.post(event).status_code == 201
        running.wait_until_merged()
        ((stored_failure, notes, count),) = running.rows(
            "SELECT failure, notes_json, (SELECT count(*) FROM ol_run) FROM run_event"
        )
        assert (stored_failure or "").startswith(failure or "")
        assert note in (notes or "")
        assert count == (failure is None)


def test_event_with_many_bytes_is_merged_in_slices(tmp_path: Path) -> None:
    facets = {f"facet{number}": make.facet(text="x" * (1 << 20)) for number in range(5)}
    with RunningService(settings_for(tmp_path)) as running:
        assert running.post(run_event(run_facets=facets)).status_code == 201
        assert running.rows("SELECT failure FROM run_event") == [(PENDING,)]
        running.wait_until_merged()
        assert running.rows("SELECT count(*) FROM facet WHERE length(body) > 1000000") == [(5,)]
