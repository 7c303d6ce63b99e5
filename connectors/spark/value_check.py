"""Checks the value of a listener key."""

import re
from urllib.parse import urlsplit
from uuid import UUID

from connectors.spark.conf_problem import ProblemEffect
from connectors.spark.listener_keys import KeySpec, ValueType

#: Values that the listener's parser accepts as boolean.
_BOOLEANS = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_INTEGER = re.compile(r"\s*[+-]?\d{1,10}\s*")


def value_problem(spec: KeySpec, value: str) -> tuple[ProblemEffect, str] | None:
    """Describe the problem of a value without quoting the value, which may be a secret."""
    is_list = value.startswith("[") and value.endswith("]")
    if not value.strip() and spec.kind is not ValueType.anything:
        return ProblemEffect.setting_ignored, "has no value"
    checks = {
        ValueType.text: (is_list, ProblemEffect.events_lost, "is parsed as a list because of its brackets"),
        ValueType.boolean: (value.strip() not in _BOOLEANS, ProblemEffect.events_lost, "is neither true nor false"),
        ValueType.switch: (
            value.strip().lower() not in {"true", "false"},
            ProblemEffect.setting_ignored,
            "is neither true nor false",
        ),
        ValueType.integer: (not _INTEGER.fullmatch(value), ProblemEffect.events_lost, "is not an integer"),
        ValueType.several: (not is_list, ProblemEffect.events_lost, "is not a list"),
        ValueType.uuid: (not _is_uuid(value), ProblemEffect.setting_ignored, "is not a UUID"),
        ValueType.choice: (
            value.lower() not in map(str.lower, spec.choices),
            ProblemEffect.events_lost,
            "is not an accepted value",
        ),
        ValueType.exact_choice: (value not in spec.choices, ProblemEffect.events_lost, "is not an accepted value"),
    }  # fmt: skip
    if spec.kind is ValueType.url:
        return _url_problem(value)
    if spec.kind in checks:
        is_invalid, effect, problem = checks[spec.kind]
        return (effect, problem) if is_invalid else None
    return None


def _url_problem(value: str) -> tuple[ProblemEffect, str] | None:
    try:
        url = urlsplit(value)
        is_valid = url.scheme in {"http", "https"} and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        is_valid = False
    if is_valid and not re.search(r"\s", value):
        return None
    return ProblemEffect.events_lost, "is not a valid URL"


def _is_uuid(value: str) -> bool:
    try:
        return str(UUID(value)) == value.lower()
    except ValueError:
        return False


def value_hint(spec: KeySpec) -> str:
    """Describe how to write a value."""
    return {
        ValueType.text: "remove the brackets",
        ValueType.boolean: "use true or false",
        ValueType.switch: "use true or false",
        ValueType.integer: "use digits only",
        ValueType.several: "use [one;two]",
        ValueType.url: "use a URL such as http://127.0.0.1:8090",
        ValueType.uuid: "use a UUID such as 01234567-89ab-7def-8123-456789abcdef",
        ValueType.choice: f"use {' or '.join(spec.choices)}",
        ValueType.exact_choice: f"use {' or '.join(spec.choices)}",
    }.get(spec.kind, "")
