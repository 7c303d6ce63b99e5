"""Handlers of test definitions; owners and domains are not implemented."""

from tests.standins.openmetadata.changes import Change, next_version
from tests.standins.openmetadata.checks import Data, Definition
from tests.standins.openmetadata.errors import ApiError, not_found
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.names import quote_name
from tests.standins.openmetadata.quality_shapes import DEFINITION

_OWN = (
    "displayName",
    "description",
    "entityType",
    "testPlatforms",
    "supportedDataTypes",
    "parameterDefinition",
    "dataQualityDimension",
    "supportedServices",
    "sqlExpression",
    "validatorClass",
)
_TYPE = "testDefinition"
_LISTS = ("supportedDataTypes", "parameterDefinition", "supportedServices")
#: Properties that a PUT by a bot does not change once they are set.
_TEXTS = ("description", "displayName")


def revise(old: Data, values: Data, own: tuple[str, ...], call: Call) -> tuple[Data, str]:
    """Merge a request into the stored data; returns the new data and the type of the change."""
    new = {name: value for name, value in old.items() if name not in own} | values
    for name in _TEXTS if call.principal.bot else ():
        if old.get(name):
            new[name] = old[name]
    change = Change()
    for name in own:
        change.scalar(name, old.get(name), new.get(name))
    described = change.describe(old["version"], {} if change else None)
    if not change:
        return {**old, "incrementalChangeDescription": described}, "entityNoChange"
    new |= {
        "version": next_version(old["version"], change),
        "updatedAt": call.store.now(),
        "updatedBy": call.principal.name,
    }
    return {**new, "changeDescription": described, "incrementalChangeDescription": described}, "entityUpdated"


def put(call: Call) -> ApiResponse:
    """Create or replace a definition. Missing platforms are reported after all constraint violations."""
    values = _definition_values(call.read(DEFINITION))
    name = quote_name(values["name"])
    definitions = call.store.checks.definitions
    if name not in definitions:
        definitions[name] = Definition(_new(call, values, name))
        body = _render(call, definitions[name])
        call.store.events.record("entityCreated", _TYPE, body, call.principal.name)
        return ApiResponse(201, body, {"X-OpenMetadata-Change": "entityCreated"}, etag=True)
    revised_data, change = revise(definitions[name].data, values, _OWN, call)
    if change == "entityUpdated":
        definitions[name].data = revised_data
    body = _render(call, definitions[name], {**revised_data, "owners": []})
    call.store.events.record(change, _TYPE, body, call.principal.name, revised_data["incrementalChangeDescription"])
    return ApiResponse(200, body, {"X-OpenMetadata-Change": change}, etag=True)


def _definition_values(request: Data) -> Data:
    if not request.get("testPlatforms"):
        raise ApiError(400, "testPlatforms must not be empty")
    parameters = [{"optionValues": [], **parameter} for parameter in request.get("parameterDefinition", [])]
    values = {name: request[name] for name in ("name", *_OWN) if name in request}
    return {name: [] for name in _LISTS} | values | {"parameterDefinition": parameters}


def _new(call: Call, values: Data, fqn: str) -> Data:
    return {
        **values,
        "fullyQualifiedName": fqn,
        "provider": "user",
        "version": 0.1,
        "updatedAt": call.store.now(),
        "updatedBy": call.principal.name,
        "deleted": False,
        "supportsRowLevelPassedFailed": False,
        "supportsDynamicAssertion": False,
        "enabled": True,
    }


def _render(call: Call, definition: Definition, data: Data | None = None) -> Data:
    href = f"{call.base}/api/v1/dataQuality/testDefinitions/{definition.id}"
    return {"id": definition.id, **(data or definition.data), "href": href}


def read(call: Call) -> ApiResponse:
    found = call.store.checks.definition(call.args["fqn"])
    if found is None:
        raise not_found("testDefinition", call.args["fqn"])
    return ApiResponse(body=_render(call, found), etag=True)
