"""Handlers that read single entities and their versions."""

import json
from functools import lru_cache

from tests.standins.openmetadata import pipelines, properties
from tests.standins.openmetadata.derived import derived_fields
from tests.standins.openmetadata.errors import no_entity, no_route, not_found
from tests.standins.openmetadata.exchange import ApiResponse, Call, check_fields, check_include
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.shapes import is_uuid
from tests.standins.openmetadata.state import Data, Entity
from tests.standins.openmetadata.views import VERSION, View, render

_RELATIONS = ("owners", "tags", "followers", "domains", "dataProducts", "votes")


def find_entity(call: Call, kind: Kind, include: str = "non-deleted") -> Entity:
    """Find the entity named in the path, by id or FQN."""
    key = call.args.get("fqn") or call.args["id"]
    if "fqn" not in call.args and not is_uuid(key):
        raise no_route()
    entity = call.store.find(kind, key) if "fqn" in call.args else call.store.get(kind, key)
    if entity is None or (include != "all" and entity.deleted != (include == "deleted")):
        raise not_found(kind.name, key)
    return entity


def find_entity_for_delete(call: Call, kind: Kind) -> Entity:
    """Find the entity to delete, which may already be soft-deleted."""
    if "fqn" in call.args and call.store.find(kind, call.args["fqn"]) is None:
        raise no_entity(kind.name, call.args["fqn"])
    return find_entity(call, kind, include="all")


@lru_cache(maxsize=256)
def _view(fields: frozenset[str]) -> View:
    return View(
        shows=tuple(name for name in _RELATIONS if name in fields),
        if_set=tuple(name for name in ("extension", "certification") if name in fields),
        with_own=fields,
        column_labels="tags" in fields,
    )


def render_fields(call: Call, entity: Entity, fields: set[str]) -> Data:
    """Render an entity with the requested fields."""
    out = render(call.base, entity, _view(frozenset(fields)), all_own=False)
    if "customProperties" in fields:
        out["customProperties"] = properties.rows(call.base, out.get("customProperties", []))
    out |= derived_fields(call.store, call.base, entity, fields)
    if "pipelineStatus" in fields:
        status = pipelines.latest(call.store, entity)
        if status is not None:
            out["pipelineStatus"] = status
    suite = call.store.checks.suites.get(entity.id)
    if suite is not None and "testSuite" in fields:
        out["testSuite"] = suite.reference()
    return out


def read(call: Call, kind: Kind) -> ApiResponse:
    fields = check_fields(kind, call.query)
    entity = find_entity(call, kind, check_include(call.query))
    return ApiResponse(body=render_fields(call, entity, fields), etag=True)


def versions(call: Call, kind: Kind) -> ApiResponse:
    """List the versions of an entity, newest first."""
    entity = find_entity(call, kind, include="all")
    states = [entity.data, *reversed(entity.history)]
    rendered = [json.dumps(render("", entity, VERSION, state), separators=(",", ":")) for state in states]
    return ApiResponse(body={"entityType": kind.name, "versions": rendered})


def version(call: Call, kind: Kind) -> ApiResponse:
    entity = find_entity(call, kind, include="all")
    for state in (entity.data, *entity.history):
        if str(state["version"]) == call.args["version"]:
            return ApiResponse(body=render("", entity, VERSION, state), etag=True)
    raise not_found(kind.name, f"{entity.id} version {call.args['version']}")
