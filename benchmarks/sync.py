"""Measures how fast OpenMetadata is brought to what the store says, against a stand-in in a process of its own.

python -m benchmarks.sync                  10,000 tables, and 30 seconds of events twice; some three minutes
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

from benchmarks.estate import estate, jobs_of, run_event
from benchmarks.intake import cpu_seconds, free_port, serving
from benchmarks.memory import resident_mb
from benchmarks.sync_floor import floor_line
from benchmarks.visible import visible_lines
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

_SAME_RUNS, _A_ROUND = 1_000, 100
_PATIENCE = 60.0
_KINDS = {"dataset": "tables", "job": "pipelines", "lineage": "edges"}


class Sample(NamedTuple):
    """How far a sync is, by kinds, and what it has cost."""

    pushed: Counter[str]
    at: float
    cpu: float
    there_cpu: float
    resident: float
    calls: Counter[str]


class Bench:
    """A store, a stand-in, and what keeps them alike."""

    def __init__(self, settings: Settings, pid: int) -> None:
        self.settings = settings
        self.calls: Counter[str] = Counter()
        self._pid = pid
        self.samples: list[Sample] = []
        self.reconciler: Reconciler = make_reconciler(settings, lambda kind: self.calls.update([kind]))
        self._pushed: Counter[str] = Counter()
        self._watch(self.reconciler._target)  # noqa: SLF001 - between it and the reconciler

    def _watch(self, target: Any) -> None:
        push = target.push

        def watched(kind: str, items: Sequence[SyncItem]) -> BatchResult:
            self._pushed[kind] += len(items)
            return push(kind, items)  # type: ignore[no-any-return]

        target.push = watched

    def close(self) -> None:
        """Close the connections."""
        self.reconciler.close()

    def sync(self) -> float:
        """Do all that is due, with a sample before each batch; gives the seconds it took."""
        self._pushed.clear()
        self.samples = []
        self._looked()
        while not self.reconciler.step(self._looked).idle:
            assert time.perf_counter() < self.samples[0].at + 10 * _PATIENCE, self.reconciler.status()
        self._looked()
        assert self.reconciler.status().converged, self.reconciler.status()
        return self.samples[-1].at - self.samples[0].at

    def _looked(self) -> bool:
        costs = time.process_time(), cpu_seconds(self._pid), resident_mb(os.getpid())
        self.samples.append(Sample(Counter(self._pushed), time.perf_counter(), *costs, Counter(self.calls)))
        return False

    def done(self, kind: str) -> Sample:
        """Give the first sample in which everything of a kind was done."""
        return next(one for one in self.samples if one.pushed[kind] == self.samples[-1].pushed[kind])


@contextmanager
def standin() -> Iterator[tuple[str, int]]:
    """Run a stand-in until the block ends; gives its address and its process id."""
    port = free_port()
    with serving(["-m", "tests.standins.openmetadata", "--port", str(port)], port) as pid:
        yield f"http://127.0.0.1:{port}", pid


def settings_of(store: Path, host: str) -> Settings:
    """Make settings that name store, host and token, and nothing else."""
    target: dict[str, Any] = {"server": {"host": host}, "auth": {"jwt_token": BOT_TOKEN}, "enabled": True}
    return Settings(
        store=StoreSettings(url=f"sqlite:///{store}"), openmetadata=OpenMetadataSettings.model_validate(target)
    )


def load_estate(settings: Settings, tables: int) -> None:
    """Write the events of an estate in a process of its own: the memory of the sync is measured in this one."""
    worker = multiprocessing.get_context("spawn").Process(target=_load, args=(settings, tables))
    worker.start()
    worker.join()
    assert worker.exitcode == 0


def _load(settings: Settings, tables: int) -> None:
    load(settings, estate(tables))


def first_lines(bench: Bench, tables: int) -> Iterator[str]:
    """Measure the first sync: each kind by itself, then memory as it went on."""
    begun = time.perf_counter()
    bench.reconciler.enable()
    yield f"{'everything marked':34}{time.perf_counter() - begun:9.1f} s"
    bench.sync()
    counts = {"dataset": tables, "job": jobs_of(tables), "lineage": 2 * jobs_of(tables)}
    before = bench.samples[0]
    for kind, name in _KINDS.items():
        after = bench.done(kind)
        seconds, count = after.at - before.at, counts[kind]
        cpu, there = (1000 * (after[i] - before[i]) / count for i in (2, 3))
        calls = ", ".join(f"{number} {call}" for call, number in sorted((after.calls - before.calls).items()))
        told = f"{count / seconds:9.0f}/s{seconds:8.1f} s{cpu:9.2f} ms{there:9.2f} ms"
        yield f"{f'first sync, {count:,} {name}':34}{told}   {calls}"
        before = after
    grown = {one.pushed["dataset"]: one.resident for one in bench.samples if not one.pushed["job"]}
    told = ", ".join(f"{resident:.0f} after {count:,}" for count, resident in grown.items())
    yield f"{'memory of ours, in MB':34}{told} tables"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield f"{'':34}{bench.samples[-1].resident:.0f} at the end, at most {peak:.0f}"


def again_line(bench: Bench) -> str:
    """Measure the sync of everything when nothing is new."""
    bench.calls.clear()
    with closing(StoreUrl(bench.settings.store.url).open_for_background_writes(None)) as db:
        mark_all(db, bench.settings.org, "openmetadata", now_micros())
    seconds = bench.sync()
    return f"{'second sync, everything marked':34}{'':11}{seconds:8.1f} s   {_told(bench.calls)}"


def same_line(bench: Bench) -> str:
    """Measure what runs of one job cost that say the same each time."""
    run = iter(range(1_000_000_000, 1_000_000_000 + _SAME_RUNS + 1))
    _runs(bench, run, 1)
    bench.sync()
    first, seconds = Counter(bench.calls), 0.0
    bench.calls.clear()
    for _ in range(_SAME_RUNS // _A_ROUND):
        _runs(bench, run, _A_ROUND)
        seconds += bench.sync()
    told = f"{seconds:8.1f} s   {_told(bench.calls)} (the first: {_told(first)})"
    return f"{f'{_SAME_RUNS:,} same runs of a job':34}{'':11}{told}"


def _runs(bench: Bench, runs: Iterator[int], count: int) -> None:
    events = (run_event("same", next(runs), [10_000_001, 10_000_002], 10_000_003) for _ in range(count))
    load(bench.settings, map(msgspec.json.encode, events))


def _told(calls: Counter[str]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(calls.items())) or "no call"


def sync_lines(tables: int, folder: Path) -> Iterator[str]:
    """Measure a first sync, the floor, and syncs that have nothing to say."""
    with standin() as (host, pid):
        settings = settings_of(folder / "store.db", host)
        load_estate(settings, tables)
        with closing(Bench(settings, pid)) as bench:
            yield from first_lines(bench, tables)
            rate = tables / (bench.done("dataset").at - bench.samples[0].at)
            yield again_line(bench)
            yield same_line(bench)
    with standin() as (host, pid):
        line, bare = floor_line(settings, host, pid)
        yield line
        yield f"  tables are synced at {rate / bare:.0%} of the floor"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=30, help="of events, healthy and failing; 0 leaves them out")
    asked = parser.parse_args()
    tune_garbage_collector()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':34}{'':11}{'':10}{'our CPU':>12}{'its CPU':>12}   calls")
        for line in sync_lines(asked.tables, Path(folder)):
            print(line, flush=True)
        if asked.seconds:
            for line in visible_lines(asked.seconds, Path(folder)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
