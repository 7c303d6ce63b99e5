"""Deserializes JSON like the server: coercions, unreadable values and constraints."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.standins.openmetadata.errors import Unreadable
from tests.standins.openmetadata.names import NAME_PATTERN, is_valid_name

#: Takes the raw value, a list to append constraint violations to, and the name of the property.
Reader = Callable[[Any, list[str], str], Any]

_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


def is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def text(raw: Any, faults: list[str], key: str) -> str:
    if type(raw) is str:
        return raw
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, (int, float)):
        return str(raw)
    raise Unreadable


def bounded_text(low: int, high: int) -> Reader:
    def read(raw: Any, faults: list[str], key: str) -> str:
        value = text(raw, faults, key)
        if not low <= len(value) <= high:
            faults.append(f"{key} size must be between {low} and {high}")
        return value

    return read


def entity_name(high: int) -> Reader:
    size = bounded_text(1, high)

    def read(raw: Any, faults: list[str], key: str) -> str:
        value: str = size(raw, faults, key)
        if not is_valid_name(value):
            faults.append(f'{key} must match "{NAME_PATTERN}"')
        return value

    return read


def matching_text(pattern: str) -> Reader:
    """Text that matches a pattern, given in the notation of the server's message."""
    compiled = re.compile(pattern.removeprefix("(?U)"))

    def read(raw: Any, faults: list[str], key: str) -> str:
        value = text(raw, faults, key)
        if not compiled.fullmatch(value):
            faults.append(f'{key} must match "{pattern}"')
        return value

    return read


def integer(raw: Any, faults: list[str], key: str) -> int:
    if type(raw) is int:
        return raw
    if type(raw) is float:
        return int(raw)
    if type(raw) is str:
        try:
            return int(raw)
        except ValueError:
            raise Unreadable from None
    raise Unreadable


def int32(raw: Any, faults: list[str], key: str) -> int:
    """A non-negative Java int: others make the whole request unreadable."""
    value = integer(raw, faults, key)
    if not 0 <= value < 1 << 31:
        raise Unreadable
    return value


def at_least(low: int) -> Reader:
    def read(raw: Any, faults: list[str], key: str) -> int:
        value = integer(raw, faults, key)
        if value < low:
            faults.append(f"{key} must be greater than or equal to {low}")
        return value

    return read


def number(raw: Any, faults: list[str], key: str) -> float:
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        raise Unreadable
    try:
        return float(raw)
    except ValueError:
        raise Unreadable from None


def boolean(raw: Any, faults: list[str], key: str) -> bool:
    if isinstance(raw, bool):
        return raw
    if raw in ("true", "false"):
        return bool(raw == "true")
    raise Unreadable


def date_time(raw: Any, faults: list[str], key: str) -> str:
    """Date and time, formatted as the server does: UTC, with microseconds."""
    try:
        read = datetime.fromisoformat(text(raw, faults, key))
    except ValueError:
        raise Unreadable from None
    at = read.replace(tzinfo=read.tzinfo or UTC).astimezone(UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def uuid(raw: Any, faults: list[str], key: str) -> str:
    if isinstance(raw, str) and is_uuid(raw):
        return raw.lower()
    raise Unreadable


def anything(raw: Any, faults: list[str], key: str) -> Any:
    return raw


def mapping(raw: Any, faults: list[str], key: str) -> dict[str, Any]:
    if isinstance(raw, dict):
        return raw
    raise Unreadable


def choice(*values: str) -> Reader:
    allowed = frozenset(values)

    def read(raw: Any, faults: list[str], key: str) -> str:
        if type(raw) is str and raw in allowed:
            return raw
        raise Unreadable

    return read


def list_of(item: Reader) -> Reader:
    def read(raw: Any, faults: list[str], key: str) -> list[Any]:
        if type(raw) is not list:
            raise Unreadable
        return [item(value, faults, key) for value in raw if value is not None]

    return read


class Shape:
    """An object with known properties; null counts as absent."""

    def __init__(self, fields: dict[str, Reader], required: str = "", extra: str = "forbid") -> None:
        self.fields = fields
        self.required = required.split()
        self.open = extra == "allow"

    def __call__(self, raw: Any, faults: list[str], key: str = "") -> dict[str, Any]:
        if type(raw) is not dict:
            raise Unreadable
        fields = self.fields
        out = {}
        for name, value in raw.items():
            read = fields.get(name)
            if read is None:
                if not self.open:
                    raise Unreadable
                out[name] = value
            elif value is not None:
                out[name] = read(value, faults, name)
        faults.extend(f"{name} must not be null" for name in self.required if name not in out)
        return out
