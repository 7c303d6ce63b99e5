"""Labels and custom properties that the governance recording expects from an earlier run."""

from typing import Any

from tests.standins.replay import Json
from tests.standins.replay_requests import COLUMN, delete, post, put, schema, tables

_RULE = {"name": "r", "effect": "deny", "resources": ["nope"], "operations": ["ViewAll"]}
_TABLE, _STRING = "e145fccc-8aa1-48d2-9be0-2721b5e11bac", "d4720160-0a63-4999-bf0c-35ea81dff114"
_INTEGER, _ENUM = "540057c2-9418-4a44-8cf8-ee2b5516f821", "25634910-c8c2-44da-bdc8-7c8ca94ed327"
_PROPERTIES = {"lbRunId": "last run", "lbOwnerTool": "tool", "lb.dot": "x"}


def tag(classification: str, name: str, description: str) -> Json:
    return put("tags", {"name": name, "description": description, "classification": classification})


def custom_property(name: str, type_id: str, description: str, **config: Any) -> Json:
    """Define a custom property of tables, by the recorded ids of the types."""
    body: Json = {"name": name, "description": description, "propertyType": {"id": type_id, "type": "type"}}
    config_body = {"customPropertyConfig": {"config": config}} if config else {}
    return put(f"metadata/types/{_TABLE}", body | config_body, "admin")


STEPS = [
    *schema("lb_gov"),
    *tables("lb_gov.d.s", "t", columns=[COLUMN, {"name": "mail", "dataType": "STRING"}]),
    put("classifications", {"name": "lbClass", "description": "labels of the bridge"}),
    put("classifications", {"name": "lbExcl", "description": "one of", "mutuallyExclusive": True}),
    tag("lbClass", "Raw", "raw data"),
    tag("lbExcl", "A", "a"),
    tag("lbExcl", "B", "b"),
    *[tag("lbClass", "v1.2", "x"), delete("tags/name/lbClass.%22v1.2%22")] * 4,
    # unknown resources are accepted
    post("policies", {"name": "lbPolicyX2", "rules": [_RULE]}, "admin"),
    *(custom_property(name, _STRING, description) for name, description in _PROPERTIES.items()),
    custom_property("lbCount", _INTEGER, "count"),
    *(custom_property("lbLevel", _ENUM, "level", values=["low", "high"], multiSelect=False) for _ in range(4)),
]
