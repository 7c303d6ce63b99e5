"""Finds invalid attribute values: times, days, numbers, exit codes."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple
from zoneinfo import available_timezones

from mappers.legacy.diagnostics import DiagnosticLevel
from mappers.legacy.jil.normalization import split_list

_CLOCK = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d")
#: By when something must be may be a time of the next day, or minutes after the start.
_MUST = re.compile(r"\+\d+|\d{1,2}:[0-5]\d")
_DAY = re.compile(r"mo|tu|we|th|fr|sa|su|mon|tue|wed|thu|fri|sat|sun|all|(?:mon|tues|wednes|thurs|fri|satur|sun)day")
_WINDOW = re.compile(rf"{_CLOCK.pattern}\s*-\s*{_CLOCK.pattern}")
_POSIX_ZONE = re.compile(r"[A-Z]{3,5}(?:[+-]?\d{1,2}(?::\d{2})?(?:[A-Z]{3,5})?)?.*")
_CODES = re.compile(r"-?\d+(?:\s*-\s*\d+)?")
#: What is put in before the definitions are loaded, or by the scheduler.
_LATER = ("$", "~{")


class _ValueRule(NamedTuple):
    """What a value must be, each of them where it is a list."""

    called: str
    fits: Callable[[str], object]
    listed: bool = True
    level: DiagnosticLevel = "error"


def _minute(text: str) -> bool:
    return text.isdigit() and int(text) < 60


@cache
def _zones() -> frozenset[str]:
    """Give the zones of the IANA database, by their whole names and by their cities, as Autosys knows them too."""
    return frozenset(part.lower() for zone in available_timezones() for part in (zone, zone.rpartition("/")[2]))


def _zone(text: str) -> bool:
    return text.replace(" ", "_").lower() in _zones() or _POSIX_ZONE.fullmatch(text) is not None


_NUMBER = _ValueRule("number", str.isdigit, listed=False)
_MUST_BE = _ValueRule("time", _MUST.fullmatch)
_EXIT_CODES = _ValueRule("exit code", _CODES.fullmatch)
_KINDS: Mapping[str, _ValueRule] = {
    "start_times": _ValueRule("time", _CLOCK.fullmatch), "start_mins": _ValueRule("minute of an hour", _minute),
    "must_start_times": _MUST_BE, "must_complete_times": _MUST_BE,
    "days_of_week": _ValueRule("day", lambda text: _DAY.fullmatch(text.lower())),
    "run_window": _ValueRule("window of two times", _WINDOW.fullmatch, listed=False),
    "timezone": _ValueRule("time zone that is known here", _zone, listed=False, level="warning"),
    "max_run_alarm": _NUMBER, "min_run_alarm": _NUMBER, "term_run_time": _NUMBER, "n_retrys": _NUMBER,
    "max_exit_success": _NUMBER, "success_codes": _EXIT_CODES, "fail_codes": _EXIT_CODES,
}  # fmt: skip


class InvalidValue(NamedTuple):
    """What is wrong with a value, and how bad that is."""

    level: DiagnosticLevel
    said: str


def invalid_values(values: Mapping[str, str]) -> Iterator[InvalidValue]:
    """Tell which values mean nothing."""
    for name, kind in _KINDS.items():
        for part in _parts(name, values.get(name, "")):
            if not is_valid_value(name, part):
                yield InvalidValue(kind.level, f"{name}: {part} is no {kind.called}")


def is_valid_value(name: str, part: str) -> bool:
    """Tell whether a value, or a part of a list, can be what its attribute wants."""
    kind = _KINDS.get(name)
    return kind is None or any(mark in part for mark in _LATER) or bool(kind.fits(part))


def _parts(name: str, value: str) -> list[str]:
    plain = value.replace('"', "").strip()
    if not plain:
        return []
    if name in {"success_codes", "fail_codes"}:
        return [one.strip() for one in plain.split(",")]
    return split_list(value) if _KINDS[name].listed else [plain]
