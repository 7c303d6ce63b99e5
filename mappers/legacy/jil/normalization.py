"""Normalizes attribute values, so that equal definitions compare equal."""

import re
from collections.abc import Mapping

from mappers.legacy.jil.attributes import CONDITIONS
from mappers.legacy.jil.conditions import (
    Atom,
    CompoundCondition,
    Condition,
    ExitCodeCondition,
    GlobalCondition,
    InvalidCondition,
    parse_condition,
)

#: Job types by their short names.
_TYPES = {"b": "BOX", "c": "CMD", "f": "FW"}
_SWITCHES = frozenset(
    [
        "alarm_if_fail",
        "alarm_if_terminated",
        "auto_hold",
        "box_terminator",
        "date_conditions",
        "elevated",
        "interactive",
        "job_terminator",
        "send_notification",
        "service_desk",
        "watch_file_recursive",
    ]
)
_STATES = {"1": "1", "y": "1", "yes": "1", "true": "1", "0": "0", "n": "0", "no": "0", "false": "0"}
#: Lists whose parts hold neither commas nor blanks, however these stand between them.
_LISTS = frozenset(
    [
        "days_of_week",
        "fail_codes",
        "machine",
        "must_complete_times",
        "must_start_times",
        "notification_emailaddress",
        "permission",
        "start_mins",
        "start_times",
        "success_codes",
    ]
)
_HOUR = 60


def job_type(sent: str) -> str:
    """Give a job type in capitals: BOX, CMD, FW, or one of an agent's or a user's."""
    plain = sent.strip()
    return _TYPES.get(plain.lower(), plain.upper())


def is_enabled(sent: str) -> bool:
    """Tell whether a switch is on."""
    return _STATES.get(sent.strip().lower()) == "1"


def normalize_value(name: str, value: str) -> str:
    """Spell the value of an attribute as all that mean the same are spelled; any other stays as it is."""
    if name == "job_type":
        return job_type(value)
    if name in _SWITCHES:
        return _STATES.get(value.strip().lower(), value)
    if name in _LISTS:
        listed = ", ".join(split_list(value))
        return listed.lower() if name == "days_of_week" else listed
    if name in CONDITIONS:
        try:
            return _condition(parse_condition(value))
        except InvalidCondition:
            return value  # every scan says so
    return value


def normalize_values(values: Mapping[str, str]) -> dict[str, str]:
    """Spell all values."""
    return {name: normalize_value(name, value) for name, value in values.items()}


def split_list(value: str) -> list[str]:
    """Give the parts of a list: with commas or blanks between them, in quotes together, each, or not at all."""
    return [part for part in re.split(r"[\s,]+", value.replace('"', "")) if part]


def _condition(condition: Condition) -> str:
    """Write a condition: what stands left needs no parentheses, as conditions are read from left to right."""
    others: list[CompoundCondition] = []
    while isinstance(condition, CompoundCondition):
        others.append(condition)
        condition = condition.left
    written = _atom(condition)
    for one in reversed(others):
        right = _condition(one.right)
        written += f" {one.join} ({right})" if isinstance(one.right, CompoundCondition) else f" {one.join} {right}"
    return written


def _atom(atom: Atom) -> str:
    if isinstance(atom, GlobalCondition):
        value = atom.value if re.fullmatch(r"[^\s(),&|^\"'=<>!]+", atom.value) else f'"{atom.value}"'
        return f"v({atom.name}) {atom.operator} {value}"
    job = f"{atom.job}^{atom.instance}" if atom.instance else atom.job
    back = "" if atom.lookback is None else f", {_lookback(atom.lookback)}"
    if isinstance(atom, ExitCodeCondition):
        return f"e({job}{back}) {atom.operator} {atom.code}"
    return f"{atom.kind[0]}({job}{back})"


def _lookback(minutes: int) -> str:
    return "0" if not minutes else f"{minutes // _HOUR:02}.{minutes % _HOUR:02}"
