"""What a check found."""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from mappers.errors import LineageBridgeError


class Level(StrEnum):
    """How bad a finding is, best first."""

    ok = "ok"
    warning = "warning"
    error = "error"


class Finding(NamedTuple):
    """One thing that was looked at: what was found, and what to do about it unless it is fine."""

    level: Level
    subject: str
    message: str
    remedy: str | None = None

    def as_json(self) -> dict[str, str | None]:
        """Public JSON form; its keys are stable."""
        return {"level": self.level, "thing": self.subject, "found": self.message, "remedy": self.remedy}

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.level, self.subject, self.message, self.remedy)))


def run_check(thing: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Make a check; one that fails is a finding itself."""
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told, and the other checks go on
        said = str(error) if isinstance(error, LineageBridgeError) else f"{type(error).__name__}: {error}"
        yield Finding(Level.error, thing, f"cannot be checked: {said}", "correct what it names, then check again")


def skip_checks(things: Iterable[str], why: str) -> Iterator[Finding]:
    """Tell what could not be looked at."""
    for thing in things:
        yield Finding(Level.warning, thing, f"not checked: {why}", "correct that first, then check again")
