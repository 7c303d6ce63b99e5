"""What a check found."""

from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """How bad a finding is, best first."""

    ok = "ok"
    warning = "warning"
    error = "error"


class Finding(NamedTuple):
    """One thing that was looked at: what was found, and what to do about it unless it is fine."""

    level: Level
    thing: str
    found: str
    remedy: str | None = None

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.level, self.thing, self.found, self.remedy)))
