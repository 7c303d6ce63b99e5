"""The rules of policies: their conditions, and the order that the server brings them into."""

import re

from tests.standins.openmetadata.entity import Data
from tests.standins.openmetadata.errors import ApiError
from tests.standins.openmetadata.names import words

_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"")
_FUNCTIONS = frozenset(
    words(
        "noOwner isOwner isReviewer hasDomain noDomain matchAllTags matchAnyTag matchAnyCertification matchTeam inAnyTeam "
        "hasAnyRole"
    )
)


def arrange(data: Data) -> None:
    """Check the rules of a policy and put them in order; an operation that another one includes is left out."""
    if not data.get("rules"):
        raise ApiError(400, "At least one rule is required in a policy")
    data["rules"] = sorted((_rule(rule) for rule in data["rules"]), key=lambda rule: str(rule["name"]))


def _rule(rule: Data) -> Data:
    for name in _CALL.findall(_QUOTED.sub("", rule.get("condition") or "")):
        if name not in _FUNCTIONS:
            raise ApiError(
                400,
                f"Function '{name}' is not allowed in policy expressions. Only use approved functions with @Function "
                "annotations in evaluator classes.",
            )
    resources = ["All"] if "All" in rule["resources"] else sorted(rule["resources"])
    return {**rule, "operations": _operations(rule["operations"]), "resources": resources}


def _operations(given: list[str]) -> list[str]:
    if "All" in given:
        return ["All"]
    for every in ("ViewAll", "EditAll"):
        if every in given:
            start = every.removesuffix("All")
            given = [one for one in given if one == every or not one.startswith(start)]
    return sorted(given)
