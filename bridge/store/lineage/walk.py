"""Walks the lineage graph level by level, limited by depth and number of edges."""

from typing import Literal, NamedTuple

from bridge.store.lineage.graph import Edge, LineageGraph

#: How many edges a walk gives: as many as people can look at, and a tenth of a second can find.
MAX_EDGES = 2_000


Direction = Literal["upstream", "downstream"]
Truncation = Literal["depth", "size"]

#: How many datasets are looked up at once, at most.
_AT_ONCE = 512
_GROWTH = 16


class LineageWalk(NamedTuple):
    """What a walk found, and what kept it from finding more, if anything did."""

    start: bytes
    edges: list[Edge]
    truncated_by: Truncation | None


def walk(
    graph: LineageGraph, start: bytes, direction: Direction, depth: int, max_edges: int = MAX_EDGES
) -> LineageWalk:
    """Follow edges from a dataset, `depth` datasets far."""
    upstream = direction == "upstream"
    seen, frontier, wanted = {start}, [start], 1
    edges: list[Edge] = []
    for _ in range(depth):
        reached: list[bytes] = []
        while frontier:
            datasets, frontier = frontier[:wanted], frontier[wanted:]
            found = graph.upstream(datasets) if upstream else graph.downstream(datasets)
            wanted = _next_wanted(len(datasets), len(found), max_edges - len(edges))
            for edge in sorted(found, key=_key):
                if len(edges) == max_edges:
                    return LineageWalk(start, edges, "size")
                edges.append(edge)
                other = edge.source if upstream else edge.target
                if other is not None and other not in seen:
                    seen.add(other)
                    reached.append(other)
        frontier = reached
        if not frontier:
            break
    return LineageWalk(start, edges, "depth" if frontier else None)


def _next_wanted(looked: int, found: int, missing: int) -> int:
    """Tell how many datasets to look up next: as many as will do if they are like the last ones, in growing steps."""
    enough = (missing - found + 1) * looked // found if found else _AT_ONCE
    return max(1, min(enough, _GROWTH * looked, _AT_ONCE))


def _key(edge: Edge) -> tuple[bytes, bytes, bytes, str, str, str]:
    return edge.source or b"", edge.target, edge.job or b"", edge.step, edge.evidence, edge.run_uuid or ""
