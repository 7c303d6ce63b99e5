"""Reads the partition keys of a dataset version from the `subset` output facet."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

#: Characters that separate partitions, or names and values, in a partition key.
_ESCAPES = str.maketrans({"%": "%25", "/": "%2F", "=": "%3D"})


def partition_keys(subset_json: str | None) -> tuple[str, ...] | None:
    """Return the keys of the partitions in a version, or None if the version contains the complete dataset.

    A condition that lists no partitions, such as a comparison, yields no keys.
    """
    if subset_json is None:
        return None
    condition = msgspec.json.decode(subset_json).get("outputCondition")
    return tuple(sorted(set(_condition_keys(condition))))


def normalize_partition_key(text: str) -> str:
    """Normalize a partition key: `region=EU/day=1` becomes `day=1/region=EU`; raises ValueError for an empty key."""
    parts = [part for part in text.strip("/").split("/") if part]
    if not parts:
        raise ValueError("a partition is written as day=2026-01-31 or day=2026-01-31/region=EU")
    return _join_parts(parts)


def _condition_keys(condition: Any) -> Iterator[str]:
    """Yield the keys of the partitions and locations that a condition lists."""
    if not isinstance(condition, dict):
        return
    for partition in _as_list(condition.get("partitions")):
        if isinstance(partition, dict) and (key := _partition_key(partition)):
            yield key
    for location in _as_list(condition.get("locations")):
        if isinstance(location, str) and (key := _location_key(location)):
            yield key


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _partition_key(partition: dict[str, Any]) -> str:
    dimensions = partition.get("dimensions")
    if isinstance(dimensions, dict) and dimensions:
        return _join_parts(f"{_escape(name)}={_escape(_as_text(value))}" for name, value in dimensions.items())
    identifier = partition.get("identifier")
    if isinstance(identifier, str):
        return _join_parts(part for part in identifier.split("/") if part)
    return ""


def _location_key(location: str) -> str:
    """Return the part of a partition folder's path that begins with the first `name=value`."""
    parts = [part for part in location.split("/") if part]
    for index, part in enumerate(parts):
        if "=" in part:
            return _join_parts(parts[index:])
    return _escape(location)


def _join_parts(parts: Iterable[str]) -> str:
    """Join the parts of a key; `name=value` parts are sorted, because their order has no meaning."""
    key_parts = list(parts)
    if all("=" in part for part in key_parts):
        key_parts.sort()
    return "/".join(key_parts)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _escape(text: str) -> str:
    return text.translate(_ESCAPES)
