"""Handlers of lineage: edges by ids or names of their endpoints, and graphs."""

import copy

from tests.standins.openmetadata import lineage
from tests.standins.openmetadata.errors import ApiError, not_found, validation_error
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.graph import graph
from tests.standins.openmetadata.kinds import BY_NAME
from tests.standins.openmetadata.patch import apply, operations_in
from tests.standins.openmetadata.state import Data, Entity

_MAX_DEPTH = 3


def put(call: Call) -> ApiResponse:
    edge = call.read(lineage.REQUEST)["edge"]
    start, end = (lineage.node(call.store, edge[side]) for side in ("fromEntity", "toEntity"))
    details = edge.get("lineageDetails", {})
    if "description" in edge:
        details = {"description": edge["description"], **details}
    lineage.put_edge(call.store, start, end, details, call.principal)
    return ApiResponse()


def put_by_name(call: Call) -> ApiResponse:
    details: Data = call.read(lineage.DETAILS)
    start, end = _endpoints_by_name(call)
    lineage.put_edge(call.store, start, end, details, call.principal)
    return ApiResponse()


def read(call: Call) -> ApiResponse:
    details = lineage.edge_between(call.store, call.args["from"], call.args["to"])
    return ApiResponse(body={"edge": lineage.render_edge(details)})


def read_by_name(call: Call) -> ApiResponse:
    start, end = _endpoints_by_name(call)
    return ApiResponse(body={"edge": lineage.render_edge(lineage.edge_between(call.store, start.id, end.id))})


def patch(call: Call) -> ApiResponse:
    return _patch(call, call.args["from"], call.args["to"])


def patch_by_name(call: Call) -> ApiResponse:
    start, end = _endpoints_by_name(call)
    return _patch(call, start.id, end.id)


def _patch(call: Call, start: str, end: str) -> ApiResponse:
    details = call.store.edges.get((start, end))
    if details is None:
        endpoints = f"{call.args['fromType']} {start} and {call.args['toType']} {end}"
        raise ApiError(404, f"Lineage edge not found between {endpoints}")
    new = copy.deepcopy(details)
    apply(new, operations_in(call.json()))
    changed = new != details
    if changed:
        new |= {"updatedAt": call.store.now(), "updatedBy": call.principal.name}
        call.store.edges[start, end] = new
    change = "entityUpdated" if changed else "entityNoChange"
    return ApiResponse(body=lineage.render_edge(new), headers={"X-OpenMetadata-Change": change})


def delete(call: Call) -> ApiResponse:
    lineage.delete_edge(call.store, call.args["from"], call.args["to"], call.principal)
    return ApiResponse()


def delete_by_name(call: Call) -> ApiResponse:
    start, end = _endpoints_by_name(call)
    lineage.delete_edge(call.store, start.id, end.id, call.principal)
    return ApiResponse()


def delete_by_source(call: Call) -> ApiResponse:
    lineage.delete_by_source(call.store, call.args["id"], call.args["source"])
    return ApiResponse()


def read_graph(call: Call) -> ApiResponse:
    """Return the graph around an entity, up to three steps in each direction."""
    depths = {side: call.number(f"{side}Depth", 1) for side in ("downstream", "upstream")}
    too_deep = [side for side, depth in depths.items() if depth > _MAX_DEPTH]
    if too_deep:
        raise validation_error(*(f"{side}Depth must be less than or equal to {_MAX_DEPTH}" for side in too_deep))
    entity = _find_entity(
        call, call.args["type"], call.args.get("fqn"), call.args.get("id", ""), include_deleted=True
    )
    return ApiResponse(body=graph(call.store, call.base, entity, depths["upstream"], depths["downstream"]))


def _endpoints_by_name(call: Call) -> tuple[Entity, Entity]:
    start = _find_entity(call, call.args["fromType"], call.args["fromFqn"])
    return start, _find_entity(call, call.args["toType"], call.args["toFqn"])


def _find_entity(call: Call, type_: str, fqn: str | None, id_: str = "", include_deleted: bool = False) -> Entity:
    kind = BY_NAME.get(type_)
    if kind is None:
        raise ApiError(404, f"Entity repository for {type_} not found. Is the ENTITY_TYPE_MAP initialized?")
    entity = call.store.find(kind, fqn) if fqn is not None else call.store.get(kind, id_)
    if entity is None or (entity.deleted and not include_deleted):
        raise not_found(type_, fqn if fqn is not None else id_)
    return entity
