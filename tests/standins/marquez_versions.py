"""Whether versions and other ids that a server makes up are the same wherever the recorded ones are."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.standins.marquez_comparison import IDS, normal


class Versions:
    """Which id of ours stands for which recorded one: for one and no other."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {}
        self._recorded: dict[str, str] = {}

    def differences(self, recorded: Any, ours: Any) -> list[str]:
        """Tell where an answer has a new id for an old one, or an old one for a new."""
        out = []
        for path, theirs, mine in _pairs(recorded, ours, ""):
            if self._ours.setdefault(theirs, mine) != mine:
                out.append(f"{path}: a new id, where {theirs} was recorded again")
            if self._recorded.setdefault(mine, theirs) != theirs:
                out.append(f"{path}: {mine} again, where a new id was recorded")
        return out


def _pairs(recorded: Any, ours: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for name in sorted(recorded.keys() & ours.keys()):
            if name not in IDS:
                yield from _pairs(recorded[name], ours[name], f"{path}.{name}")
            elif recorded[name] is not None and ours[name] is not None:
                yield f"{path}.{name}", recorded[name], ours[name]
    elif isinstance(recorded, list) and isinstance(ours, list):
        theirs, mine = _by_rest(recorded), _by_rest(ours)
        for rest in theirs.keys() & mine.keys():
            if len(theirs[rest]) == len(mine[rest]) == 1:
                yield from _pairs(theirs[rest][0], mine[rest][0], f"{path}[]")


def _by_rest(items: list[Any]) -> dict[str, list[Any]]:
    """Sort the parts of a list by what they are but for their ids."""
    found = defaultdict(list)
    for item in items:
        found[json.dumps(normal(item), sort_keys=True)].append(item)
    return found
