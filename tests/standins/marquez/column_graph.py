"""GET /column-lineage: columns connected by lineage."""

from collections.abc import Iterable

from tests.standins.marquez import node_ids
from tests.standins.marquez.errors import ApiError, html_error, internal_error
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.graph import current_datasets
from tests.standins.marquez.node_ids import Node
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import OUTPUT, ColumnEdge, Dataset, Field, Json, Version

_PATH = "/api/v1/column-lineage"
_NO_VERSION = "Node version cannot be specified when withDownstream is true"


def lineage(call: Call) -> ApiResponse:
    """Return the upstream columns, and with `withDownstream` the downstream ones."""
    node, depth = node_ids.parse(call), node_ids.depth(call)
    downstream = call.query.get("withDownstream", "").lower() == "true"
    if node.kind == "run":
        raise internal_error()
    if node.version is not None and downstream:
        raise html_error(400, _PATH, _NO_VERSION)
    start = _start(call.store, node)
    edges = [edge for edge in _current_edges(call.store, node.version) if not edge.source.dataset.hidden]
    return ApiResponse(
        body={"graph": _graph(_reachable_edges(edges, start, depth, downstream), node.version is not None)}
    )


def _start(store: Store, node: Node) -> list[Field]:
    names = node.names(3 if node.kind == "datasetField" else 2)
    if node.kind == "job":
        job = store.job(names[0], names[1])
        fields = (
            []
            if job is None
            else [field for dataset in current_datasets(job, OUTPUT) for field in dataset.fields.values()]
        )
    else:
        fields = _fields(store.dataset(names[0], names[1]))
    if node.kind == "datasetField":
        fields = [field for field in fields if field.name == names[2]]
    if not fields:
        raise ApiError(404, {"code": 404, "message": "Could not find node"})
    return fields


def _fields(dataset: Dataset | None) -> list[Field]:
    return [] if dataset is None else list(dataset.fields.values())


def _current_edges(store: Store, requested_version: str | None) -> list[ColumnEdge]:
    """Edges of the current version of each dataset, and of the requested version."""
    return [
        edge
        for dataset in store.rows.values()
        for version in dataset.versions
        if version is dataset.current or version.uuid == requested_version
        for edge in version.columns.values()
    ]


def _reachable_edges(edges: list[ColumnEdge], start: list[Field], depth: int, downstream: bool) -> list[ColumnEdge]:
    """Edges within `depth` steps; columns that were never written have none."""
    reached = [edge for edge in edges if edge.to in start]
    for _ in range(depth - 1):
        sources = [edge.source for edge in reached]
        targets = [edge.to for edge in reached] if downstream else []
        neighbours = [
            edge for edge in edges if edge not in reached and (edge.to in sources or edge.source in targets)
        ]
        if not neighbours:
            break
        reached += neighbours
    return reached


def _graph(edges: list[ColumnEdge], versions: bool) -> list[Json]:
    columns = {id(edge.to): (edge.to, edge.to_version) for edge in edges}
    sources = {id(edge.source): (edge.source, edge.version) for edge in edges}
    return [_node(field, version, edges, versions) for field, version in {**sources, **columns}.values()]


def _node(field: Field, version: Version, edges: list[ColumnEdge], versions: bool) -> Json:
    incoming = [edge for edge in edges if edge.to is field]
    outgoing = [edge for edge in edges if edge.source is field]
    transformation: Json = {
        "transformationDescription": incoming[0].description if incoming else None,
        "transformationType": incoming[0].type if incoming else None,
    }
    namespace, name = version.name
    own = _id(field, version, versions)
    data: Json = {"namespace": namespace, "dataset": name, "datasetVersion": version.uuid, "field": field.name}
    data |= {
        "fieldType": field.type if incoming else "",
        **transformation,
        "inputFields": [_input(edge) for edge in incoming],
    }
    return {
        "id": own,
        "type": "DATASET_FIELD",
        "data": data,
        "inEdges": _edges((own, _id(edge.source, edge.version, versions)) for edge in incoming),
        "outEdges": _edges((own, _id(edge.to, edge.to_version, versions)) for edge in outgoing),
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
    """Edges of a node; as on the server, incoming edges have the node as origin."""
    return [{"origin": origin, "destination": destination} for origin, destination in pairs]


def _id(field: Field, version: Version, versions: bool) -> str:
    namespace, name = version.name
    return f"datasetField:{namespace}:{name}:{field.name}" + (f"#{version.uuid}" if versions else "")
