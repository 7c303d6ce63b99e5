"""Compares recorded answers with those of a stand-in: what two servers can agree in."""

import json
import re
from typing import Any

Json = dict[str, Any]

#: What no two servers have in common: moments, addresses, and entity tags.
_MOMENTS = {
    "updatedAt",
    "createdAt",
    "changedAt",
    "appliedDate",
    "expiryDate",
    "appliedAt",
    "href",
    "after",
    "before",
    # of a type: the whole text of a JSON schema
    "schema",
}
_TAG = re.compile(r'(Current ETag: )"[0-9a-f]+"')
#: Incidents are recorded by nothing but this text and the ids of their states.
_INCIDENT = re.compile(r"(testCaseResolutionStatus )[0-9a-f-]{36}")
_DOCUMENT = re.compile(r"The JSON Object '.*' contains", re.DOTALL)
#: Of incidents and suites the stand-in keeps what results need, no more.
_INCIDENTS = ("incidentStatus", "testSuites")
#: What the stand-in knows of labels is what a test tells it.
_LABEL_TEXTS = ("description", "displayName", "style")


def normal(value: Any, key: str = "") -> Any:
    """Bring an answer into a form that two servers can agree in."""
    if isinstance(value, dict):
        return _normal_object(value)
    if isinstance(value, list):
        items = [normal(item, key) for item in value]
        if key in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted", "nodes", "upstreamEdges", "downstreamEdges"):
            items.sort(key=json.dumps)
        return items
    if key in _MOMENTS and not isinstance(value, bool):
        return "*"
    if isinstance(value, str):
        if key in ("oldValue", "newValue") and value[:1] in "[{":
            read = normal(json.loads(value))
            return sorted(read, key=json.dumps) if isinstance(read, list) else read
        return _DOCUMENT.sub("The JSON Object * contains", _TAG.sub(r"\1*", _INCIDENT.sub(r"\1*", value)))
    return value


def _normal_object(value: Json) -> Json:
    out = {name: normal(item, name) for name, item in sorted(value.items())}
    if "tagFQN" in out:
        out = {name: item for name, item in out.items() if name not in _LABEL_TEXTS}
    if out.get("type") in ("domain", "dataProduct"):
        # Whether these are shown changes from answer to answer.
        out.pop("deleted", None)
        out.pop("description", None)
    if isinstance(out.get("id"), str):
        out["id"] = "*"
    if "eventType" in out:
        out |= {"entityId": "*", "timestamp": "*", "entity": normal(json.loads(value["entity"]))}
        if out["entityType"] == "testCase":
            out["entity"] = {key: item for key, item in out["entity"].items() if key not in _INCIDENTS}
    return out


def compare(recorded: Any, ours: Any, path: str = "") -> list[str]:
    """Tell where two answers differ."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        out = [
            f"{path}.{name} is missing: {json.dumps(recorded[name])[:200]}" for name in recorded if name not in ours
        ]
        out += [f"{path}.{name} is too much: {json.dumps(ours[name])[:200]}" for name in ours if name not in recorded]
        for name in recorded.keys() & ours.keys():
            out += compare(recorded[name], ours[name], f"{path}.{name}")
        return out
    if isinstance(recorded, list) and isinstance(ours, list) and len(recorded) == len(ours):
        return [
            line
            for number, (one, other) in enumerate(zip(recorded, ours, strict=True))
            for line in compare(one, other, f"{path}[{number}]")
        ]
    if recorded != ours or isinstance(recorded, bool) != isinstance(ours, bool):
        return [f"{path}: {json.dumps(ours)[:300]} instead of {json.dumps(recorded)[:300]}"]
    return []
