"""Types of entities and of fields, and the custom properties that entities of a type may have."""

import json

from tests.standins.openmetadata.changes import Change, json_text
from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.errors import ApiError, not_found
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.governance_kinds import EVERY, TYPE
from tests.standins.openmetadata.properties import FIELD_TYPES, property_of, rows
from tests.standins.openmetadata.reads import named
from tests.standins.openmetadata.state import Store
from tests.standins.openmetadata.text import stored
from tests.standins.openmetadata.versions import change_of, settle
from tests.standins.openmetadata.views import View, render

_WRITTEN = View(with_own=("customProperties",))
_DESCRIPTIONS = {
    "table": "A `Table` entity organizes data in rows and columns and is defined in a `Database Schema`.",
}


def furnish(store: Store) -> None:
    """Give a store the types that every server has."""
    for name, (description, schema) in FIELD_TYPES.items():
        told = {"$comment": "@om-field-type", "description": description, **schema}
        _add(store, name, {"category": "field", "nameSpace": "basic", "schema": json.dumps(told)}, description)
    for kind in EVERY:
        if kind is not TYPE:
            description = _DESCRIPTIONS.get(kind.name, f"A `{kind.name}` entity.")
            told = {"$comment": "@om-entity-type", "description": description, "type": "object"}
            more: Data = {"nameSpace": "services" if kind.is_service else "data", "customProperties": []}
            _add(store, kind.name, {"category": "entity", "schema": json.dumps(told), **more}, description)


def _add(store: Store, name: str, more: Data, description: str) -> None:
    """Add a type as a server that was started twice has it: it has escaped what it wrote itself."""
    raw = f'"{description}"'
    change = Change()
    change.update("description", raw, stored(raw))
    type_ = Entity(TYPE, None, name)
    before = {**type_.data, "displayName": name, **more, "updatedAt": store.now(), "updatedBy": "admin"}
    type_.history.append({**before, "description": raw})
    described = change.described(0.1, change.summary({}, "admin", before["updatedAt"], source=True))
    both = dict.fromkeys(("changeDescription", "incrementalChangeDescription"), described)
    type_.data = {**before, **both, "description": stored(raw), "version": 0.2}
    store.add(type_)


def define(call: Call) -> ApiResponse:
    """Let entities of a type have a custom property, or change one that they have."""
    type_ = named(call, TYPE)
    request: Data = call.read(TYPE.shape)
    of = call.store.get(TYPE, request["propertyType"]["id"])
    if of is None:
        raise not_found(TYPE.name, request["propertyType"]["id"])
    if type_.data["category"] != "entity":
        raise ApiError(400, "Only entity types can be extended and field types can't be extended")
    wanted = property_of(request, of)
    old: list[Data] = type_.data["customProperties"]
    others = [one for one in old if one["name"] != wanted["name"]]
    new = {**type_.data, "customProperties": sorted([*others, wanted], key=lambda one: str(one["name"]))}
    outcome = settle(call.store, type_, new, _change(old, wanted), call.who)
    data = {**outcome.data, "customProperties": [wanted, *others]}
    body = render(call.base, type_, _WRITTEN, data, every_own=False)
    body["customProperties"] = rows(call.base, [wanted, *others])
    del body["customProperties"][0]["propertyType"]["deleted"]
    call.store.events.note(outcome.change, TYPE.name, body, call.who.name, change_of(outcome.entity.data))
    return ApiResponse(
        body={**body, "dataProducts": []}, headers={"X-OpenMetadata-Change": outcome.change}, etag=True
    )


def _change(old: list[Data], wanted: Data) -> Change:
    """Tell what a definition changes: of another type it is another property, and its values always count as new."""
    change = Change()
    name = wanted["name"]
    before = next((one for one in old if one["name"] == name), None)
    if before is None or before["propertyType"]["id"] != wanted["propertyType"]["id"]:
        if before is not None:
            change.delete("customProperties", json_text([before]))
        change.add("customProperties", json_text([wanted]))
        return change
    for field in ("description", "displayName"):
        change.scalar(f"customProperties.{name}.{field}", before.get(field), wanted.get(field))
    if "customPropertyConfig" in wanted:
        field = f"customProperties.{name}.customPropertyConfig"
        change.update(field, before.get("customPropertyConfig"), wanted["customPropertyConfig"])
    return change
