"""Measures walks through the lineage graph, beside a walk through the same graph in memory.

python -m benchmarks.walk               up to 100,000 edges on both stores, some minutes
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
    """A graph to walk: what each dataset is made of, where walks begin, which way and how far they go."""

    name: str
    made_of: Pairs
    starts: list[str]
    direction: Direction
    depth: int
    most: int = MAX_EDGES


def chain(length: int = 1_000) -> Shape:
    """Line up jobs one after the other; walks begin in the middle."""
    made = [(f"chain{i + 1}", [f"chain{i}"]) for i in range(length)]
    return Shape("chain of 1,000 jobs, from its middle, depth 20", made, [f"chain{length // 2}"], "downstream", 20)


def tree(nodes: int = 2_000) -> Shape:
    """Let every dataset be read by two jobs."""
    made = [(f"tree{i}", [f"tree{(i - 1) // 2}"]) for i in range(1, nodes)]
    return Shape("binary tree of 2,000 nodes, from its root", made, ["tree0"], "downstream", 20)


def layers(edges: int) -> Shape:
    """Make each dataset of a layer from many of the layer before."""
    width, chance = _WIDTHS[edges], random.Random(1)
    fan_in = edges // (width * (_DEPTH - 1))
    names = [[f"l{edges}_{layer}_{i}" for i in range(width)] for layer in range(_DEPTH)]
    made = [
        (name, chance.sample(names[layer - 1], min(fan_in, width)))
        for layer in range(1, _DEPTH)
        for name in names[layer]
    ]
    return Shape(f"{edges:,} edges in {_DEPTH} layers, downstream", made, names[0], "downstream", _DEPTH)


def events(shape: Shape) -> Iterator[bytes]:
    """Tell each dataset as one run of a job of its own."""
    for number, (target, sources) in enumerate(shape.made_of):
        yield msgspec.json.encode(
            {
                "eventType": "COMPLETE",
                "eventTime": f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z",
                "producer": "https://example.com/walk",
                "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
                "run": {"runId": f"00000000-0000-7000-8000-{number_of(target):012x}"},
                "job": {"namespace": _NAMESPACE, "name": f"make {target}"},
                "inputs": [{"namespace": _NAMESPACE, "name": source} for source in sources],
                "outputs": [{"namespace": _NAMESPACE, "name": target}],
            }
        )


def number_of(name: str) -> int:
    """Give a name a number, the same in every run."""
    return int.from_bytes(digest(name.encode())[:6], "big")


def load(settings: Settings, payloads: Iterator[bytes]) -> float:
    """Write events into a store; gives the seconds it took."""
    reader, writer = make_event_reader(settings), make_writer(settings)
    begun = time.perf_counter()
    group = []
    for payload in payloads:
        group.append(reader.read(payload, "bench"))
        if len(group) == _GROUP:
            writer.write(group)
            group = []
    if group:
        writer.write(group)
    return time.perf_counter() - begun


def times(once: Callable[[str], object], starts: list[str]) -> tuple[float, float]:
    """Give the median and the 95th percentile of many walks, in milliseconds."""
    chance, took = random.Random(2), []
    for _ in range(_REPEATS):
        start = chance.choice(starts)
        begun = time.perf_counter()
        once(start)
        took.append((time.perf_counter() - begun) * 1000)
    return statistics.median(took), statistics.quantiles(took, n=20)[-1]


def floor(shape: Shape) -> tuple[float, float]:
    """Walk the same graph in memory."""
    graph: rustworkx.PyDiGraph[str, None] = rustworkx.PyDiGraph()
    nodes: dict[str, int] = {}
    for target, sources in shape.made_of:
        for name in (target, *sources):
            if name not in nodes:
                nodes[name] = graph.add_node(name)
        graph.add_edges_from_no_data([(nodes[source], nodes[target]) for source in sources])
    return times(lambda start: rustworkx.bfs_successors(graph, nodes[start]), shape.starts)


def measure(settings: Settings, shape: Shape) -> tuple[float, float, int, str]:
    """Walk a store; a new graph a walk, as a request makes it."""
    with ExitStack() as stack:
        db = open_store(settings)
        stack.callback(db.close)
        found = []

        def once(name: str) -> None:
            graph = LineageGraph(db, settings.org)
            start = graph.find_dataset(_NAMESPACE, name)
            assert start is not None
            found.append(walk(graph, start, shape.direction, shape.depth, shape.most))

        middle, late = times(once, shape.starts)
        return middle, late, max(len(one.edges) for one in found), found[-1].truncated_by or ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=100_000, choices=sorted(_WIDTHS))
    most = parser.parse_args().edges
    tune_garbage_collector()
    shapes = [chain(), tree(), *(layers(edges) for edges in _WIDTHS if edges <= most)]
    print(f"{'':55} {'p50':>9} {'p95':>9} {'edges':>7}  cut")
    for shape in shapes:
        middle, late = floor(shape)
        print(f"{shape.name + ', in memory':55} {middle:6.2f} ms {late:6.2f} ms", flush=True)
    with ExitStack() as stack:
        stores = {"SQLite": f"sqlite:///{stack.enter_context(tempfile.TemporaryDirectory())}/store.db"}
        if bin_folder():
            stores["PostgreSQL"] = stack.enter_context(running_server()).new_database("walk")
        for kind, url in stores.items():
            settings = Settings(store=StoreSettings(url=url))
            load(settings, iter(new_events(1_000)))
            for shape in shapes:
                seconds = load(settings, events(shape))
                middle, late, edges, cut = measure(settings, shape)
                line = f"{shape.name}, {kind}"
                told = f"{middle:6.2f} ms {late:6.2f} ms {edges:7}  {cut:5} (written in {seconds:.0f} s)"
                print(f"{line:55} {told}", flush=True)


if __name__ == "__main__":
    main()
