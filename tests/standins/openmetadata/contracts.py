"""Handlers of data contracts. Unverified: no recording covers them; they follow the models and the server's source."""

import uuid

from tests.standins.openmetadata.columns import by_path
from tests.standins.openmetadata.create_shapes import COLUMN, REFERENCE
from tests.standins.openmetadata.errors import ApiError, no_entity
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.shapes import Shape, anything, choice, entity_name, list_of, text
from tests.standins.openmetadata.state import Data

_CONTRACT = Shape(
    {
        "name": entity_name(256),
        **dict.fromkeys(("displayName", "description"), text),
        "entity": REFERENCE,
        "entityStatus": choice("Draft", "In Review", "Approved", "Deprecated", "Rejected", "Unprocessed"),
        "schema": list_of(COLUMN),
        "sla": anything,
    },
    required="name entity",
)


def put(call: Call) -> ApiResponse:
    """Create or replace the contract of an entity, which has at most one."""
    request: Data = call.read(_CONTRACT)
    entity = call.store.by_id.get(request["entity"]["id"])
    if entity is None or entity.deleted:
        raise no_entity(request["entity"]["type"], request["entity"]["id"])
    columns = by_path(entity.data.get("columns", []))
    for column in request.get("schema", []):
        if columns and column["name"] not in columns:
            raise ApiError(
                400,
                f"Field '{column['name']}' specified in the data contract does not exist in table '{entity.name}'",
            )
    existing = _of_entity(call, entity.id)
    if existing is not None and existing["name"] != request["name"]:
        raise ApiError(400, f"A data contract already exists for entity '{entity.kind.name}' with ID {entity.id}")
    contract = {
        **request,
        "id": existing["id"] if existing else str(uuid.uuid4()),
        "fullyQualifiedName": f"{entity.fqn}.dataContract_{request['name']}",
    }
    call.store.contracts[contract["id"]] = contract
    return ApiResponse(200 if existing else 201, contract)


def _of_entity(call: Call, entity: str) -> Data | None:
    contracts = call.store.contracts.values()
    return next((contract for contract in contracts if contract["entity"]["id"] == entity), None)


def read_of_entity(call: Call) -> ApiResponse:
    contract = _of_entity(call, call.query["entityId"])
    if contract is None:
        raise no_entity("dataContract", call.query["entityId"])
    return ApiResponse(body=contract)


def delete(call: Call) -> ApiResponse:
    contract = call.store.contracts.pop(call.args["id"], None)
    if contract is None:
        raise no_entity("dataContract", call.args["id"])
    return ApiResponse(body=contract)
