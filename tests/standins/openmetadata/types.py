"""Entity types, field types and custom properties."""

import json

from tests.standins.openmetadata.changes import Change, json_text
from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.errors import ApiError, not_found
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.governance_kinds import EVERY, TYPE
from tests.standins.openmetadata.properties import FIELD_TYPES, build_property, rows
from tests.standins.openmetadata.reads import find_entity
from tests.standins.openmetadata.state import Store
from tests.standins.openmetadata.text import sanitize
from tests.standins.openmetadata.versions import last_change, store_change
from tests.standins.openmetadata.views import View, render

_WRITTEN = View(with_own=("customProperties",))
_DESCRIPTIONS = {
    "table": "A `Table` entity organizes data in rows and columns and is defined in a `Database Schema`.",
}


def add_builtin_types(store: Store) -> None:
    for name, (description, schema) in FIELD_TYPES.items():
        json_schema = {"$comment": "@om-field-type", "description": description, **schema}
        _add(store, name, {"category": "field", "nameSpace": "basic", "schema": json.dumps(json_schema)}, description)
    for kind in EVERY:
        if kind is not TYPE:
            description = _DESCRIPTIONS.get(kind.name, f"A `{kind.name}` entity.")
            json_schema = {"$comment": "@om-entity-type", "description": description, "type": "object"}
            attributes: Data = {"nameSpace": "services" if kind.is_service else "data", "customProperties": []}
            _add(
                store, kind.name, {"category": "entity", "schema": json.dumps(json_schema), **attributes}, description
            )


def _add(store: Store, name: str, attributes: Data, description: str) -> None:
    """Add a type in the state after the second server start, which escapes the description."""
    raw_description = f'"{description}"'
    change = Change()
    change.update("description", raw_description, sanitize(raw_description))
    type_ = Entity(TYPE, None, name)
    initial = {**type_.data, "displayName": name, **attributes, "updatedAt": store.now(), "updatedBy": "admin"}
    type_.history.append({**initial, "description": raw_description})
    described = change.describe(0.1, change.summary({}, "admin", initial["updatedAt"], source=True))
    descriptions = dict.fromkeys(("changeDescription", "incrementalChangeDescription"), described)
    type_.data = {**initial, **descriptions, "description": sanitize(raw_description), "version": 0.2}
    store.add(type_)


def define(call: Call) -> ApiResponse:
    """Add or change a custom property of an entity type."""
    type_ = find_entity(call, TYPE)
    request: Data = call.read(TYPE.shape)
    property_type = call.store.get(TYPE, request["propertyType"]["id"])
    if property_type is None:
        raise not_found(TYPE.name, request["propertyType"]["id"])
    if type_.data["category"] != "entity":
        raise ApiError(400, "Only entity types can be extended and field types can't be extended")
    definition = build_property(request, property_type)
    old: list[Data] = type_.data["customProperties"]
    other_properties = [existing for existing in old if existing["name"] != definition["name"]]
    new = {
        **type_.data,
        "customProperties": sorted([*other_properties, definition], key=lambda item: str(item["name"])),
    }
    outcome = store_change(call.store, type_, new, _change(old, definition), call.principal)
    data = {**outcome.data, "customProperties": [definition, *other_properties]}
    body = render(call.base, type_, _WRITTEN, data, all_own=False)
    body["customProperties"] = rows(call.base, [definition, *other_properties])
    del body["customProperties"][0]["propertyType"]["deleted"]
    call.store.events.record(outcome.change, TYPE.name, body, call.principal.name, last_change(outcome.entity.data))
    return ApiResponse(
        body={**body, "dataProducts": []}, headers={"X-OpenMetadata-Change": outcome.change}, etag=True
    )


def _change(old: list[Data], definition: Data) -> Change:
    """Change of a definition. A new type replaces the property; a configuration always counts as changed."""
    change = Change()
    name = definition["name"]
    before = next((existing for existing in old if existing["name"] == name), None)
    if before is None or before["propertyType"]["id"] != definition["propertyType"]["id"]:
        if before is not None:
            change.delete("customProperties", json_text([before]))
        change.add("customProperties", json_text([definition]))
        return change
    for field in ("description", "displayName"):
        change.scalar(f"customProperties.{name}.{field}", before.get(field), definition.get(field))
    if "customPropertyConfig" in definition:
        field = f"customProperties.{name}.customPropertyConfig"
        change.update(field, before.get("customPropertyConfig"), definition["customPropertyConfig"])
    return change
