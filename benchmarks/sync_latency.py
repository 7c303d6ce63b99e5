"""Measures the time from accepting an event until its table and edge are in the target."""

import asyncio
import http.client
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.estate import run_event, table_name
from benchmarks.intake import cpu_seconds, free_port, serving
from tests.standins.openmetadata.standin import ADMIN_TOKEN, BOT_TOKEN

_RATE = 100
_CONNECTIONS = 4
#: One event in this many is about a known table.
_REPEATED = 2
_FAILING = 0.05
_TIMEOUT = 120.0
_PAGE = 1_000
_HEAD = (
    b"POST /api/v1/lineage HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)
_SOURCE = 5_000_000


def latency_lines(seconds: int, folder: Path) -> Iterator[str]:
    """Measure with a healthy target, and with one that fails some requests."""
    for name, failing in (("healthy", 0.0), (f"{_FAILING:.0%} of the calls fail", _FAILING)):
        yield from _measure(name, failing, seconds, folder / f"visible-{failing}.db")


def _measure(name: str, failing: float, seconds: int, store: Path) -> Iterator[str]:
    events = _events(seconds * _RATE)
    with ExitStack() as stack:
        target, service = free_port(), free_port()
        command = ["-m", "tests.standins.openmetadata", "--port", str(target), "--failing", str(failing)]
        target_pid = stack.enter_context(serving(command, target))
        settings = {
            "STORE__URL": f"sqlite:///{store}",
            "SERVER__PORT": str(service),
            "OPENMETADATA__ENABLED": "true",
            "OPENMETADATA__SERVER__HOST": f"http://127.0.0.1:{target}",
            "OPENMETADATA__AUTH__JWT_TOKEN": BOT_TOKEN,
        }
        variables = {f"LINEAGE_BRIDGE__{key}": value for key, value in settings.items()}
        service_pid = stack.enter_context(serving(["-m", "bridge", "serve"], service, **variables))
        cpu_before = cpu_seconds(service_pid), cpu_seconds(target_pid)
        accepted = asyncio.run(_send(service, events))
        observer = stack.enter_context(closing(Observer(target)))
        observer.wait(len(accepted))
        yield _line(f"table visible, {name}", observer.tables(accepted))
        yield _line(f"edge visible, {name}", observer.edges(accepted))
        costs = [
            1000 * (cpu_seconds(pid) - before) / len(events)
            for pid, before in zip((service_pid, target_pid), cpu_before, strict=True)
        ]
        counts = f"{len(events):,} events, {len(accepted):,} new tables"
        yield f"  {counts}; CPU per event: service {costs[0]:.1f} ms, target {costs[1]:.1f} ms"


def _events(count: int) -> list[tuple[int | None, bytes]]:
    """Events, each with the number of its table if that is new."""
    events: list[tuple[int | None, bytes]] = []
    for number in range(count):
        repeated = number % _REPEATED == _REPEATED - 1
        target = number - _REPEATED // 2 if repeated else number
        event = run_event(f"load {target}", number, [_SOURCE], target)
        events.append((None if repeated else target, msgspec.json.encode(event)))
    return events


async def _send(port: int, events: list[tuple[int | None, bytes]]) -> dict[int, float]:
    """Send events at a constant rate; return the time when each new table was accepted."""
    accepted: dict[int, float] = {}
    start = time.perf_counter()

    async def connection(first: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for index in range(first, len(events), _CONNECTIONS):
            await asyncio.sleep(max(0.0, start + index / _RATE - time.perf_counter()))
            number, body = events[index]
            writer.write(_HEAD % len(body) + body)
            status = await reader.readuntil(b"\r\n\r\n")
            assert b" 201 " in status, status
            if number is not None:
                accepted[number] = time.time()
        writer.close()

    await asyncio.gather(*map(connection, range(_CONNECTIONS)))
    return accepted


class Observer:
    """Reads creation times from the stand-in, which uses the clock of this machine."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT)
        self._tables: dict[str, dict[str, Any]] = {}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def wait(self, count: int) -> None:
        """Wait until all tables and their common source exist."""
        deadline = time.monotonic() + _TIMEOUT
        while self._get("/tables?limit=0")["paging"]["total"] < count + 1:
            assert time.monotonic() < deadline, "tables are missing"
            time.sleep(0.5)
        after: str | None = ""
        while after is not None:
            page = self._get(f"/tables?limit={_PAGE}" + (f"&after={after}" if after else ""))
            self._tables |= {table["name"]: table for table in page["data"]}
            after = page["paging"].get("after")

    def tables(self, accepted: dict[int, float]) -> list[float]:
        """Seconds until each table existed."""
        tables = {number: self._tables[table_name(number)] for number in accepted}
        assert all(table["version"] == _FIRST_VERSION for table in tables.values()), "a table was changed"
        return [tables[number]["updatedAt"] / 1000 - accepted_at for number, accepted_at in accepted.items()]

    def edges(self, accepted: dict[int, float]) -> list[float]:
        """Seconds until each edge existed."""
        source = self._tables[table_name(_SOURCE)]["id"]
        latencies = []
        for number, accepted_at in accepted.items():
            path = f"/lineage/getLineageEdge/{source}/{self._tables[table_name(number)]['id']}"
            edge = self._await(lambda path=path: self._get(path).get("edge"))  # type: ignore[misc]
            latencies.append(edge["createdAt"] / 1000 - accepted_at)
        return latencies

    def _await(self, read: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + _TIMEOUT
        while not (result := read()):
            assert time.monotonic() < deadline, "an edge is missing"
            time.sleep(0.2)
        return result

    def _get(self, path: str) -> dict[str, Any]:
        """Repeat until a request succeeds: the target also fails requests of this client."""
        while True:
            try:
                self._connection.request("GET", f"/api/v1{path}", headers={"Authorization": f"Bearer {ADMIN_TOKEN}"})
                response = self._connection.getresponse()
                body = response.read()
            except (http.client.HTTPException, ConnectionError):
                self._connection.close()
                continue
            if response.status in (200, 404):
                return dict(msgspec.json.decode(body))


_FIRST_VERSION = 0.1


def _line(name: str, latencies: list[float]) -> str:
    percentiles = statistics.quantiles(latencies, n=100)
    return f"{name:44} p50 {percentiles[49]:6.2f} s   p99 {percentiles[98]:6.2f} s   max {max(latencies):6.2f} s"
