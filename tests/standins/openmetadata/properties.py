"""Custom properties: definitions and validation of values."""

from typing import Any

from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.errors import ApiError

_TEXT = {"type": "string"}
#: Field types: description and JSON schema.
FIELD_TYPES: dict[str, tuple[str, Data]] = {
    "string": ("A String type.", _TEXT),
    "integer": ("An integer type.", {"type": "integer"}),
    "number": ("A numeric type that includes integer or floating point numbers.", {"type": "number"}),
    "markdown": ("Text in Markdown format.", _TEXT),
    "sqlQuery": ("SQL query statement. Example - 'select * from orders'.", _TEXT),
    "email": ("Email address of a user or other entities.", _TEXT),
    "duration": ("Duration in ISO 8601 format in UTC. Example - 'P23DT23H'.", _TEXT),
    "date-cp": ("Date as defined in custom property.", _TEXT),
    "dateTime-cp": ("Date and time as defined in custom property.", _TEXT),
    "time-cp": ("Time as defined in custom property.", _TEXT),
    "timestamp": ("Timestamp in Unix epoch time milliseconds.", {"type": "integer"}),
    "timeInterval": ("Time interval in unixTimeMillis.", {"type": "object"}),
    "enum": ("List of values in Enum.", {"type": "array"}),
    "entityReference": ("Entity Reference for Custom Property.", {"type": "object"}),
    "entityReferenceList": ("Entity Reference List for Custom Property.", {"type": "array"}),
    "hyperlink-cp": ("Hyperlink as defined in custom property.", {"type": "object"}),
    "table-cp": (
        "A table-type custom property having rows and columns where all column data types are strings.",
        {"type": "object"},
    ),
}
_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def build_property(request: Data, field_type: Entity) -> Data:
    """Build the definition of a custom property; enum values are sorted."""
    out = {name: request[name] for name in ("name", "displayName", "description") if name in request}
    out["propertyType"] = field_type.reference()
    config = (request.get("customPropertyConfig") or {}).get("config")
    if field_type.name == "enum":
        if not isinstance(config, dict) or not config.get("values"):
            raise ApiError(400, "Enum Custom Property Type must have customPropertyConfig.")
        values = config["values"]
        if len(set(values)) != len(values):
            raise ApiError(400, "Enum Custom Property values cannot have duplicates.")
        config = {"values": sorted(values), "multiSelect": bool(config.get("multiSelect", False))}
    if config is not None:
        out["customPropertyConfig"] = {"config": config}
    return out


def check_values(properties: list[Data], values: Data) -> Data:
    """Validate values of custom properties, and sort them by name."""
    definitions = {definition["name"]: definition for definition in properties}
    for name, value in values.items():
        if name not in definitions:
            raise ApiError(400, f"Unknown custom field {name}")
        _check(definitions[name], name, value)
    return dict(sorted(values.items()))


def _check(definition: Data, name: str, value: Any) -> None:
    expected = FIELD_TYPES[definition["propertyType"]["name"]][1]["type"]
    actual = _JSON_TYPES.get(type(value), "null")
    if actual != expected and (actual, expected) != ("integer", "number"):
        raise ApiError(400, f"Custom field {name} has invalid JSON [: {actual} found, {expected} expected]")
    if definition["propertyType"]["name"] != "enum":
        return
    config = definition["customPropertyConfig"]["config"]
    if len(value) > 1 and not config["multiSelect"]:
        raise ApiError(400, f"Only one value allowed for {name} property")
    if unknown := [item for item in value if item not in config["values"]]:
        raise ApiError(400, f"Values '[{', '.join(unknown)}]' not supported for property {name}")


def rows(base: str, properties: list[Data]) -> list[Data]:
    """Render custom properties with links to their types."""
    out: list[Data] = []
    for definition in properties:
        field_type: Data = definition["propertyType"]
        href = f"{base}/api/v1/metadata/types/{field_type['id']}"
        out.append({**definition, "propertyType": {**field_type, "href": href}})
    return out
