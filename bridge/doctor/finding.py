"""Findings of health checks."""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from mappers.errors import LineageBridgeError


class Level(StrEnum):
    """Severity of a finding, from best to worst."""

    ok = "ok"
    warning = "warning"
    error = "error"


class Finding(NamedTuple):
    """Result of a check, with a remedy if the check did not pass."""

    level: Level
    subject: str
    message: str
    remedy: str | None = None

    def as_json(self) -> dict[str, str | None]:
        """Convert to the public JSON form, with stable keys."""
        return {"level": self.level, "thing": self.subject, "found": self.message, "remedy": self.remedy}

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.level, self.subject, self.message, self.remedy)))


def run_check(subject: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Run a check and report an exception as a finding."""
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 - reported as a finding; the other checks continue
        reason = str(error) if isinstance(error, LineageBridgeError) else f"{type(error).__name__}: {error}"
        yield Finding(Level.error, subject, f"check failed: {reason}", "fix the error, then run the checks again")


def skip_checks(subjects: Iterable[str], reason: str) -> Iterator[Finding]:
    """Report one finding for each skipped check."""
    for subject in subjects:
        yield Finding(Level.warning, subject, f"not checked: {reason}", "fix that first, then run the checks again")
