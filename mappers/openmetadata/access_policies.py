"""Builds one access policy per role, with rules that select entities by tag."""

from collections.abc import Iterable, Mapping
from typing import Any

from mappers.canonical_json import JsonObject
from mappers.openmetadata.fqn import fqn

_OPERATIONS = {"read": "ViewAll", "write": "EditAll", "delete": "Delete"}
_PREFIX = "lineage_bridge_"


def access_policies(facets: Iterable[Mapping[str, Any]], classification: str) -> dict[str, JsonObject]:
    """Build the policy of each role from the governance facets of all datasets."""
    rules: dict[str, dict[str, JsonObject]] = {}
    for facet in facets:
        for policy in facet.get("accessPolicies") or ():
            tag = str(facet["accessTag"])
            rule = {
                "name": tag,
                "effect": "allow",
                "resources": ["All"],
                "operations": [_OPERATIONS[permission] for permission in sorted(set(policy["permissions"]))],
                "condition": f"matchAnyTag('{fqn(classification, tag)}')",
            }
            rules.setdefault(str(policy["role"]), {})[tag] = rule
    return {
        role: _role_policy(role, [role_rules[tag] for tag in sorted(role_rules)])
        for role, role_rules in sorted(rules.items())
    }


def policy_name(role: str) -> str:
    """Return the name of the policy that is generated for a role."""
    return f"{_PREFIX}{role}"


def _role_policy(role: str, rules: list[JsonObject]) -> JsonObject:
    description = (
        f"Access to the assets of lineage-bridge for {role}. Generated from asset files: changes here are lost."
    )
    return {"name": policy_name(role), "description": description, "rules": rules}
