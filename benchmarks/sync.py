"""Measures how fast OpenMetadata is brought to what the store says, against a stand-in in a process of its own.

python -m benchmarks.sync                  10,000 tables, and 30 seconds of events twice; some three minutes
python -m benchmarks.sync --tables 2000 --seconds 10
"""

import argparse
import http.client
import multiprocessing
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.estate import estate, jobs_of, run_event
from benchmarks.intake import cpu_seconds, free_port, serving
from benchmarks.memory import resident_mb
from benchmarks.visible import visible_lines
from benchmarks.walk import load
from bridge.bootstrap import calm_collector, make_reconciler, now_micros, open_store, rules_of
from bridge.openmetadata_settings import OpenMetadataSettings
from bridge.settings import Settings, StoreSettings
from bridge.store.location import StoreLocation
from bridge.store.marks import mark_everything
from bridge.sync.items import Items
from bridge.sync.openmetadata.datasets import want_datasets
from bridge.sync.openmetadata.wanted import Wanted
from bridge.sync.reconciler import Reconciler
from bridge.sync.status import read_status
from tests.standins.openmetadata.standin import BOT_TOKEN

_SAME_RUNS, _A_ROUND = 1_000, 100
_BATCH = 100
_PATIENCE = 60.0
_KINDS = {"dataset": "tables", "job": "pipelines", "lineage": "edges"}


class Sample(NamedTuple):
    """How far a sync is, and what it has cost."""

    settled: dict[str, int]
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
        self._own = multiprocessing.process.current_process().pid or 0
        self._db = open_store(settings)
        self.samples: list[Sample] = []
        self.reconciler: Reconciler = make_reconciler(settings, lambda kind: self.calls.update([kind]))

    def close(self) -> None:
        """Close the connections."""
        self.reconciler.close()
        self._db.close()

    def sync(self) -> float:
        """Do all that is due, with a sample before each batch; gives the seconds it took."""
        self.samples = [self._sample()]
        begun = time.perf_counter()
        while not self.reconciler.status().converged:
            assert time.perf_counter() < begun + 10 * _PATIENCE, self.reconciler.status()
            self.reconciler.round(self._looked)
        self._looked()
        return time.perf_counter() - begun

    def _looked(self) -> bool:
        self.samples.append(self._sample())
        return False

    def _sample(self) -> Sample:
        items = read_status(self._db, self.settings.org, "openmetadata").items
        settled = {kind: sum(items.get(kind, {}).values()) for kind in _KINDS}
        costs = time.process_time(), cpu_seconds(self._pid), resident_mb(self._own)
        return Sample(settled, time.perf_counter(), *costs, Counter(self.calls))


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
        after = next(one for one in bench.samples if one.settled[kind] == bench.samples[-1].settled[kind])
        seconds, count = after.at - before.at, counts[kind]
        cpu, there = (1000 * (after[i] - before[i]) / count for i in (2, 3))
        calls = ", ".join(f"{number} {call}" for call, number in sorted((after.calls - before.calls).items()))
        told = f"{count / seconds:9.0f}/s{seconds:8.1f} s{cpu:9.2f} ms{there:9.2f} ms"
        yield f"{f'first sync, {count:,} {name}':34}{told}   {calls}"
        before = after
    grown = [f"{one.settled['dataset']:,}: {one.resident:.0f}" for one in bench.samples if not one.settled["job"]]
    yield f"memory of ours in MB, by tables     {', '.join(dict.fromkeys(grown))}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield f"  and at the end {bench.samples[-1].resident:.0f}, at most {peak:.0f}"


def floor_line(settings: Settings, host: str, pid: int) -> tuple[str, float]:
    """Put the same bodies, without a store and without a thought; gives tables a second, too."""
    bodies, parents = bodies_of(settings)
    tables = len(bodies)
    address = host.removeprefix("http://")
    with closing(http.client.HTTPConnection(address, timeout=_PATIENCE)) as connection:
        for (collection, _), body in parents.items():
            _put(connection, collection, body)
        begun, cpu, there = time.perf_counter(), time.process_time(), cpu_seconds(pid)
        for i in range(0, tables, _BATCH):
            _put(connection, "tables/bulk", bodies[i : i + _BATCH])
        seconds, cpu, there = time.perf_counter() - begun, time.process_time() - cpu, cpu_seconds(pid) - there
    rate = tables / seconds
    costs = f"{1000 * cpu / tables:9.2f} ms{1000 * there / tables:9.2f} ms"
    return f"{'  floor: the bodies alone':34}{rate:9.0f}/s{seconds:8.1f} s{costs}", rate


def bodies_of(settings: Settings) -> tuple[list[dict[str, Any]], dict[tuple[str, str], dict[str, Any]]]:
    """Give what tables are to be sent as, and what they lie in."""
    bodies, parents = [], {}
    with closing(open_store(settings)) as db:
        items = Items(db, settings.org, "openmetadata", now_micros)
        keys = [key for (key,) in db.rows("SELECT dataset_id FROM ol_dataset WHERE org_id = ?1", settings.org)]
        for one in want_datasets(db, settings.org, rules_of(settings), list(items.of("dataset", keys).values())):
            assert isinstance(one, Wanted)
            bodies.append(one.first.own.body)
            parents.update({(above.collection, above.fqn): above.body for above in one.first.parents})
    return bodies, parents


def _put(connection: http.client.HTTPConnection, collection: str, body: Any) -> None:
    headers = {"Authorization": f"Bearer {BOT_TOKEN}", "Content-Type": "application/json"}
    connection.request("PUT", f"/api/v1/{collection}", msgspec.json.encode(body), headers)
    answer = connection.getresponse()
    assert answer.read() and answer.status in (200, 201), answer.status


def again_line(bench: Bench) -> str:
    """Measure the sync of everything when nothing is new."""
    bench.calls.clear()
    with closing(StoreLocation(bench.settings.store.url).open_beside(None)) as db:
        mark_everything(db, bench.settings.org, "openmetadata", now_micros())
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
            taken = next(one for one in bench.samples if one.settled["dataset"] == tables)
            rate = tables / (taken.at - bench.samples[0].at)
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
    calm_collector()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':34}{'':11}{'':10}{'our CPU':>12}{'its CPU':>12}   calls")
        for line in sync_lines(asked.tables, Path(folder)):
            print(line, flush=True)
        if asked.seconds:
            for line in visible_lines(asked.seconds, Path(folder)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
