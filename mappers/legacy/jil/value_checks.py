"""Finds invalid attribute values: times, days, numbers, exit codes."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple
from zoneinfo import available_timezones

from mappers.legacy.diagnostics import DiagnosticLevel
from mappers.legacy.jil.normalization import split_list

_TIME_OF_DAY = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d")
#: A deadline is minutes after the start, or a time of day, which can be on the next day.
_DEADLINE = re.compile(r"\+\d+|\d{1,2}:[0-5]\d")
_DAY = re.compile(r"mo|tu|we|th|fr|sa|su|mon|tue|wed|thu|fri|sat|sun|all|(?:mon|tues|wednes|thurs|fri|satur|sun)day")
_WINDOW = re.compile(rf"{_TIME_OF_DAY.pattern}\s*-\s*{_TIME_OF_DAY.pattern}")
_POSIX_ZONE = re.compile(r"[A-Z]{3,5}(?:[+-]?\d{1,2}(?::\d{2})?(?:[A-Z]{3,5})?)?.*")
_CODES = re.compile(r"-?\d+(?:\s*-\s*\d+)?")
#: Placeholders that are replaced before the definitions are loaded, or by the scheduler.
_PLACEHOLDERS = ("$", "~{")


class _ValueRule(NamedTuple):
    """A rule for a value, or for each item of a list."""

    description: str
    matches: Callable[[str], object]
    is_list: bool = True
    level: DiagnosticLevel = "error"


def _is_minute(text: str) -> bool:
    return text.isdigit() and int(text) < 60


@cache
def _time_zones() -> frozenset[str]:
    """Return the names of the IANA time zones, in full and by city alone, because Autosys accepts both."""
    return frozenset(part.lower() for zone in available_timezones() for part in (zone, zone.rpartition("/")[2]))


def _is_time_zone(text: str) -> bool:
    return text.replace(" ", "_").lower() in _time_zones() or _POSIX_ZONE.fullmatch(text) is not None


_NUMBER_RULE = _ValueRule("number", str.isdigit, is_list=False)
_DEADLINE_RULE = _ValueRule("time", _DEADLINE.fullmatch)
_EXIT_CODE_RULE = _ValueRule("exit code", _CODES.fullmatch)
_RULES: Mapping[str, _ValueRule] = {
    "start_times": _ValueRule("time", _TIME_OF_DAY.fullmatch),
    "start_mins": _ValueRule("minute of an hour", _is_minute),
    "must_start_times": _DEADLINE_RULE, "must_complete_times": _DEADLINE_RULE,
    "days_of_week": _ValueRule("day", lambda text: _DAY.fullmatch(text.lower())),
    "run_window": _ValueRule("time window", _WINDOW.fullmatch, is_list=False),
    "timezone": _ValueRule("time zone", _is_time_zone, is_list=False, level="warning"),
    "max_run_alarm": _NUMBER_RULE, "min_run_alarm": _NUMBER_RULE, "term_run_time": _NUMBER_RULE,
    "n_retrys": _NUMBER_RULE, "max_exit_success": _NUMBER_RULE,
    "success_codes": _EXIT_CODE_RULE, "fail_codes": _EXIT_CODE_RULE,
}  # fmt: skip


class InvalidValue(NamedTuple):
    """An invalid value, and its severity."""

    level: DiagnosticLevel
    message: str


def invalid_values(values: Mapping[str, str]) -> Iterator[InvalidValue]:
    for name, rule in _RULES.items():
        for value in _values_to_check(name, values.get(name, "")):
            if not is_valid_value(name, value):
                yield InvalidValue(rule.level, f"{name}: {value} is not a valid {rule.description}")


def is_valid_value(name: str, value: str) -> bool:
    """Return whether a value, or an item of a list, is valid for its attribute; placeholders are always valid."""
    rule = _RULES.get(name)
    if rule is None or any(placeholder in value for placeholder in _PLACEHOLDERS):
        return True
    return bool(rule.matches(value))


def _values_to_check(name: str, text: str) -> list[str]:
    text = text.replace('"', "").strip()
    if not text:
        return []
    if name in {"success_codes", "fail_codes"}:
        return [code.strip() for code in text.split(",")]
    return split_list(text) if _RULES[name].is_list else [text]
