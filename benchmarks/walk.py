"""Measures traversals of the lineage graph, compared with an in-memory graph.

python -m benchmarks.walk               up to 100,000 edges on both stores, a few minutes
python -m benchmarks.walk --edges 1000000
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

import msgspec
import rustworkx

from benchmarks.events import new_events
from bridge.bootstrap.intake import make_event_reader, tune_garbage_collector
from bridge.bootstrap.store import make_writer, open_store
from bridge.settings.model import Settings, StoreSettings
from bridge.store.lineage.graph import LineageGraph
from bridge.store.lineage.walk import MAX_EDGES, Direction, walk
from mappers.canonical.identity import digest
from tests.postgres import bin_folder, running_server

_NAMESPACE = "walk"
_DEPTH = 12
_WIDTHS = {10_000: 120, 100_000: 240, 1_000_000: 600}
_GROUP = 100
_REPEATS = 30

Pairs = list[tuple[str, list[str]]]


class Shape(NamedTuple):
    """A graph (sources per dataset), and start datasets, direction and limits of its traversals."""

    name: str
    sources_by_dataset: Pairs
    starts: list[str]
    direction: Direction
    depth: int
    max_edges: int = MAX_EDGES


def chain(length: int = 1_000) -> Shape:
    """A chain of jobs; traversals start in the middle."""
    pairs = [(f"chain{i + 1}", [f"chain{i}"]) for i in range(length)]
    return Shape("chain of 1,000 jobs, from the middle, depth 20", pairs, [f"chain{length // 2}"], "downstream", 20)


def tree(nodes: int = 2_000) -> Shape:
    """A tree in which two jobs read every dataset."""
    pairs = [(f"tree{i}", [f"tree{(i - 1) // 2}"]) for i in range(1, nodes)]
    return Shape("binary tree of 2,000 nodes, from the root", pairs, ["tree0"], "downstream", 20)


def layers(edges: int) -> Shape:
    """Layers in which each dataset has many sources in the previous layer."""
    width, rng = _WIDTHS[edges], random.Random(1)
    fan_in = edges // (width * (_DEPTH - 1))
    names = [[f"l{edges}_{layer}_{i}" for i in range(width)] for layer in range(_DEPTH)]
    pairs = [
        (name, rng.sample(names[layer - 1], min(fan_in, width)))
        for layer in range(1, _DEPTH)
        for name in names[layer]
    ]
    return Shape(f"{edges:,} edges in {_DEPTH} layers, downstream", pairs, names[0], "downstream", _DEPTH)


def events(shape: Shape) -> Iterator[bytes]:
    """One run of a separate job per dataset."""
    for number, (target, sources) in enumerate(shape.sources_by_dataset):
        yield msgspec.json.encode(
            {
                "eventType": "COMPLETE",
                "eventTime": f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z",
                "producer": "https://example.com/walk",
                "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
                "run": {"runId": f"00000000-0000-7000-8000-{stable_number(target):012x}"},
                "job": {"namespace": _NAMESPACE, "name": f"make {target}"},
                "inputs": [{"namespace": _NAMESPACE, "name": source} for source in sources],
                "outputs": [{"namespace": _NAMESPACE, "name": target}],
            }
        )


def stable_number(name: str) -> int:
    """Number of a name, equal in every run."""
    return int.from_bytes(digest(name.encode())[:6], "big")


def load(settings: Settings, payloads: Iterator[bytes]) -> float:
    """Write events into a store; return the seconds."""
    reader, writer = make_event_reader(settings), make_writer(settings)
    start = time.perf_counter()
    group = []
    for payload in payloads:
        group.append(reader.read(payload, "bench"))
        if len(group) == _GROUP:
            writer.write(group)
            group = []
    if group:
        writer.write(group)
    return time.perf_counter() - start


def measure_ms(traverse: Callable[[str], object], starts: list[str]) -> tuple[float, float]:
    """Median and 95th percentile of many traversals, in milliseconds."""
    rng, samples = random.Random(2), []
    for _ in range(_REPEATS):
        dataset = rng.choice(starts)
        start = time.perf_counter()
        traverse(dataset)
        samples.append((time.perf_counter() - start) * 1000)
    return statistics.median(samples), statistics.quantiles(samples, n=20)[-1]


def floor(shape: Shape) -> tuple[float, float]:
    """Traverse the same graph in memory."""
    graph: rustworkx.PyDiGraph[str, None] = rustworkx.PyDiGraph()
    nodes: dict[str, int] = {}
    for target, sources in shape.sources_by_dataset:
        for name in (target, *sources):
            if name not in nodes:
                nodes[name] = graph.add_node(name)
        graph.add_edges_from_no_data([(nodes[source], nodes[target]) for source in sources])
    return measure_ms(lambda start: rustworkx.bfs_successors(graph, nodes[start]), shape.starts)


def measure(settings: Settings, shape: Shape) -> tuple[float, float, int, str]:
    """Traverse a store, with a new graph per traversal, as in a request."""
    with ExitStack() as stack:
        db = open_store(settings)
        stack.callback(db.close)
        results = []

        def traverse(name: str) -> None:
            graph = LineageGraph(db, settings.org)
            start = graph.find_dataset(_NAMESPACE, name)
            assert start is not None
            results.append(walk(graph, start, shape.direction, shape.depth, shape.max_edges))

        median, p95 = measure_ms(traverse, shape.starts)
        return median, p95, max(len(result.edges) for result in results), results[-1].truncated_by or ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=100_000, choices=sorted(_WIDTHS))
    max_edges = parser.parse_args().edges
    tune_garbage_collector()
    shapes = [chain(), tree(), *(layers(edges) for edges in _WIDTHS if edges <= max_edges)]
    print(f"{'':55} {'p50':>9} {'p95':>9} {'edges':>7}  limit")
    for shape in shapes:
        median, p95 = floor(shape)
        print(f"{shape.name + ', in memory':55} {median:6.2f} ms {p95:6.2f} ms", flush=True)
    with ExitStack() as stack:
        stores = {"SQLite": f"sqlite:///{stack.enter_context(tempfile.TemporaryDirectory())}/store.db"}
        if bin_folder():
            stores["PostgreSQL"] = stack.enter_context(running_server()).new_database("walk")
        for kind, url in stores.items():
            settings = Settings(store=StoreSettings(url=url))
            load(settings, iter(new_events(1_000)))
            for shape in shapes:
                seconds = load(settings, events(shape))
                median, p95, edges, limit = measure(settings, shape)
                line = f"{shape.name}, {kind}"
                figures = f"{median:6.2f} ms {p95:6.2f} ms {edges:7}  {limit:5} (written in {seconds:.0f} s)"
                print(f"{line:55} {figures}", flush=True)


if __name__ == "__main__":
    main()
