"""Walks the lineage graph level by level, limited by depth and number of edges."""

from typing import Literal, NamedTuple

from bridge.store.lineage.graph import Edge, LineageGraph

#: Default limit of edges: more cannot be viewed, and these are found within 0.1 seconds.
MAX_EDGES = 2_000


Direction = Literal["upstream", "downstream"]
Truncation = Literal["depth", "size"]

#: Maximum number of datasets per lookup, and how fast the number grows from lookup to lookup.
_MAX_BATCH = 512
_GROWTH = 16


class LineageWalk(NamedTuple):
    """The edges of a walk, and the limit that truncated it, if any."""

    start: bytes
    edges: list[Edge]
    truncated_by: Truncation | None


def walk(
    graph: LineageGraph, start: bytes, direction: Direction, depth: int, max_edges: int = MAX_EDGES
) -> LineageWalk:
    """Follow edges from a dataset for up to `depth` levels."""
    upstream = direction == "upstream"
    visited = {start}
    frontier = [start]
    batch_size = 1
    edges: list[Edge] = []
    for _ in range(depth):
        next_frontier: list[bytes] = []
        while frontier:
            batch, frontier = frontier[:batch_size], frontier[batch_size:]
            batch_edges = graph.upstream(batch) if upstream else graph.downstream(batch)
            batch_size = _next_batch_size(len(batch), len(batch_edges), max_edges - len(edges))
            for edge in sorted(batch_edges, key=_sort_key):
                if len(edges) == max_edges:
                    return LineageWalk(start, edges, "size")
                edges.append(edge)
                neighbor = edge.source if upstream else edge.target
                if neighbor is not None and neighbor not in visited:
                    visited.add(neighbor)
                    next_frontier.append(neighbor)
        frontier = next_frontier
        if not frontier:
            break
    return LineageWalk(start, edges, "depth" if frontier else None)


def _next_batch_size(batch_size: int, edge_count: int, edges_left: int) -> int:
    """Estimate from the last batch how many datasets yield the remaining edges. Limit the growth of batches."""
    estimate = (edges_left - edge_count + 1) * batch_size // edge_count if edge_count else _MAX_BATCH
    return max(1, min(estimate, _GROWTH * batch_size, _MAX_BATCH))


def _sort_key(edge: Edge) -> tuple[bytes, bytes, bytes, str, str, str]:
    return edge.source or b"", edge.target, edge.job or b"", edge.step, edge.evidence, edge.run_uuid or ""
