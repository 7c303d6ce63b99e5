"""GET /column-lineage: columns joined by what they are made of."""

from collections.abc import Iterable

from tests.standins.marquez import node_ids
from tests.standins.marquez.errors import Refused, failed, page
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.graph import now
from tests.standins.marquez.node_ids import Node
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import OUTPUT, ColumnEdge, Dataset, Field, Json, Version

_PATH = "/api/v1/column-lineage"
_NO_VERSION = "Node version cannot be specified when withDownstream is true"


def lineage(call: Call) -> Answer:
    """Show what columns are made of, and what is made of them where that is asked for."""
    node, depth = node_ids.asked(call), node_ids.depth(call)
    downstream = call.query.get("withDownstream", "").lower() == "true"
    if node.kind == "run":
        raise failed()
    if node.version is not None and downstream:
        raise page(400, _PATH, _NO_VERSION)
    start = _start(call.store, node)
    edges = [edge for edge in _edges_of(call.store, node.version) if not edge.source.dataset.hidden]
    return Answer(body={"graph": _graph(_around(edges, start, depth, downstream), node.version is not None)})


def _start(store: Store, node: Node) -> list[Field]:
    names = node.names(3 if node.kind == "datasetField" else 2)
    if node.kind == "job":
        job = store.job(names[0], names[1])
        found = [] if job is None else [field for one in now(job, OUTPUT) for field in one.fields.values()]
    else:
        found = _fields(store.dataset(names[0], names[1]))
    if node.kind == "datasetField":
        found = [field for field in found if field.name == names[2]]
    if not found:
        raise Refused(404, {"code": 404, "message": "Could not find node"})
    return found


def _fields(dataset: Dataset | None) -> list[Field]:
    return [] if dataset is None else list(dataset.fields.values())


def _edges_of(store: Store, version: str | None) -> list[ColumnEdge]:
    """Give the edges of the current version of each dataset, and of the one that was asked for."""
    return [
        edge
        for dataset in store.rows.values()
        for one in dataset.versions
        if one is dataset.current or one.uuid == version
        for edge in one.columns.values()
    ]


def _around(edges: list[ColumnEdge], start: list[Field], depth: int, downstream: bool) -> list[ColumnEdge]:
    """Give the edges that are not further away than so many steps; a column that was never written has none."""
    reached = [edge for edge in edges if edge.to in start]
    for _ in range(depth - 1):
        sources = [edge.source for edge in reached]
        made = [edge.to for edge in reached] if downstream else []
        more = [edge for edge in edges if edge not in reached and (edge.to in sources or edge.source in made)]
        if not more:
            break
        reached += more
    return reached


def _graph(edges: list[ColumnEdge], versions: bool) -> list[Json]:
    columns = {id(edge.to): (edge.to, edge.to_version) for edge in edges}
    sources = {id(edge.source): (edge.source, edge.version) for edge in edges}
    return [_node(field, version, edges, versions) for field, version in {**sources, **columns}.values()]


def _node(field: Field, version: Version, edges: list[ColumnEdge], versions: bool) -> Json:
    made = [edge for edge in edges if edge.to is field]
    used = [edge for edge in edges if edge.source is field]
    how: Json = {
        "transformationDescription": made[0].description if made else None,
        "transformationType": made[0].type if made else None,
    }
    namespace, name = version.name
    own = _id(field, version, versions)
    data: Json = {"namespace": namespace, "dataset": name, "datasetVersion": version.uuid, "field": field.name}
    data |= {"fieldType": field.type if made else "", **how, "inputFields": [_input(edge) for edge in made]}
    return {
        "id": own,
        "type": "DATASET_FIELD",
        "data": data,
        "inEdges": _edges((own, _id(edge.source, edge.version, versions)) for edge in made),
        "outEdges": _edges((own, _id(edge.to, edge.to_version, versions)) for edge in used),
    }


def _input(edge: ColumnEdge) -> Json:
    namespace, name = edge.version.name
    return {
        "namespace": namespace,
        "dataset": name,
        "datasetVersion": edge.version.uuid,
        "field": edge.source.name,
        "transformationDescription": edge.description,
        "transformationType": edge.type,
    }


def _edges(pairs: Iterable[tuple[str, str]]) -> list[Json]:
    """Join columns; the edges into one begin at itself, as the server has them."""
    return [{"origin": origin, "destination": destination} for origin, destination in pairs]


def _id(field: Field, version: Version, versions: bool) -> str:
    namespace, name = version.name
    return f"datasetField:{namespace}:{name}:{field.name}" + (f"#{version.uuid}" if versions else "")
