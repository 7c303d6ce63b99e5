"""Measures how the heaviest legal events affect the service: latency of light events and `/healthz`, and memory.

python -m benchmarks.hostile             about five minutes
python -m benchmarks.hostile --quick     the smaller half of the events
"""

import argparse
import gzip
import json
import os
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from benchmarks.intake import free_port, serving

Json = dict[str, Any]
_PRODUCER = "https://example.com/producer"
_HEADERS = {"Content-Type": "application/json"}


class Reading(NamedTuple):
    """Latencies in milliseconds while one event was processed, and memory in megabytes afterwards."""

    name: str
    megabytes: float
    status: int
    acknowledged: float
    merged: float
    health_p99: float
    health_max: float
    event_p99: float
    event_max: float
    peak_memory: float


def _facet(**content: Any) -> Json:
    return {"_producer": _PRODUCER, "_schemaURL": "https://example.com/facet.json", **content}


def _dataset(name: str, **facets: Json) -> Json:
    return {"namespace": "db", "name": name, "facets": facets}


def _event(
    inputs: list[Json] | None = None,
    outputs: list[Json] | None = None,
    *,
    job: str = "heavy",
    run_facets: Json | None = None,
    job_facets: Json | None = None,
) -> bytes:
    return json.dumps(
        {
            "eventType": "COMPLETE", "eventTime": "2026-01-01T00:00:00Z", "producer": _PRODUCER,
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": str(uuid.uuid4()), "facets": run_facets or {}},
            "job": {"namespace": "jobs", "name": job, "facets": job_facets or {}},
            "inputs": inputs or [], "outputs": outputs or [],
        }
    ).encode()  # fmt: skip


def _column_lineage(targets: int, sources: int) -> bytes:
    inputs = [{"namespace": "db", "name": "in", "field": f"f{number}"} for number in range(sources)]
    fields = {f"c{number}": {"inputFields": inputs} for number in range(targets)}
    return _event([_dataset("in")], [_dataset(f"out{targets}", columnLineage=_facet(fields=fields))])


def _symlinks(count: int) -> bytes:
    identifiers = [{"namespace": "db", "name": f"alias{number}", "type": "TABLE"} for number in range(count)]
    return _event(outputs=[_dataset("hub", symlinks=_facet(identifiers=identifiers))])


def _assertions(count: int) -> bytes:
    assertions = [{"assertion": f"a{number}", "success": True, "column": f"c{number}"} for number in range(count)]
    return _event([_dataset("in", dataQualityAssertions=_facet(assertions=assertions))])


def _dependencies(count: int) -> bytes:
    upstream = [{"job": {"namespace": "jobs", "name": f"u{number}"}} for number in range(count)]
    return _event(job_facets={"lineageBridge_jobDependencies": _facet(upstream=upstream)})


def _schema(count: int) -> bytes:
    fields = [{"name": f"c{number}", "type": "string"} for number in range(count)]
    return _event(outputs=[_dataset("wide", schema=_facet(fields=fields))])


def _datasets(count: int) -> bytes:
    return _event([_dataset(f"i{n}") for n in range(count)], [_dataset(f"o{n}") for n in range(count)])


def _raw_facet(megabytes: int) -> bytes:
    return _event(run_facets={"raw": _facet(text="x" * (megabytes << 20))})


def heavy_events() -> Iterator[tuple[str, bytes]]:
    """Yield the heaviest events of each kind, in growing sizes."""
    for size in (50, 100, 150, 200, 220, 300, 430, 780):
        yield f"column lineage {size} x {size}", _column_lineage(size, size)
    for size in (10_000, 40_000, 150_000):
        yield f"column lineage 1 x {size}", _column_lineage(1, size)
    for size in (400, 1_000, 5_000, 9_000, 100_000):
        yield f"symlinks {size}", _symlinks(size)
    for size in (1_000, 10_000, 24_000, 60_000):
        yield f"assertions {size}", _assertions(size)
    for size in (1_000, 10_000, 50_000):
        yield f"job dependencies {size}", _dependencies(size)
    for size in (1_000, 10_000, 100_000):
        yield f"schema {size}", _schema(size)
    for size in (100, 1_000, 5_000):
        yield f"datasets 2 x {size}", _datasets(size)
    for size in (1, 8, 40):
        yield f"raw facet {size} MB", _raw_facet(size)
    for size in (10, 100, 200):
        yield (
            f"{size} runs with column lineage 20 x 20",
            b"[" + b",".join(_column_lineage(20, 20) for _ in range(size)) + b"]",
        )


class Probe(threading.Thread):
    """Sends light events and health checks at a constant rate, and records their latencies."""

    def __init__(self, url: str, kind: str) -> None:
        super().__init__(daemon=True)
        self._client = httpx.Client(base_url=url, timeout=120)
        self._kind = kind
        self._stop_requested = threading.Event()
        self.latencies: list[float] = []

    def run(self) -> None:
        while not self._stop_requested.is_set():
            started_at = time.monotonic()
            if self._kind == "health":
                self._client.get("/healthz").raise_for_status()
            else:
                body = _event([_dataset("small in")], [_dataset("small out")], job="light")
                self._client.post("/api/v1/lineage", content=body, headers=_HEADERS).raise_for_status()
            self.latencies.append((time.monotonic() - started_at) * 1000)
            self._stop_requested.wait(0.01)

    def stop(self) -> list[float]:
        self._stop_requested.set()
        self.join()
        self._client.close()
        return self.latencies


def _memory(pid: int) -> float:
    """Return the resident memory of a process and its children in megabytes."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pages = 0
    for process in (pid, *map(int, children)):
        try:
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except FileNotFoundError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class MemoryWatch(threading.Thread):
    """Records the peak memory of the service."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._stop_requested = threading.Event()
        self.peak = 0.0

    def run(self) -> None:
        while not self._stop_requested.wait(0.02):
            self.peak = max(self.peak, _memory(self._pid))

    def stop(self) -> float:
        self._stop_requested.set()
        self.join()
        return self.peak


def _pending_count(client: httpx.Client) -> int:
    metrics = client.get("/metrics").text
    line = next(line for line in metrics.splitlines() if line.startswith("lineage_bridge_pending_events "))
    return int(float(line.split()[1]))


def measure(url: str, pid: int, name: str, body: bytes) -> Reading:
    """Send one event, and measure until it is merged."""
    probes = {kind: Probe(url, kind) for kind in ("health", "event")}
    memory = MemoryWatch(pid)
    for thread in (*probes.values(), memory):
        thread.start()
    time.sleep(0.3)
    path = "/api/v1/lineage/batch" if body.startswith(b"[") else "/api/v1/lineage"
    started_at = time.monotonic()
    with httpx.Client(base_url=url, timeout=600) as client:
        headers = {**_HEADERS, "Content-Encoding": "gzip"}
        status = client.post(path, content=gzip.compress(body, 1), headers=headers).status_code
        acknowledged = time.monotonic() - started_at
        while _pending_count(client):
            time.sleep(0.05)
        merged = time.monotonic() - started_at
    time.sleep(0.3)
    latencies = {kind: probe.stop() for kind, probe in probes.items()}
    return Reading(
        name, len(body) / 1e6, status, acknowledged * 1000, merged * 1000,
        _p99(latencies["health"]), max(latencies["health"]), _p99(latencies["event"]), max(latencies["event"]),
        memory.stop(),
    )  # fmt: skip


def _p99(latencies: list[float]) -> float:
    return statistics.quantiles(latencies, n=100)[98]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--store", help="store URL instead of a new SQLite store")
    options = parser.parse_args()
    print(
        "| event | MB | status | acknowledged ms | merged ms | healthz p99 (max) ms | events p99 (max) ms | MB used |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        port = free_port()
        store = options.store or f"sqlite:///{folder}/store.db"
        environment = {"LINEAGE_BRIDGE__STORE__URL": store, "LINEAGE_BRIDGE__SERVER__PORT": str(port)}
        command = ["-m", "bridge", "serve"]
        pid = stack.enter_context(serving(command, port, **environment))
        for name, body in heavy_events():
            if options.only not in name or (options.quick and len(body) > 3_000_000):
                continue
            reading = measure(f"http://127.0.0.1:{port}", pid, name, body)
            print(
                f"| {reading.name} | {reading.megabytes:.1f} | {reading.status} | {reading.acknowledged:,.0f} |"
                f" {reading.merged:,.0f} | {reading.health_p99:.0f} ({reading.health_max:.0f}) |"
                f" {reading.event_p99:.0f} ({reading.event_max:.0f}) | {reading.peak_memory:.0f} |"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
