"""Writing single entities: POST, PUT, PATCH, DELETE and restore."""

from tests.standins.openmetadata import entities
from tests.standins.openmetadata.columns import with_lists
from tests.standins.openmetadata.derived import derived
from tests.standins.openmetadata.errors import ApiError, not_found, unhandled
from tests.standins.openmetadata.etag import strong_etag
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.governance_kinds import USER
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.labels import stamped
from tests.standins.openmetadata.patch import operations_in, patch
from tests.standins.openmetadata.reads import named, named_for_delete
from tests.standins.openmetadata.shapes import Shape, uuid
from tests.standins.openmetadata.state import Data
from tests.standins.openmetadata.versions import Outcome, change_of
from tests.standins.openmetadata.views import CREATED, DELETED, PATCHED, REPLACED, View, render

_RESTORE = Shape({"id": uuid}, required="id")
_NO_REQUEST = 'Cannot invoke "org.openmetadata.schema.CreateEntity.getOwners()" because "request" is null'


def read_create(call: Call, kind: Kind) -> Data:
    """Read a create request; none at all is more than the server expects."""
    if call.raw.strip() in (b"", b"null"):
        raise unhandled(_NO_REQUEST)
    request: Data = call.read(kind.shape)
    with_lists(request.get("columns", []))
    return request


def create(call: Call, kind: Kind) -> ApiResponse:
    wanted = entities.prepare(call.store, kind, read_create(call, kind))
    outcome = entities.make(call.store, wanted, call.who)
    answer = written(call, outcome, CREATED)
    # In contrast to a PUT, the server does not say here what it did.
    answer.headers = {"Location": answer.body["href"]}
    return answer


def replace(call: Call, kind: Kind) -> ApiResponse:
    wanted = entities.prepare(call.store, kind, read_create(call, kind))
    outcome = entities.put(call.store, wanted, call.who)
    if outcome.change == "entityCreated":
        return written(call, outcome, CREATED)
    if not wanted.labels:
        outcome.data = {name: value for name, value in outcome.data.items() if name != "tags"}
    return written(call, outcome, REPLACED)


def written(call: Call, outcome: Outcome, view: View, etag: bool = True) -> ApiResponse:
    """Show what a write did, and stamp new labels only afterwards: the answer does not have their times yet."""
    kind = outcome.entity.kind
    body = render(call.base, outcome.entity, view, outcome.data)
    if view in (CREATED, REPLACED):
        empty = kind.created if view is CREATED else kind.shown_replaced
        body |= {name: [] for name in empty if name not in body}
    if kind is USER:
        body |= derived(call.store, call.base, outcome.entity, {"roles"})
    if view in (REPLACED, CREATED) and outcome.data.get("tags"):
        body["tags"] = outcome.data["tags"]
    outcome.entity.data = stamped(outcome.entity.data, call.store.governance, call.who.name)
    told = None if view is CREATED else change_of(outcome.entity.data)
    call.store.events.note(outcome.change, kind.name, body, call.who.name, told)
    status = 201 if outcome.change == "entityCreated" else 200
    return ApiResponse(status, body, {"X-OpenMetadata-Change": outcome.change}, etag)


def change(call: Call, kind: Kind) -> ApiResponse:
    """PATCH an entity; If-Match takes the weak version tag or a star."""
    entity = named(call, kind)
    operations = operations_in(call.json())
    expected = call.headers.get("if-match")
    if expected is not None and expected not in ("*", f'W/"{entity.data["version"]}"'):
        current = strong_etag(render(call.base, entity, PATCHED))
        raise ApiError(
            412,
            f"The entity has been modified. Current ETag: {current}. Please refresh and retry with the latest version.",
        )
    outcome = patch(call.store, entity, operations, call.who, locked=expected is not None)
    return written(call, outcome, PATCHED)


def delete(call: Call, kind: Kind) -> ApiResponse:
    entity = named_for_delete(call, kind)
    outcome = entities.delete(call.store, entity, call.who, call.flag("hardDelete"), call.flag("recursive"))
    return written(call, outcome, DELETED, etag=False)


def restore(call: Call, kind: Kind) -> ApiResponse:
    key = call.read(_RESTORE)["id"]
    entity = call.store.get(kind, key)
    if entity is None:
        raise not_found(kind.name, key)
    return written(call, entities.restore(call.store, entity, call.who), DELETED)
