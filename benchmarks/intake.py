"""Measures the intake: events per second, latency, CPU and bytes per event, and floors for comparison.

python -m benchmarks.intake            all events, about two minutes
python -m benchmarks.intake --quick    a tenth of the events
"""

import argparse
import asyncio
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.events import new_events, real_events
from benchmarks.floor import appender, raw
from bridge.bootstrap.intake import make_async_reader, make_event_reader, make_file_follower, tune_garbage_collector
from bridge.bootstrap.store import make_writer
from bridge.intake.child_process import ChildProcess
from bridge.intake.file_ingester import FileIngester
from bridge.intake.group_commit import GroupCommitter
from bridge.log import configure_log
from bridge.settings.model import LogSettings, Settings, StoreSettings
from tests.postgres import Server, bin_folder, running_server

_GROUP = 500
_HEAD = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Measurement(NamedTuple):
    """One line of the result."""

    name: str
    per_second: float
    p50: float = 0.0
    p99: float = 0.0
    cpu_micros: float = 0.0


@contextmanager
def serving(command: list[str], port: int, **environment: str) -> Iterator[int]:
    """Run a server; yield its process id."""
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, *command], env=os.environ | environment, **streams)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.02)
    try:
        time.sleep(0.3)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """Find an unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cpu_seconds(pid: int) -> float:
    """CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Target(NamedTuple):
    """Where to send events, and the expected status."""

    port: int
    path: bytes = b"/api/v1/lineage"
    accepted: tuple[bytes, ...] = (b" 201 ",)


async def _connection(target: Target, bodies: list[bytes], delays: list[float], latencies: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    start = time.perf_counter()
    for body, delay in zip(bodies, delays, strict=True):
        wait = start + delay - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        due = start + delay if delay else time.perf_counter()
        writer.write(_HEAD % (target.path, len(body)) + body)
        status = await reader.readuntil(b"\r\n\r\n")
        assert any(code in status for code in target.accepted), status
        latencies.append(time.perf_counter() - due)
    writer.close()


async def _send(
    targets: list[Target], bodies: list[bytes], connections: int, rate: float
) -> tuple[float, list[float]]:
    latencies: list[float] = []
    parts = [bodies[i::connections] for i in range(connections)]
    gaps = [[(n * connections + i) / rate if rate else 0.0 for n in range(len(p))] for i, p in enumerate(parts)]
    start = time.perf_counter()
    sending = enumerate(zip(parts, gaps, strict=True))
    await asyncio.gather(*(_connection(targets[i % len(targets)], p, g, latencies) for i, (p, g) in sending))
    return time.perf_counter() - start, latencies


def post(
    name: str, targets: list[Target], pids: list[int], events: list[bytes], connections: int,
    *, rate: float = 0, batch: int = 1,
) -> Measurement:  # fmt: skip
    """Send events over HTTP at a rate or as fast as possible, to several services in turn."""
    bodies = (
        events
        if batch == 1
        else [b"[" + b",".join(events[i : i + batch]) + b"]" for i in range(0, len(events), batch)]
    )
    before = sum(map(cpu_seconds, pids))
    seconds, latencies = asyncio.run(_send(targets, bodies, connections, rate))
    percentiles = statistics.quantiles(latencies, n=100)
    cpu = (sum(map(cpu_seconds, pids)) - before) / len(events) * 1e6
    return Measurement(name, len(events) / seconds, percentiles[49] * 1e3, percentiles[98] * 1e3, cpu)


def http_lines(kind: str, warm: list[bytes], events: list[bytes], folder: Path) -> Iterator[Measurement]:
    """Measure the service on a new store, then the floors."""
    quarter = len(events) // 4
    first, second, third, fourth = (events[i * quarter : (i + 1) * quarter] for i in range(4))
    with services(1, f"sqlite:///{folder / kind}.db") as (targets, pids):
        post("", targets, pids, warm, 8)
        yield post(f"{kind}, 1 connection", targets, pids, first, 1)
        full = post(f"{kind}, 8 connections", targets, pids, second, 8)
        yield full
        yield post(f"{kind}, 8 connections, half load", targets, pids, third, 8, rate=full.per_second / 2)
        batches = [target._replace(path=b"/api/v1/lineage/batch", accepted=(b" 204 ",)) for target in targets]
        yield post(f"{kind}, batches of 100, 2 connections", batches, pids, fourth, 2, batch=100)
    for floor, path in (("parses only", ""), ("appends only", str(folder / f"{kind}-floor.db"))):
        port = free_port()
        with serving(["-m", "benchmarks.floor", str(port), path], port) as pid:
            post("", [Target(port)], [pid], warm, 8)
            yield post(f"  floor, {floor}, 8 connections", [Target(port)], [pid], first, 8)


@contextmanager
def services(count: int, store: str) -> Iterator[tuple[list[Target], list[int]]]:
    """Run services on one store."""
    with ExitStack() as stack:
        targets, pids = [], []
        for _ in range(count):
            port = free_port()
            settings = {"LINEAGE_BRIDGE__STORE__URL": store, "LINEAGE_BRIDGE__SERVER__PORT": str(port)}
            pids.append(stack.enter_context(serving(["-m", "bridge", "serve"], port, **settings)))
            targets.append(Target(port))
        yield targets, pids


def postgres_lines(kind: str, warm: list[bytes], events: list[bytes], server: Server) -> Iterator[Measurement]:
    """Measure one and two services on a local PostgreSQL with fsync."""
    half = len(events) // 2
    for count, part in ((1, events[:half]), (2, events[half:])):
        url = server.new_database(f"{kind.split(maxsplit=1)[0]}_{count}".lower())
        with services(count, url) as (targets, pids):
            post("", targets, pids, warm, 8)
            processes = "one process" if count == 1 else "two processes"
            yield post(f"{kind}, PostgreSQL, {processes}, 8 connections each", targets, pids, part, 8 * count)


def tail_line(kind: str, events: list[bytes], folder: Path) -> Measurement:
    """Measure the tailer on a complete file."""
    path = folder / f"{kind}-tailed.ndjson"
    path.write_bytes(b"\n".join(events) + b"\n")
    settings = Settings(store=StoreSettings(url=f"sqlite:///{folder / kind}-tail.db"))

    configure_log(LogSettings(level="warning"))

    async def tail() -> int:
        writer, ingested = make_writer(settings), []
        intake = settings.intake
        committer = GroupCommitter(writer, max_group=intake.max_group, max_pending=intake.max_waiting)
        reader = make_async_reader(settings, ChildProcess(settings.log))
        await make_file_follower(settings, [str(path)], reader, committer, ingested.append).read_all()
        await committer.close()
        writer.close()
        return len(ingested)

    start, cpu_start = time.perf_counter(), time.process_time()
    assert asyncio.run(tail()) == len(events)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    return Measurement(f"{kind}, tailed file", len(events) / seconds, cpu_micros=cpu / len(events) * 1e6)


def file_lines(kind: str, events: list[bytes], folder: Path) -> Iterator[Measurement]:
    """Measure ingest of a file, then the floor."""
    path = folder / f"{kind}.ndjson"
    path.write_bytes(b"\n".join(events))
    tune_garbage_collector()
    settings = Settings(store=StoreSettings(url=f"sqlite:///{folder / kind}-file.db"))
    ingester = FileIngester(make_event_reader(settings), make_writer(settings))
    start, cpu_start = time.perf_counter(), time.process_time()
    report = ingester.ingest_file(path)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    assert report.accepted == len(events)
    yield Measurement(f"{kind}, file", len(events) / seconds, cpu_micros=cpu / len(events) * 1e6)
    writer = appender(folder / f"{kind}-file-floor.db")
    start, cpu_start = time.perf_counter(), time.process_time()
    lines = path.read_bytes().splitlines()
    for i in range(0, len(lines), _GROUP):
        writer.write([raw(line) for line in lines[i : i + _GROUP]])
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    yield Measurement("  floor, parses and appends, file", len(events) / seconds, cpu_micros=cpu / len(events) * 1e6)


def bytes_per_event(events: list[bytes], repeated: list[bytes], folder: Path) -> tuple[float, float]:
    """Measure the growth of the store by new events, and by new runs of known jobs."""
    sizes = []
    settings = Settings(store=StoreSettings(url=f"sqlite:///{folder / 'size.db'}"))
    reader, writer = make_event_reader(settings), make_writer(settings)
    path = folder / "size.db"
    for batch in ([], events, repeated):
        for i in range(0, len(batch), _GROUP):
            writer.write([reader.read(event, "benchmark") for event in batch[i : i + _GROUP]])
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sizes.append(path.stat().st_size)
    writer.close()
    return (sizes[1] - sizes[0]) / len(events), (sizes[2] - sizes[1]) / len(repeated)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    scale = 10 if parser.parse_args().quick else 1
    real, new = real_events(12_000 // scale), new_events(8_000 // scale, start=1_000_000)
    print(f"{'':52}{'events/s':>10}{'p50 ms':>9}{'p99 ms':>9}{'CPU us':>9}")
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        for kind, warm, events in (("real Spark", real_events(400), real), ("all new", new_events(200), new)):
            for lines in (
                http_lines(kind, warm, events, directory),
                file_lines(kind, events[: len(events) * 3 // 4], directory),
            ):
                _print(*lines)
            _print(tail_line(kind, events[: len(events) // 2], directory))
        new_bytes, repeated_bytes = bytes_per_event(new, [_rerun(event) for event in new], directory)
        print(f"store bytes per event: all new {new_bytes:.0f}, new run of a known job {repeated_bytes:.0f}")
    if bin_folder() is None:
        print("PostgreSQL is not installed: skipped")
        return
    with running_server("fsync=on", "shared_buffers=256MB") as server:
        for kind, warm, events in (("real Spark", real_events(400), real), ("all new", new_events(200), new)):
            _print(*postgres_lines(kind, warm, events[: len(events) // 2], server))


def _print(*lines: Measurement) -> None:
    for line in lines:
        latency = f"{line.p50:9.2f}{line.p99:9.2f}" if line.p50 else " " * 18
        print(f"{line.name:52}{line.per_second:10.0f}{latency}{line.cpu_micros:9.0f}", flush=True)


def _rerun(event: bytes) -> bytes:
    return event.replace(b"-0000-7000-8000-", b"-0000-7000-9000-").replace(b'"2027-01-01T', b'"2027-01-02T')


if __name__ == "__main__":
    main()
