"""Measures the sync to OpenMetadata against a stand-in in a separate process.

python -m benchmarks.sync                  1,000 tables, and 30 seconds of events twice; about two minutes
python -m benchmarks.sync --tables 2000 --seconds 10
"""

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.estate import edge_count, estate, job_count, run_event
from benchmarks.intake import cpu_seconds, free_port, serving
from benchmarks.memory import resident_mb
from benchmarks.sync_floor import floor_line
from benchmarks.sync_latency import latency_lines
from benchmarks.walk import load
from bridge.bootstrap.intake import tune_garbage_collector
from bridge.bootstrap.targets import make_reconciler
from bridge.clock import now_micros
from bridge.settings.model import Settings, StoreSettings
from bridge.settings.openmetadata import OpenMetadataSettings
from bridge.store.connect import StoreUrl
from bridge.store.dirty_marks import mark_all
from bridge.sync.reconciler import Reconciler
from bridge.sync.sync_item import SyncItem
from bridge.sync.target import BatchResult
from tests.standins.openmetadata.standin import BOT_TOKEN

_REPEATED_RUNS, _RUNS_PER_SYNC = 1_000, 100
_TIMEOUT = 60.0
_KINDS = {"dataset": "tables", "job": "pipelines", "lineage": "edges"}


class Sample(NamedTuple):
    """Progress of a sync by kind, and its cost so far."""

    pushed: Counter[str]
    at: float
    cpu: float
    standin_cpu: float
    resident_mb: float
    calls: Counter[str]


class Bench:
    """Syncs a store to a stand-in and samples the progress."""

    def __init__(self, settings: Settings, pid: int) -> None:
        self.settings = settings
        self.calls: Counter[str] = Counter()
        self._pid = pid
        self.samples: list[Sample] = []
        self.reconciler: Reconciler = make_reconciler(settings, on_call=lambda kind: self.calls.update([kind]))
        self.reconciler.ignore_intervals()
        self._pushed: Counter[str] = Counter()
        self._count_pushes(self.reconciler.target)

    def _count_pushes(self, target: Any) -> None:
        push = target.push

        def counting_push(kind: str, items: Sequence[SyncItem]) -> BatchResult:
            self._pushed[kind] += len(items)
            return push(kind, items)  # type: ignore[no-any-return]

        target.push = counting_push

    def close(self) -> None:
        """Close the connections."""
        self.reconciler.close()

    def sync(self) -> float:
        """Sync until nothing is due, with a sample before each batch; return the seconds."""
        self._pushed.clear()
        self.samples = []
        self._sample()
        while not self.reconciler.step(self._sample).idle:
            assert time.perf_counter() < self.samples[0].at + 10 * _TIMEOUT, self.reconciler.status()
        self._sample()
        assert self.reconciler.status().converged, self.reconciler.status()
        return self.samples[-1].at - self.samples[0].at

    def _sample(self) -> bool:
        costs = time.process_time(), cpu_seconds(self._pid), resident_mb(os.getpid())
        self.samples.append(Sample(Counter(self._pushed), time.perf_counter(), *costs, Counter(self.calls)))
        return False

    def completion(self, kind: str) -> Sample:
        """First sample after all items of a kind were pushed."""
        return next(sample for sample in self.samples if sample.pushed[kind] == self.samples[-1].pushed[kind])


@contextmanager
def standin() -> Iterator[tuple[str, int]]:
    """Run a stand-in; yield its URL and process id."""
    port = free_port()
    with serving(["-m", "tests.standins.openmetadata", "--port", str(port)], port) as pid:
        yield f"http://127.0.0.1:{port}", pid


def make_settings(store: Path, host: str) -> Settings:
    """Settings with store, host and token only."""
    target: dict[str, Any] = {"server": {"host": host}, "auth": {"jwt_token": BOT_TOKEN}, "enabled": True}
    return Settings(
        store=StoreSettings(url=f"sqlite:///{store}"), openmetadata=OpenMetadataSettings.model_validate(target)
    )


def load_estate(settings: Settings, tables: int) -> None:
    """Write the events in a separate process, so that they do not affect the measured memory."""
    worker = multiprocessing.get_context("spawn").Process(target=_load, args=(settings, tables))
    worker.start()
    worker.join()
    assert worker.exitcode == 0


def _load(settings: Settings, tables: int) -> None:
    load(settings, estate(tables))


def first_lines(bench: Bench, tables: int) -> Iterator[str]:
    """Measure the first sync per kind, and its memory."""
    start = time.perf_counter()
    bench.reconciler.enable()
    yield f"{'all entities marked dirty':34}{time.perf_counter() - start:9.1f} s"
    bench.sync()
    counts = {"dataset": tables, "job": job_count(tables), "lineage": edge_count(tables)}
    before = bench.samples[0]
    for kind, name in _KINDS.items():
        after = bench.completion(kind)
        seconds, count = after.at - before.at, counts[kind]
        cpu, standin_cpu = (1000 * (after[i] - before[i]) / count for i in (2, 3))
        calls = ", ".join(f"{number} {call}" for call, number in sorted((after.calls - before.calls).items()))
        figures = f"{count / seconds:9.0f}/s{seconds:8.1f} s{cpu:9.2f} ms{standin_cpu:9.2f} ms"
        yield f"{f'first sync, {count:,} {name}':34}{figures}   {calls}"
        before = after
    first, last = bench.samples[0], bench.samples[-1]
    cpu, calls_of_sync = 1000 * (last.cpu - first.cpu) / tables, last.calls - first.calls
    figures = f"{tables / (last.at - first.at):9.0f}/s{last.at - first.at:8.1f} s{cpu:9.2f} ms"
    yield f"{'first sync in all, per table':34}{figures}{'':12}   {calls_of_sync.total():,} calls"
    memory = {sample.pushed["dataset"]: sample.resident_mb for sample in bench.samples if not sample.pushed["job"]}
    steps = ", ".join(f"{megabytes:.0f} after {count:,}" for count, megabytes in memory.items())
    yield f"{'resident memory in MB':34}{steps} tables"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield f"{'':34}{bench.samples[-1].resident_mb:.0f} at the end, peak {peak:.0f}"


def unchanged_line(bench: Bench) -> str:
    """Measure a sync of all entities without changes."""
    bench.calls.clear()
    with closing(StoreUrl(bench.settings.store.url).open_for_background_writes(None)) as db:
        mark_all(db, bench.settings.org, "openmetadata", now_micros())
    seconds = bench.sync()
    return f"{'second sync, all marked dirty':34}{'':11}{seconds:8.1f} s   {_format_calls(bench.calls)}"


def repeated_runs_line(bench: Bench) -> str:
    """Measure repeated runs of one job without changes."""
    run_numbers = iter(range(1_000_000_000, 1_000_000_000 + _REPEATED_RUNS + 1))
    _write_runs(bench, run_numbers, 1)
    bench.sync()
    first_calls, seconds = Counter(bench.calls), 0.0
    bench.calls.clear()
    for _ in range(_REPEATED_RUNS // _RUNS_PER_SYNC):
        _write_runs(bench, run_numbers, _RUNS_PER_SYNC)
        seconds += bench.sync()
    calls = f"{_format_calls(bench.calls)} (first run: {_format_calls(first_calls)})"
    return f"{f'{_REPEATED_RUNS:,} equal runs of a job':34}{'':11}{seconds:8.1f} s   {calls}"


def _write_runs(bench: Bench, runs: Iterator[int], count: int) -> None:
    events = (run_event("same", next(runs), [10_000_001, 10_000_002], 10_000_003) for _ in range(count))
    load(bench.settings, map(msgspec.json.encode, events))


def _format_calls(calls: Counter[str]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(calls.items())) or "no calls"


def sync_lines(tables: int, folder: Path) -> Iterator[str]:
    """Measure a first sync, syncs without changes, and the floor."""
    with standin() as (host, pid):
        settings = make_settings(folder / "store.db", host)
        load_estate(settings, tables)
        with closing(Bench(settings, pid)) as bench:
            yield from first_lines(bench, tables)
            table_rate = tables / (bench.completion("dataset").at - bench.samples[0].at)
            yield unchanged_line(bench)
            yield repeated_runs_line(bench)
    with standin() as (host, pid):
        line, floor_rate = floor_line(settings, host, pid)
        yield line
        yield f"  tables are synced at {table_rate / floor_rate:.0%} of the floor"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--seconds", type=int, default=30, help="duration of the latency tests; 0 skips them")
    arguments = parser.parse_args()
    tune_garbage_collector()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':34}{'':11}{'':10}{'our CPU':>12}{'target CPU':>12}   calls")
        for line in sync_lines(arguments.tables, Path(folder)):
            print(line, flush=True)
        if arguments.seconds:
            for line in latency_lines(arguments.seconds, Path(folder)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
