"""Validation and normalization of policy rules."""

import re

from tests.standins.openmetadata.entity import Data
from tests.standins.openmetadata.errors import ApiError
from tests.standins.openmetadata.names import split_words

_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"")
_FUNCTIONS = frozenset(
    split_words(
        "noOwner isOwner isReviewer hasDomain noDomain matchAllTags matchAnyTag matchAnyCertification matchTeam inAnyTeam "
        "hasAnyRole"
    )
)


def normalize_rules(data: Data) -> None:
    """Validate and sort the rules of a policy; operations included in others are removed."""
    if not data.get("rules"):
        raise ApiError(400, "At least one rule is required in a policy")
    data["rules"] = sorted((_normalize_rule(rule) for rule in data["rules"]), key=lambda rule: str(rule["name"]))


def _normalize_rule(rule: Data) -> Data:
    for name in _CALL.findall(_QUOTED.sub("", rule.get("condition") or "")):
        if name not in _FUNCTIONS:
            raise ApiError(
                400,
                f"Function '{name}' is not allowed in policy expressions. Only use approved functions with @Function "
                "annotations in evaluator classes.",
            )
    resources = ["All"] if "All" in rule["resources"] else sorted(rule["resources"])
    return {**rule, "operations": _normalize_operations(rule["operations"]), "resources": resources}


def _normalize_operations(operations: list[str]) -> list[str]:
    if "All" in operations:
        return ["All"]
    for general in ("ViewAll", "EditAll"):
        if general in operations:
            prefix = general.removesuffix("All")
            operations = [
                operation for operation in operations if operation == general or not operation.startswith(prefix)
            ]
    return sorted(operations)
