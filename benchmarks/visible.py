"""Measures how long an event takes from its acceptance until its table, and its edge, are in the target."""

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
#: One event in so many tells of a table that is known.
_REPEATED = 2
_FAILING = 0.05
#: How long is waited for what is missing.
_PATIENCE = 120.0
_PAGE = 1_000
_HEAD = b"POST /api/v1/lineage HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_SOURCE = 5_000_000


def visible_lines(seconds: int, folder: Path) -> Iterator[str]:
    """Measure with a target that does its work, and with one that fails now and then."""
    for name, failing in (("healthy", 0.0), (f"{_FAILING:.0%} of the calls fail", _FAILING)):
        yield from _measured(name, failing, seconds, folder / f"visible-{failing}.db")


def _measured(name: str, failing: float, seconds: int, store: Path) -> Iterator[str]:
    events = _events(seconds * _RATE)
    with ExitStack() as stack:
        target, service = free_port(), free_port()
        command = ["-m", "tests.standins.openmetadata", "--port", str(target), "--failing", str(failing)]
        there = stack.enter_context(serving(command, target))
        settings = {
            "STORE__URL": f"sqlite:///{store}",
            "SERVER__PORT": str(service),
            "OPENMETADATA__ENABLED": "true",
            "OPENMETADATA__SERVER__HOST": f"http://127.0.0.1:{target}",
            "OPENMETADATA__AUTH__JWT_TOKEN": BOT_TOKEN,
        }
        named = {f"LINEAGE_BRIDGE__{key}": value for key, value in settings.items()}
        ours = stack.enter_context(serving(["-m", "bridge", "serve"], service, **named))
        before = cpu_seconds(ours), cpu_seconds(there)
        accepted = asyncio.run(_send(service, events))
        observer = stack.enter_context(closing(Observer(target)))
        observer.wait(len(accepted))
        yield _line(f"table visible, {name}", observer.tables(accepted))
        yield _line(f"edge visible, {name}", observer.edges(accepted))
        costs = [
            1000 * (cpu_seconds(pid) - was) / len(events) for pid, was in zip((ours, there), before, strict=True)
        ]
        told = f"{len(accepted):,} new tables of {len(events):,} events"
        yield f"  {told}; CPU an event: {costs[0]:.1f} ms of ours, {costs[1]:.1f} ms of its"


def _events(count: int) -> list[tuple[int | None, bytes]]:
    """Make events, each with the number of its table if that is new."""
    made: list[tuple[int | None, bytes]] = []
    for number in range(count):
        known = number % _REPEATED == _REPEATED - 1
        target = number - _REPEATED // 2 if known else number
        event = run_event(f"load {target}", number, [_SOURCE], target)
        made.append((None if known else target, msgspec.json.encode(event)))
    return made


async def _send(port: int, events: list[tuple[int | None, bytes]]) -> dict[int, float]:
    """Send events at an even rate; gives when each new table was accepted."""
    accepted: dict[int, float] = {}
    begun = time.perf_counter()

    async def connection(first: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for at in range(first, len(events), _CONNECTIONS):
            await asyncio.sleep(max(0.0, begun + at / _RATE - time.perf_counter()))
            number, body = events[at]
            writer.write(_HEAD % len(body) + body)
            status = await reader.readuntil(b"\r\n\r\n")
            assert b" 201 " in status, status
            if number is not None:
                accepted[number] = time.time()
        writer.close()

    await asyncio.gather(*map(connection, range(_CONNECTIONS)))
    return accepted


class Observer:
    """Asks a stand-in when it was told of things: it stamps what it makes, so nobody needs to watch it.

    What it makes can be read at once, on the same clock as ours.
    """

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
        self._tables: dict[str, dict[str, Any]] = {}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def wait(self, count: int) -> None:
        """Wait until all tables are there, with the one that they are made of."""
        deadline = time.monotonic() + _PATIENCE
        while self._get("/tables?limit=0")["paging"]["total"] < count + 1:
            assert time.monotonic() < deadline, "tables are missing"
            time.sleep(0.5)
        after: str | None = ""
        while after is not None:
            page = self._get(f"/tables?limit={_PAGE}" + (f"&after={after}" if after else ""))
            self._tables |= {one["name"]: one for one in page["data"]}
            after = page["paging"].get("after")

    def tables(self, accepted: dict[int, float]) -> list[float]:
        """Give the seconds until each table was there; none was changed since."""
        made = {number: self._tables[table_name(number)] for number in accepted}
        assert all(one["version"] == _FIRST for one in made.values())
        return [made[number]["updatedAt"] / 1000 - at for number, at in accepted.items()]

    def edges(self, accepted: dict[int, float]) -> list[float]:
        """Give the seconds until each edge was there."""
        source = self._tables[table_name(_SOURCE)]["id"]
        took = []
        for number, at in accepted.items():
            path = f"/lineage/getLineageEdge/{source}/{self._tables[table_name(number)]['id']}"
            made = self._await(lambda path=path: self._get(path).get("edge"))  # type: ignore[misc]
            took.append(made["createdAt"] / 1000 - at)
        return took

    def _await(self, ask: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + _PATIENCE
        while not (found := ask()):
            assert time.monotonic() < deadline, "an edge is missing"
            time.sleep(0.2)
        return found

    def _get(self, path: str) -> dict[str, Any]:
        """Ask until there is an answer: what fails for the service fails for us, too."""
        while True:
            try:
                self._connection.request("GET", f"/api/v1{path}", headers={"Authorization": f"Bearer {ADMIN_TOKEN}"})
                answer = self._connection.getresponse()
                body = answer.read()
            except (http.client.HTTPException, ConnectionError):
                self._connection.close()
                continue
            if answer.status in (200, 404):
                return dict(msgspec.json.decode(body))


_FIRST = 0.1


def _line(name: str, took: list[float]) -> str:
    centiles = statistics.quantiles(took, n=100)
    return f"{name:44} p50 {centiles[49]:6.2f} s   p99 {centiles[98]:6.2f} s   at most {max(took):6.2f} s"
