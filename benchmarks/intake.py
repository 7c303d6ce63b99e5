"""Measures the intake: events a second, latency, CPU and bytes an event, beside floors of the same run.

python benchmarks/intake.py            everything, about a minute
python benchmarks/intake.py --quick    a tenth of the events
"""

import argparse
import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.events import new_events, real_events
from benchmarks.floor import appender, raw
from bridge.bootstrap import calm_collector, make_reader, make_writer
from bridge.intake.ingest import Ingestion
from bridge.settings import Settings, StoreSettings

_GROUP = 500
_HEAD = b"POST /api/v1/lineage HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Measured(NamedTuple):
    """One line of the result."""

    name: str
    per_second: float
    p50: float = 0.0
    p99: float = 0.0
    cpu_micros: float = 0.0


@contextmanager
def serving(command: list[str], port: int, **environment: str) -> Iterator[int]:
    """Run a server until the block ends; gives its process id."""
    process = subprocess.Popen([sys.executable, *command], env=os.environ | environment, stderr=subprocess.DEVNULL)
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
    """Find a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cpu_seconds(pid: int) -> float:
    """Read the CPU time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _connection(port: int, events: list[bytes], delays: list[float], latencies: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begun = time.perf_counter()
    for body, delay in zip(events, delays, strict=True):
        wait = begun + delay - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        due = begun + delay if delay else time.perf_counter()
        writer.write(_HEAD % len(body) + body)
        status = await reader.readuntil(b"\r\n\r\n")
        assert b" 201 " in status.split(b"\r\n", 1)[0], status
        latencies.append(time.perf_counter() - due)
    writer.close()


async def _send(port: int, events: list[bytes], connections: int, rate: float) -> tuple[float, list[float]]:
    latencies: list[float] = []
    parts = [events[i::connections] for i in range(connections)]
    gaps = [[(n * connections + i) / rate if rate else 0.0 for n in range(len(p))] for i, p in enumerate(parts)]
    begun = time.perf_counter()
    await asyncio.gather(*(_connection(port, p, g, latencies) for p, g in zip(parts, gaps, strict=True)))
    return time.perf_counter() - begun, latencies


def post(name: str, port: int, pid: int, events: list[bytes], connections: int, rate: float = 0) -> Measured:
    """Send events over HTTP as fast as they are answered, or at a rate."""
    before = cpu_seconds(pid)
    seconds, latencies = asyncio.run(_send(port, events, connections, rate))
    centiles = statistics.quantiles(latencies, n=100)
    cpu = (cpu_seconds(pid) - before) / len(events) * 1e6
    return Measured(name, len(events) / seconds, centiles[49] * 1e3, centiles[98] * 1e3, cpu)


def http_lines(kind: str, warm: list[bytes], events: list[bytes], folder: Path) -> Iterator[Measured]:
    """Measure the service on a store of its own, then the floors."""
    half = len(events) // 3
    store = folder / f"{kind}.db"
    port = free_port()
    environment = {"LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{store}", "LINEAGE_BRIDGE__SERVER__PORT": str(port)}
    with serving(["-m", "bridge", "serve"], port, **environment) as pid:
        post("", port, pid, warm, 8)
        yield post(f"{kind}, 1 connection", port, pid, events[:half], 1)
        full = post(f"{kind}, 8 connections", port, pid, events[half : 2 * half], 8)
        yield full
        yield post(f"{kind}, 8 connections, half load", port, pid, events[2 * half :], 8, full.per_second / 2)
    for floor, path in (("parses only", ""), ("appends only", str(folder / f"{kind}-floor.db"))):
        port = free_port()
        with serving(["-m", "benchmarks.floor", str(port), path], port) as pid:
            post("", port, pid, warm, 8)
            yield post(f"  floor, {floor}, 8 connections", port, pid, events[:half], 8)


def file_lines(kind: str, events: list[bytes], folder: Path) -> Iterator[Measured]:
    """Measure the ingestion of a file, then the floor."""
    path = folder / f"{kind}.ndjson"
    path.write_bytes(b"\n".join(events))
    calm_collector()
    settings = Settings(store=StoreSettings(url=f"sqlite:///{folder / kind}-file.db"))
    ingestion = Ingestion(make_reader(settings), make_writer(settings))
    begun, cpu = time.perf_counter(), time.process_time()
    report = ingestion.file(path)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    assert report.accepted == len(events)
    yield Measured(f"{kind}, file", len(events) / seconds, cpu_micros=cpu / len(events) * 1e6)
    writer = appender(folder / f"{kind}-file-floor.db")
    begun, cpu = time.perf_counter(), time.process_time()
    lines = path.read_bytes().splitlines()
    for i in range(0, len(lines), _GROUP):
        writer.write([raw(line) for line in lines[i : i + _GROUP]])
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    yield Measured("  floor, parses and appends, file", len(events) / seconds, cpu_micros=cpu / len(events) * 1e6)


def bytes_per_event(events: list[bytes], again: list[bytes], folder: Path) -> tuple[float, float]:
    """Measure how much the store grows by new events, and by events that repeat what is known as new runs."""
    sizes = []
    settings = Settings(store=StoreSettings(url=f"sqlite:///{folder / 'size.db'}"))
    reader, writer = make_reader(settings), make_writer(settings)
    path = folder / "size.db"
    for batch in ([], events, again):
        for i in range(0, len(batch), _GROUP):
            writer.write([reader.read(event, "benchmark") for event in batch[i : i + _GROUP]])
        writer.checkpoint()
        sizes.append(path.stat().st_size)
    return (sizes[1] - sizes[0]) / len(events), (sizes[2] - sizes[1]) / len(again)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    scale = 10 if parser.parse_args().quick else 1
    real, new = real_events(9_000 // scale), new_events(6_000 // scale, start=1_000_000)
    print(f"{'':44}{'events/s':>10}{'p50 ms':>9}{'p99 ms':>9}{'CPU us':>9}")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for kind, warm, events in (("real Spark", real_events(400), real), ("all new", new_events(200), new)):
            for lines in (http_lines(kind, warm, events, home), file_lines(kind, events, home)):
                for m in lines:
                    latency = f"{m.p50:9.2f}{m.p99:9.2f}" if m.p50 else " " * 18
                    print(f"{m.name:44}{m.per_second:10.0f}{latency}{m.cpu_micros:9.0f}", flush=True)
        fresh, repeat = bytes_per_event(new, [_rerun(event) for event in new], home)
        print(f"store bytes an event: all new {fresh:.0f}, a repeat as a new run {repeat:.0f}")


def _rerun(event: bytes) -> bytes:
    return event.replace(b"-0000-7000-8000-", b"-0000-7000-9000-").replace(b'"2027-01-01T', b'"2027-01-02T')


if __name__ == "__main__":
    main()
