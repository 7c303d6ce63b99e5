"""Builds one access policy per role; rules select tables by tag."""

from collections.abc import Iterable, Mapping
from typing import Any

from mappers.canonical_json import JsonObject
from mappers.openmetadata.fqn import fqn

_OPERATIONS = {"read": "ViewAll", "write": "EditAll", "delete": "Delete"}
_PREFIX = "lineage_bridge_"


def access_policies(facets: Iterable[Mapping[str, Any]], classification: str) -> dict[str, JsonObject]:
    """Say which policy each role shall have, given what stewards say of all datasets."""
    rules: dict[str, dict[str, JsonObject]] = {}
    for facet in facets:
        for policy in facet.get("accessPolicies") or ():
            tag = str(facet["accessTag"])
            rule = {
                "name": tag,
                "effect": "allow",
                "resources": ["All"],
                "operations": [_OPERATIONS[word] for word in sorted(set(policy["permissions"]))],
                "condition": f"matchAnyTag('{fqn(classification, tag)}')",
            }
            rules.setdefault(str(policy["role"]), {})[tag] = rule
    return {role: _policy(role, [found[tag] for tag in sorted(found)]) for role, found in sorted(rules.items())}


def policy_name(role: str) -> str:
    """Name the policy of a role that is ours."""
    return f"{_PREFIX}{role}"


def _policy(role: str, rules: list[JsonObject]) -> JsonObject:
    described = f"What the assets of lineage-bridge allow to {role}. Made from asset files: changes here are lost."
    return {"name": policy_name(role), "description": described, "rules": rules}
