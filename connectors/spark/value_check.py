"""Checks the value of a listener key."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit
from uuid import UUID

from connectors.spark.conf_problem import ProblemEffect
from connectors.spark.listener_keys import KeySpec, ValueType

#: Values that the listener's parser accepts as boolean.
_BOOLEANS = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_INTEGER = re.compile(r"\s*[+-]?\d{1,10}\s*")


def value_problem(spec: KeySpec, value: str) -> tuple[ProblemEffect, str] | None:
    """Describe what is wrong with a value, or return None if it is valid.

    The description never quotes the value, which may be a secret.
    """
    if spec.kind is ValueType.anything:
        return None
    if not value.strip():
        return ProblemEffect.setting_ignored, "has no value"
    if spec.kind is ValueType.choice:
        is_valid = value.lower() in map(str.lower, spec.choices)
    elif spec.kind is ValueType.exact_choice:
        is_valid = value in spec.choices
    else:
        is_valid = _VALIDATORS[spec.kind](value)
    return None if is_valid else _PROBLEMS[spec.kind]


_PROBLEMS = {
    ValueType.text: (ProblemEffect.events_lost, "is parsed as a list because of its brackets"),
    ValueType.boolean: (ProblemEffect.events_lost, "is neither true nor false"),
    ValueType.lenient_boolean: (ProblemEffect.setting_ignored, "is neither true nor false"),
    ValueType.integer: (ProblemEffect.events_lost, "is not an integer"),
    ValueType.string_list: (ProblemEffect.events_lost, "is not a list"),
    ValueType.url: (ProblemEffect.events_lost, "is not a valid URL"),
    ValueType.uuid: (ProblemEffect.setting_ignored, "is not a UUID"),
    ValueType.choice: (ProblemEffect.events_lost, "is not an accepted value"),
    ValueType.exact_choice: (ProblemEffect.events_lost, "is not an accepted value"),
}


def _is_url(value: str) -> bool:
    try:
        url = urlsplit(value)
        has_server = url.scheme in {"http", "https"} and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        return False
    return has_server and not re.search(r"\s", value)


def _is_uuid(value: str) -> bool:
    try:
        return str(UUID(value)) == value.lower()
    except ValueError:
        return False


def _is_list(value: str) -> bool:
    return value.startswith("[") and value.endswith("]")


_VALIDATORS: dict[ValueType, Callable[[str], bool]] = {
    ValueType.text: lambda value: not _is_list(value),
    ValueType.boolean: lambda value: value.strip() in _BOOLEANS,
    ValueType.lenient_boolean: lambda value: value.strip().lower() in {"true", "false"},
    ValueType.integer: lambda value: _INTEGER.fullmatch(value) is not None,
    ValueType.string_list: _is_list,
    ValueType.url: _is_url,
    ValueType.uuid: _is_uuid,
}


def value_hint(spec: KeySpec) -> str:
    """Describe how to write a value."""
    return {
        ValueType.text: "remove the brackets",
        ValueType.boolean: "use true or false",
        ValueType.lenient_boolean: "use true or false",
        ValueType.integer: "use digits only",
        ValueType.string_list: "use [one;two]",
        ValueType.url: "use a URL such as http://127.0.0.1:8090",
        ValueType.uuid: "use a UUID such as 01234567-89ab-7def-8123-456789abcdef",
        ValueType.choice: f"use {' or '.join(spec.choices)}",
        ValueType.exact_choice: f"use {' or '.join(spec.choices)}",
    }.get(spec.kind, "")
