"""Checks that generated ids correspond one-to-one to the recorded ones."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.standins.marquez_comparison import IDS, normalize


class VersionIds:
    """One-to-one mapping of recorded ids to ours."""

    def __init__(self) -> None:
        self._actual_ids: dict[str, str] = {}
        self._recorded_ids: dict[str, str] = {}

    def differences(self, recorded: Any, actual: Any) -> list[str]:
        """List ids that differ where the recording repeats one, or repeat where the recording has a new one."""
        out = []
        for path, recorded_id, our_id in _pairs(recorded, actual, ""):
            if self._actual_ids.setdefault(recorded_id, our_id) != our_id:
                out.append(f"{path}: a new id, where {recorded_id} was recorded again")
            if self._recorded_ids.setdefault(our_id, recorded_id) != recorded_id:
                out.append(f"{path}: {our_id} again, where a new id was recorded")
        return out


def _pairs(recorded: Any, actual: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(recorded, dict) and isinstance(actual, dict):
        for name in sorted(recorded.keys() & actual.keys()):
            if name not in IDS:
                yield from _pairs(recorded[name], actual[name], f"{path}.{name}")
            elif recorded[name] is not None and actual[name] is not None:
                yield f"{path}.{name}", recorded[name], actual[name]
    elif isinstance(recorded, list) and isinstance(actual, list):
        recorded_groups, our_groups = _by_content(recorded), _by_content(actual)
        for key in recorded_groups.keys() & our_groups.keys():
            if len(recorded_groups[key]) == len(our_groups[key]) == 1:
                yield from _pairs(recorded_groups[key][0], our_groups[key][0], f"{path}[]")


def _by_content(items: list[Any]) -> dict[str, list[Any]]:
    """Group items by their content without ids."""
    groups = defaultdict(list)
    for item in items:
        groups[json.dumps(normalize(item), sort_keys=True)].append(item)
    return groups
