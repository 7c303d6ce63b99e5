"""The lineage graph around an entity."""

from tests.standins.openmetadata.lineage import shown
from tests.standins.openmetadata.state import Data, Entity, Store


def graph(store: Store, base: str, entity: Entity, up: int, down: int) -> Data:
    """Walk from an entity; an edge is listed each time the walk meets it, as the server does."""
    nodes: dict[str, Data] = {}
    out: Data = {"entity": entity.reference(base), "nodes": [], "upstreamEdges": [], "downstreamEdges": []}
    _walk(store, base, entity.id, up, nodes, out["upstreamEdges"], upwards=True)
    _walk(store, base, entity.id, down, nodes, out["downstreamEdges"], upwards=False)
    out["nodes"] = list(nodes.values())
    return out


def _walk(
    store: Store, base: str, at: str, depth: int, nodes: dict[str, Data], edges: list[Data], upwards: bool
) -> None:
    if depth == 0:
        return
    near = sorted((store.edges_to if upwards else store.edges_from).get(at, ()))
    for other in near:
        start, end = (other, at) if upwards else (at, other)
        nodes.setdefault(other, store.by_id[other].reference(base))
        edges.append({"fromEntity": start, "toEntity": end, "lineageDetails": shown(store.edges[start, end])})
    for other in near:
        _walk(store, base, other, depth - 1, nodes, edges, upwards)
