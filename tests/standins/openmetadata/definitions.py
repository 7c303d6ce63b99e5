"""Calls about test definitions: what external checks are said to test; owners and domains are not kept."""

from tests.standins.openmetadata.changes import Change, next_version
from tests.standins.openmetadata.checks import Data, Definition
from tests.standins.openmetadata.errors import ApiError, not_found
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.names import quoted
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
#: What a bot's PUT does not take away once it is there.
_TEXTS = ("description", "displayName")


def revised(old: Data, wanted: Data, own: tuple[str, ...], call: Call) -> tuple[Data, str]:
    """Put a request over what is stored; gives what to show, and the header's word for it."""
    new = {name: value for name, value in old.items() if name not in own} | wanted
    for name in _TEXTS if call.who.bot else ():
        if old.get(name):
            new[name] = old[name]
    change = Change()
    for name in own:
        change.scalar(name, old.get(name), new.get(name))
    described = change.described(old["version"], {} if change else None)
    if not change:
        return {**old, "incrementalChangeDescription": described}, "entityNoChange"
    new |= {
        "version": next_version(old["version"], change),
        "updatedAt": call.store.now(),
        "updatedBy": call.who.name,
    }
    return {**new, "changeDescription": described, "incrementalChangeDescription": described}, "entityUpdated"


def put(call: Call) -> ApiResponse:
    """Make or replace a definition; the platforms are looked at last, and by no constraint."""
    wanted = _wanted(call.read(DEFINITION))
    name = quoted(wanted["name"])
    known = call.store.checks.definitions
    if name not in known:
        known[name] = Definition(_new(call, wanted, name))
        body = _shown(call, known[name])
        call.store.events.note("entityCreated", _TYPE, body, call.who.name)
        return ApiResponse(201, body, {"X-OpenMetadata-Change": "entityCreated"}, etag=True)
    shown, word = revised(known[name].data, wanted, _OWN, call)
    if word == "entityUpdated":
        known[name].data = shown
    body = _shown(call, known[name], {**shown, "owners": []})
    call.store.events.note(word, _TYPE, body, call.who.name, shown["incrementalChangeDescription"])
    return ApiResponse(200, body, {"X-OpenMetadata-Change": word}, etag=True)


def _wanted(request: Data) -> Data:
    if not request.get("testPlatforms"):
        raise ApiError(400, "testPlatforms must not be empty")
    parameters = [{"optionValues": [], **one} for one in request.get("parameterDefinition", [])]
    kept = {name: request[name] for name in ("name", *_OWN) if name in request}
    return {name: [] for name in _LISTS} | kept | {"parameterDefinition": parameters}


def _new(call: Call, wanted: Data, fqn: str) -> Data:
    return {
        **wanted,
        "fullyQualifiedName": fqn,
        "provider": "user",
        "version": 0.1,
        "updatedAt": call.store.now(),
        "updatedBy": call.who.name,
        "deleted": False,
        "supportsRowLevelPassedFailed": False,
        "supportsDynamicAssertion": False,
        "enabled": True,
    }


def _shown(call: Call, definition: Definition, data: Data | None = None) -> Data:
    href = f"{call.base}/api/v1/dataQuality/testDefinitions/{definition.id}"
    return {"id": definition.id, **(data or definition.data), "href": href}


def read(call: Call) -> ApiResponse:
    found = call.store.checks.definition(call.args["fqn"])
    if found is None:
        raise not_found("testDefinition", call.args["fqn"])
    return ApiResponse(body=_shown(call, found), etag=True)
