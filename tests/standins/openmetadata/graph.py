"""The lineage graph around an entity."""

from tests.standins.openmetadata.lineage import render_edge
from tests.standins.openmetadata.state import Data, Entity, Store


def graph(store: Store, base: str, entity: Entity, up: int, down: int) -> Data:
    """Walk from an entity; like the server, lists an edge each time the walk meets it."""
    nodes: dict[str, Data] = {}
    out: Data = {"entity": entity.reference(base), "nodes": [], "upstreamEdges": [], "downstreamEdges": []}
    _walk(store, base, entity.id, up, nodes, out["upstreamEdges"], upwards=True)
    _walk(store, base, entity.id, down, nodes, out["downstreamEdges"], upwards=False)
    out["nodes"] = list(nodes.values())
    return out


def _walk(
    store: Store, base: str, entity_id: str, depth: int, nodes: dict[str, Data], edges: list[Data], upwards: bool
) -> None:
    if depth == 0:
        return
    neighbours = sorted((store.edges_to if upwards else store.edges_from).get(entity_id, ()))
    for neighbour in neighbours:
        start, end = (neighbour, entity_id) if upwards else (entity_id, neighbour)
        nodes.setdefault(neighbour, store.by_id[neighbour].reference(base))
        edges.append({"fromEntity": start, "toEntity": end, "lineageDetails": render_edge(store.edges[start, end])})
    for neighbour in neighbours:
        _walk(store, base, neighbour, depth - 1, nodes, edges, upwards)
