"""Checks the value of a listener key."""

import re
from urllib.parse import urlsplit
from uuid import UUID

from connectors.spark.conf_problem import ProblemEffect
from connectors.spark.listener_keys import KeySpec, ValueType

#: The words that the listener's parser takes for a boolean.
_TRUTHS = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_WHOLE = re.compile(r"\s*[+-]?\d{1,10}\s*")


def value_problem(takes: KeySpec, value: str) -> tuple[ProblemEffect, str] | None:
    """Say what is wrong with a value, without repeating it: it may be a secret."""
    listed = value.startswith("[") and value.endswith("]")
    if not value.strip() and takes.kind is not ValueType.anything:
        return ProblemEffect.ignored, "has no value"
    faults = {
        ValueType.text: (listed, ProblemEffect.silent, "is read as a list, because it stands in brackets"),
        ValueType.boolean: (value.strip() not in _TRUTHS, ProblemEffect.silent, "is neither true nor false"),
        ValueType.switch: (
            value.strip().lower() not in {"true", "false"},
            ProblemEffect.ignored,
            "is neither true nor false",
        ),
        ValueType.integer: (not _WHOLE.fullmatch(value), ProblemEffect.silent, "is no whole number"),
        ValueType.several: (not listed, ProblemEffect.silent, "is no list"),
        ValueType.uuid: (not _is_uuid(value), ProblemEffect.ignored, "is no UUID"),
        ValueType.choice: (
            value.lower() not in map(str.lower, takes.choices),
            ProblemEffect.silent,
            "is none of its choices",
        ),
        ValueType.exact_choice: (value not in takes.choices, ProblemEffect.silent, "is none of its choices"),
    }  # fmt: skip
    if takes.kind is ValueType.url:
        return _wrong_url(value)
    if takes.kind in faults:
        wrong, effect, problem = faults[takes.kind]
        return (effect, problem) if wrong else None
    return None


def _wrong_url(value: str) -> tuple[ProblemEffect, str] | None:
    try:
        url = urlsplit(value)
        whole = url.scheme in {"http", "https"} and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        whole = False
    return None if whole and not re.search(r"\s", value) else (ProblemEffect.silent, "is no address")


def _is_uuid(value: str) -> bool:
    try:
        return str(UUID(value)) == value.lower()
    except ValueError:
        return False


def value_hint(takes: KeySpec) -> str:
    """Say how a value is written."""
    return {
        ValueType.text: "write it without brackets",
        ValueType.boolean: "write true or false",
        ValueType.switch: "write true or false",
        ValueType.integer: "write digits",
        ValueType.several: "write [one;two]",
        ValueType.url: "write it like http://127.0.0.1:8090",
        ValueType.uuid: "write one like 01234567-89ab-7def-8123-456789abcdef",
        ValueType.choice: f"choose {' or '.join(takes.choices)}",
        ValueType.exact_choice: f"choose {' or '.join(takes.choices)}",
    }.get(takes.kind, "")
