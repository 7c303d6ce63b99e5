"""Compares recorded responses with those of a stand-in, ignoring generated values."""

import json
import re
from typing import Any

Json = dict[str, Any]

#: Values that differ between servers: times, URLs and cursors.
_VOLATILE = {
    "updatedAt",
    "createdAt",
    "changedAt",
    "appliedDate",
    "expiryDate",
    "appliedAt",
    "href",
    "after",
    "before",
    # JSON schemas of types
    "schema",
}
_TAG = re.compile(r'(Current ETag: )"[0-9a-f]+"')
#: The only trace of incidents in the recordings, apart from ids.
_INCIDENT = re.compile(r"(testCaseResolutionStatus )[0-9a-f-]{36}")
_DOCUMENT = re.compile(r"The JSON Object '.*' contains", re.DOTALL)
#: The stand-in implements incidents and suites only as far as results need them.
_INCIDENTS = ("incidentStatus", "testSuites")
#: Label texts of the stand-in come from the test.
_LABEL_TEXTS = ("description", "displayName", "style")


def normalize(value: Any, key: str = "") -> Any:
    """Replace volatile values and sort unordered lists."""
    if isinstance(value, dict):
        return _normalize_object(value)
    if isinstance(value, list):
        items = [normalize(item, key) for item in value]
        if key in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted", "nodes", "upstreamEdges", "downstreamEdges"):
            items.sort(key=json.dumps)
        return items
    if key in _VOLATILE and not isinstance(value, bool):
        return "*"
    if isinstance(value, str):
        if key in ("oldValue", "newValue") and value[:1] in "[{":
            parsed = normalize(json.loads(value))
            return sorted(parsed, key=json.dumps) if isinstance(parsed, list) else parsed
        return _DOCUMENT.sub("The JSON Object * contains", _TAG.sub(r"\1*", _INCIDENT.sub(r"\1*", value)))
    return value


def _normalize_object(value: Json) -> Json:
    out = {name: normalize(item, name) for name, item in sorted(value.items())}
    if "tagFQN" in out:
        out = {name: item for name, item in out.items() if name not in _LABEL_TEXTS}
    if out.get("type") in ("domain", "dataProduct"):
        # The server includes these only in some responses.
        out.pop("deleted", None)
        out.pop("description", None)
    if isinstance(out.get("id"), str):
        out["id"] = "*"
    if "eventType" in out:
        out |= {"entityId": "*", "timestamp": "*", "entity": normalize(json.loads(value["entity"]))}
        if out["entityType"] == "testCase":
            out["entity"] = {key: item for key, item in out["entity"].items() if key not in _INCIDENTS}
    return out


def compare(recorded: Any, actual: Any, path: str = "") -> list[str]:
    """List the differences between two responses."""
    if isinstance(recorded, dict) and isinstance(actual, dict):
        out = [
            f"{path}.{name} is missing: {json.dumps(recorded[name])[:200]}" for name in recorded if name not in actual
        ]
        out += [
            f"{path}.{name} is unexpected: {json.dumps(actual[name])[:200]}"
            for name in actual
            if name not in recorded
        ]
        for name in recorded.keys() & actual.keys():
            out += compare(recorded[name], actual[name], f"{path}.{name}")
        return out
    if isinstance(recorded, list) and isinstance(actual, list) and len(recorded) == len(actual):
        return [
            line
            for number, items in enumerate(zip(recorded, actual, strict=True))
            for line in compare(*items, f"{path}[{number}]")
        ]
    if recorded != actual or isinstance(recorded, bool) != isinstance(actual, bool):
        return [f"{path}: {json.dumps(actual)[:300]} instead of {json.dumps(recorded)[:300]}"]
    return []
