"""Walks through the lineage graph: every dataset once, level by level, cut at a depth."""

from typing import Literal, NamedTuple

from bridge.store.graph import Edge, Graph

Direction = Literal["upstream", "downstream"]


class Walk(NamedTuple):
    """What a walk found, and whether there was more beyond its depth."""

    start: bytes
    edges: list[Edge]
    cut: bool


def walk(graph: Graph, start: bytes, direction: Direction, depth: int) -> Walk:
    """Follow edges from a dataset, `depth` datasets far."""
    seen, frontier = {start}, [start]
    edges: list[Edge] = []
    for _ in range(depth):
        reached: list[bytes] = []
        found = graph.upstream(frontier) if direction == "upstream" else graph.downstream(frontier)
        for edge in sorted(found, key=_key):
            edges.append(edge)
            other = edge.source if direction == "upstream" else edge.target
            if other is not None and other not in seen:
                seen.add(other)
                reached.append(other)
        frontier = reached
        if not frontier:
            break
    return Walk(start, edges, bool(frontier) and depth > 0)


def _key(edge: Edge) -> tuple[bytes, bytes, bytes, str, str, str]:
    return edge.source or b"", edge.target, edge.job or b"", edge.step, edge.evidence, edge.run_uuid or ""
