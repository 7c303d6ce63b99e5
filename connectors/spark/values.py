"""What the listener makes of a value that does not fit its key."""

import re
from urllib.parse import urlsplit
from uuid import UUID

from connectors.spark.findings import Effect
from connectors.spark.keys import Kind, Value

#: The words that the listener's parser takes for a boolean.
_TRUTHS = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
_WHOLE = re.compile(r"\s*[+-]?\d{1,10}\s*")


def wrong_value(takes: Value, value: str) -> tuple[Effect, str] | None:
    """Say what is wrong with a value, without repeating it: it may be a secret."""
    listed = value.startswith("[") and value.endswith("]")
    if not value.strip() and takes.kind is not Kind.anything:
        return Effect.ignored, "has no value"
    faults = {
        Kind.text: (listed, Effect.silent, "is read as a list, because it stands in brackets"),
        Kind.boolean: (value.strip() not in _TRUTHS, Effect.silent, "is neither true nor false"),
        Kind.switch: (value.strip().lower() not in {"true", "false"}, Effect.ignored, "is neither true nor false"),
        Kind.integer: (not _WHOLE.fullmatch(value), Effect.silent, "is no whole number"),
        Kind.several: (not listed, Effect.silent, "is no list"),
        Kind.uuid: (not _is_uuid(value), Effect.ignored, "is no UUID"),
        Kind.choice: (value.lower() not in map(str.lower, takes.choices), Effect.silent, "is none of its choices"),
        Kind.exact_choice: (value not in takes.choices, Effect.silent, "is none of its choices"),
    }  # fmt: skip
    if takes.kind is Kind.url:
        return _wrong_url(value)
    if takes.kind in faults:
        wrong, effect, problem = faults[takes.kind]
        return (effect, problem) if wrong else None
    return None


def _wrong_url(value: str) -> tuple[Effect, str] | None:
    try:
        url = urlsplit(value)
        whole = url.scheme in {"http", "https"} and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        whole = False
    return None if whole and not re.search(r"\s", value) else (Effect.silent, "is no address")


def _is_uuid(value: str) -> bool:
    try:
        return str(UUID(value)) == value.lower()
    except ValueError:
        return False


def wanted(takes: Value) -> str:
    """Say how a value is written."""
    return {
        Kind.text: "write it without brackets",
        Kind.boolean: "write true or false",
        Kind.switch: "write true or false",
        Kind.integer: "write digits",
        Kind.several: "write [one;two]",
        Kind.url: "write it like http://127.0.0.1:8090",
        Kind.uuid: "write one like 01234567-89ab-7def-8123-456789abcdef",
        Kind.choice: f"choose {' or '.join(takes.choices)}",
        Kind.exact_choice: f"choose {' or '.join(takes.choices)}",
    }.get(takes.kind, "")
