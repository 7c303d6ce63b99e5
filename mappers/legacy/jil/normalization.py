"""Normalizes attribute values, so that equal definitions compare equal."""

import re
from collections.abc import Mapping

from mappers.legacy.jil.attributes import CONDITION_ATTRIBUTES
from mappers.legacy.jil.conditions import (
    Atom,
    CompoundCondition,
    Condition,
    ExitCodeCondition,
    GlobalCondition,
    InvalidCondition,
    parse_condition,
)

#: Job types by their abbreviations.
_JOB_TYPES = {"b": "BOX", "c": "CMD", "f": "FW"}
_BOOLEAN_ATTRIBUTES = frozenset(
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
_BOOLEAN_VALUES = {"1": "1", "y": "1", "yes": "1", "true": "1", "0": "0", "n": "0", "no": "0", "false": "0"}
#: Lists whose items are separated by commas or blanks.
_SEPARATED_LISTS = frozenset(
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
_MINUTES_PER_HOUR = 60


def job_type(value: str) -> str:
    """Return the job type in upper case: BOX, CMD, FW, or a type defined by an agent or a user."""
    stripped = value.strip()
    return _JOB_TYPES.get(stripped.lower(), stripped.upper())


def is_enabled(value: str) -> bool:
    return _BOOLEAN_VALUES.get(value.strip().lower()) == "1"


def normalize_value(name: str, value: str) -> str:
    """Normalize a value, so that values with the same meaning are equal; unknown values are returned unchanged."""
    if name == "job_type":
        return job_type(value)
    if name in _BOOLEAN_ATTRIBUTES:
        return _BOOLEAN_VALUES.get(value.strip().lower(), value)
    if name in _SEPARATED_LISTS:
        items = ", ".join(split_list(value))
        return items.lower() if name == "days_of_week" else items
    if name in CONDITION_ATTRIBUTES:
        try:
            return _format_condition(parse_condition(value))
        except InvalidCondition:
            return value  # reported by every scan
    return value


def normalize_values(values: Mapping[str, str]) -> dict[str, str]:
    return {name: normalize_value(name, value) for name, value in values.items()}


def split_list(value: str) -> list[str]:
    """Split a list at commas or blanks; the list or its items may be quoted."""
    return [item for item in re.split(r"[\s,]+", value.replace('"', "")) if item]


def _format_condition(condition: Condition) -> str:
    """Format a condition; left operands need no parentheses, because conditions are evaluated from left to right."""
    compounds: list[CompoundCondition] = []
    while isinstance(condition, CompoundCondition):
        compounds.append(condition)
        condition = condition.left
    text = _format_atom(condition)
    for compound in reversed(compounds):
        right = _format_condition(compound.right)
        if isinstance(compound.right, CompoundCondition):
            right = f"({right})"
        text += f" {compound.join} {right}"
    return text


def _format_atom(atom: Atom) -> str:
    if isinstance(atom, GlobalCondition):
        value = atom.value if re.fullmatch(r"[^\s(),&|^\"'=<>!]+", atom.value) else f'"{atom.value}"'
        return f"v({atom.name}) {atom.operator} {value}"
    job = f"{atom.job}^{atom.instance}" if atom.instance else atom.job
    lookback = "" if atom.lookback is None else f", {_format_lookback(atom.lookback)}"
    if isinstance(atom, ExitCodeCondition):
        return f"e({job}{lookback}) {atom.operator} {atom.code}"
    return f"{atom.predicate[0]}({job}{lookback})"


def _format_lookback(minutes: int) -> str:
    if minutes == 0:
        return "0"
    return f"{minutes // _MINUTES_PER_HOUR:02}.{minutes % _MINUTES_PER_HOUR:02}"
