"""Measures whether reads become slower while a store grows.

The store receives repetitions of the captured Spark events as new runs of the same jobs, and events of new datasets.
Queries of a graph that receives no events must not become slower. Queries of the Spark datasets show the effect of
more runs per job.

python -m benchmarks.soak                     up to 160,000 events on both stores, about ten minutes
python -m benchmarks.soak --events 1000000 --only SQLite
"""

import argparse
import itertools
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any, cast

import msgspec

from benchmarks.events import new_events, real_events
from benchmarks.walk import events as events_of_shape
from benchmarks.walk import load, tree
from bridge.bootstrap.intake import tune_garbage_collector
from bridge.bootstrap.queries import open_query_service
from bridge.queries.impact import ImpactQuery
from bridge.queries.lineage import LineageQuery
from bridge.queries.query import Query, QueryService
from bridge.queries.runs import RunsQuery
from bridge.settings.model import Settings, StoreSettings
from tests.postgres import bin_folder, running_server

MakeQuery = Callable[[random.Random], Query[Any]]

_STAGES = 4
_REPEATS = 40
_BLOCK = 1_000
_ISLAND = tree(500)


def growth(start: int, end: int) -> Iterator[bytes]:
    """Yield events in blocks of the two kinds in turn."""
    for first in range(start, end, 2 * _BLOCK):
        yield from real_events(_BLOCK, day=first // _BLOCK)
        yield from new_events(_BLOCK, start=first)


def spark_datasets() -> list[tuple[str, str]]:
    """Return the datasets that the captured Spark jobs read."""
    names = {
        (dataset["namespace"], dataset["name"])
        for body in real_events(2_000)
        for dataset in msgspec.json.decode(body)["inputs"]
    }
    return sorted(names)


def queries() -> dict[str, MakeQuery]:
    """Return a maker of random queries for each row of the result."""
    island = [("walk", name) for name in ("tree0", "tree1", "tree2", "tree5")]
    spark = spark_datasets()

    def about(datasets: list[tuple[str, str]], query: type[Any], **parameters: Any) -> MakeQuery:
        def make(rng: random.Random) -> Query[Any]:
            namespace, name = rng.choice(datasets)
            return cast("Query[Any]", query(namespace=namespace, name=name, **parameters))

        return make

    walk = {"direction": "both", "depth": 20}
    return {
        "lineage, unrelated graph": about(island, LineageQuery, **walk),
        "impact, unrelated graph": about(island, ImpactQuery),
        "lineage, Spark datasets": about(spark, LineageQuery, **walk),
        "lineage with columns, Spark datasets": about(spark, LineageQuery, columns=True, **walk),
        "impact, Spark datasets": about(spark, ImpactQuery),
        "newest 50 runs": lambda _: RunsQuery(),
    }


def measure_ms(service: QueryService, make_query: MakeQuery) -> float:
    """Median duration of a query in milliseconds."""
    rng, samples = random.Random(3), []
    for _ in range(_REPEATS):
        query = make_query(rng)
        started_at = time.perf_counter()
        service.run(query)
        samples.append((time.perf_counter() - started_at) * 1000)
    return statistics.median(samples)


def soak(settings: Settings, total: int, kind: str) -> None:
    """Grow a store in stages, and print the duration of each query after each stage."""
    makers = queries()
    results: dict[str, list[float]] = {name: [] for name in makers}
    sizes = [total * 2**stage // 2 ** (_STAGES - 1) for stage in range(_STAGES)]
    load(settings, events_of_shape(_ISLAND))
    for start, end in itertools.pairwise((0, *sizes)):
        seconds = load(settings, growth(start, end))
        print(f"{kind}: {end:,} events ({(end - start) / seconds:,.0f}/s)", file=sys.stderr, flush=True)
        with closing(open_query_service(settings)) as service:
            for name, maker in makers.items():
                results[name].append(measure_ms(service, maker))
    print(f"| {kind} | " + " | ".join(f"{size:,} events" for size in sizes) + " | last / first |")
    print("|---" * (len(sizes) + 2) + "|")
    for name, milliseconds in results.items():
        figures = " | ".join(f"{value:.1f} ms" for value in milliseconds)
        print(f"| {name} | {figures} | {milliseconds[-1] / milliseconds[0]:.2f} |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=160_000)
    parser.add_argument("--only", choices=["SQLite", "PostgreSQL"])
    options = parser.parse_args()
    tune_garbage_collector()
    with ExitStack() as stack:
        stores = {"SQLite": f"sqlite:///{stack.enter_context(tempfile.TemporaryDirectory())}/store.db"}
        if bin_folder():
            server = stack.enter_context(running_server("fsync=on", "shared_buffers=256MB"))
            stores["PostgreSQL"] = server.new_database("soak")
        for kind, url in stores.items():
            if options.only in (None, kind):
                soak(Settings(store=StoreSettings(url=url)), options.events, kind)


if __name__ == "__main__":
    main()
