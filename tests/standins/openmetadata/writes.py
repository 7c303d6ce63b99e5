"""Handlers that write single entities."""

from tests.standins.openmetadata import entities
from tests.standins.openmetadata.columns import fill_lists
from tests.standins.openmetadata.derived import derived_fields
from tests.standins.openmetadata.errors import ApiError, not_found, unhandled_exception
from tests.standins.openmetadata.etag import strong_etag
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.governance_kinds import USER
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.labels import add_label_times
from tests.standins.openmetadata.patch import operations_in, patch
from tests.standins.openmetadata.reads import find_entity, find_entity_for_delete
from tests.standins.openmetadata.shapes import Shape, uuid
from tests.standins.openmetadata.state import Data
from tests.standins.openmetadata.versions import Outcome, last_change
from tests.standins.openmetadata.views import CREATED, DELETED, PATCHED, REPLACED, View, render

_RESTORE = Shape({"id": uuid}, required="id")
_NO_REQUEST = 'Cannot invoke "org.openmetadata.schema.CreateEntity.getOwners()" because "request" is null'


def read_create(call: Call, kind: Kind) -> Data:
    """Parse a create request; an empty body is an unhandled exception on the server."""
    if call.raw.strip() in (b"", b"null"):
        raise unhandled_exception(_NO_REQUEST)
    request: Data = call.read(kind.shape)
    fill_lists(request.get("columns", []))
    return request


def create(call: Call, kind: Kind) -> ApiResponse:
    prepared = entities.prepare(call.store, kind, read_create(call, kind))
    outcome = entities.create(call.store, prepared, call.principal)
    response = respond(call, outcome, CREATED)
    # Unlike PUT, POST does not return the change header.
    response.headers = {"Location": response.body["href"]}
    return response


def replace(call: Call, kind: Kind) -> ApiResponse:
    prepared = entities.prepare(call.store, kind, read_create(call, kind))
    outcome = entities.put(call.store, prepared, call.principal)
    if outcome.change == "entityCreated":
        return respond(call, outcome, CREATED)
    if not prepared.labels:
        outcome.data = {name: value for name, value in outcome.data.items() if name != "tags"}
    return respond(call, outcome, REPLACED)


def respond(call: Call, outcome: Outcome, view: View, etag: bool = True) -> ApiResponse:
    """Build the response to a write, and add times to new labels afterwards: the response does not include them."""
    kind = outcome.entity.kind
    body = render(call.base, outcome.entity, view, outcome.data)
    if view in (CREATED, REPLACED):
        empty = kind.empty_on_create if view is CREATED else kind.shown_on_replace
        body |= {name: [] for name in empty if name not in body}
    if kind is USER:
        body |= derived_fields(call.store, call.base, outcome.entity, {"roles"})
    if view in (REPLACED, CREATED) and outcome.data.get("tags"):
        body["tags"] = outcome.data["tags"]
    outcome.entity.data = add_label_times(outcome.entity.data, call.store.governance, call.principal.name)
    change_description = None if view is CREATED else last_change(outcome.entity.data)
    call.store.events.record(outcome.change, kind.name, body, call.principal.name, change_description)
    status = 201 if outcome.change == "entityCreated" else 200
    return ApiResponse(status, body, {"X-OpenMetadata-Change": outcome.change}, etag)


def change(call: Call, kind: Kind) -> ApiResponse:
    """PATCH an entity; If-Match accepts the weak version tag or `*`."""
    entity = find_entity(call, kind)
    operations = operations_in(call.json())
    expected = call.headers.get("if-match")
    if expected is not None and expected not in ("*", f'W/"{entity.data["version"]}"'):
        current = strong_etag(render(call.base, entity, PATCHED))
        raise ApiError(
            412,
            f"The entity has been modified. Current ETag: {current}. Please refresh and retry with the latest version.",
        )
    outcome = patch(call.store, entity, operations, call.principal, locked=expected is not None)
    return respond(call, outcome, PATCHED)


def delete(call: Call, kind: Kind) -> ApiResponse:
    entity = find_entity_for_delete(call, kind)
    outcome = entities.delete(call.store, entity, call.principal, call.flag("hardDelete"), call.flag("recursive"))
    return respond(call, outcome, DELETED, etag=False)


def restore(call: Call, kind: Kind) -> ApiResponse:
    key = call.read(_RESTORE)["id"]
    entity = call.store.get(kind, key)
    if entity is None:
        raise not_found(kind.name, key)
    return respond(call, entities.restore(call.store, entity, call.principal), DELETED)
