"""Walks through the lineage graph: every dataset once, level by level, cut at a depth or a size."""

from typing import Literal, NamedTuple

from bridge.store.graph import Edge, Graph

Direction = Literal["upstream", "downstream"]
Cut = Literal["depth", "size"]

#: How many edges a walk gives unless more are asked for.
MOST_EDGES = 5_000
#: How many datasets are looked up at once: enough to make queries few, so few that a cut comes early.
_AT_ONCE = 64


class Walk(NamedTuple):
    """What a walk found, and what kept it from finding more, if anything did."""

    start: bytes
    edges: list[Edge]
    cut: Cut | None


def walk(graph: Graph, start: bytes, direction: Direction, depth: int, most: int = MOST_EDGES) -> Walk:
    """Follow edges from a dataset, `depth` datasets far."""
    upstream = direction == "upstream"
    seen, frontier = {start}, [start]
    edges: list[Edge] = []
    for _ in range(depth):
        reached: list[bytes] = []
        for at in range(0, len(frontier), _AT_ONCE):
            datasets = frontier[at : at + _AT_ONCE]
            for edge in sorted(graph.upstream(datasets) if upstream else graph.downstream(datasets), key=_key):
                if len(edges) == most:
                    return Walk(start, edges, "size")
                edges.append(edge)
                other = edge.source if upstream else edge.target
                if other is not None and other not in seen:
                    seen.add(other)
                    reached.append(other)
        frontier = reached
        if not frontier:
            break
    return Walk(start, edges, "depth" if frontier else None)


def _key(edge: Edge) -> tuple[bytes, bytes, bytes, str, str, str]:
    return edge.source or b"", edge.target, edge.job or b"", edge.step, edge.evidence, edge.run_uuid or ""
