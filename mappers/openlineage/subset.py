"""Which partitions of a dataset a version is of, as the facet `subset` of an output tells it."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

#: What holds partitions together, or a name and its value, in the key of a partition.
_ESCAPED = str.maketrans({"%": "%25", "/": "%2F", "=": "%3D"})


def partitions_of(subset_json: str | None) -> tuple[str, ...] | None:
    """Give the keys of the partitions that a version is of; None when it is of the whole dataset.

    A condition that names no partitions, such as a comparison, gives none: it is a part that nobody can name.
    """
    if subset_json is None:
        return None
    condition = msgspec.json.decode(subset_json).get("outputCondition")
    return tuple(sorted(set(_named(condition))))


def partition_key(text: str) -> str:
    """Give the one spelling of a partition: `region=EU/day=1` is `day=1/region=EU`; raises ValueError for none."""
    parts = [part for part in text.strip("/").split("/") if part]
    if not parts:
        raise ValueError("a partition is named like day=2026-01-31, or like day=2026-01-31/region=EU")
    return _joined(parts)


def _named(condition: Any) -> Iterator[str]:
    if not isinstance(condition, dict):
        return
    for partition in _listed(condition.get("partitions")):
        if isinstance(partition, dict) and (key := _of_partition(partition)):
            yield key
    for location in _listed(condition.get("locations")):
        if isinstance(location, str) and (key := _of_location(location)):
            yield key


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _of_partition(partition: dict[str, Any]) -> str:
    dimensions = partition.get("dimensions")
    if isinstance(dimensions, dict) and dimensions:
        return _joined(f"{_escaped(name)}={_escaped(_text(value))}" for name, value in dimensions.items())
    identifier = partition.get("identifier")
    return _joined(part for part in identifier.split("/") if part) if isinstance(identifier, str) else ""


def _of_location(location: str) -> str:
    """Give what a path says from its first `name=value` on: the listener tells partitions by their folders."""
    parts = [part for part in location.split("/") if part]
    first = next((i for i, part in enumerate(parts) if "=" in part), None)
    return _escaped(location) if first is None else _joined(parts[first:])


def _joined(parts: Iterable[str]) -> str:
    """Join the parts of a key; names and their values may stand in any order, folders may not."""
    listed = list(parts)
    return "/".join(sorted(listed) if all("=" in part for part in listed) else listed)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _escaped(text: str) -> str:
    return text.translate(_ESCAPED)
