"""Parses report dates in the date order and time zone of a site."""

import re
from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import Literal, NamedTuple

#: `mdy` is the default of Autosys.
DateOrder = Literal["mdy", "dmy", "ymd"]

_DATE_AND_TIME = re.compile(
    r"(\d{1,4})[-/.](\d{1,2}|[A-Za-z]{3})[-/.](\d{1,4})"
    r"(?: +(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([AaPp])[Mm])?)?"
)
#: A date with an optional time of day, as a pattern without groups for use in other patterns.
DATE = re.sub(r"(?<!\\)\((?!\?)", "(?:", _DATE_AND_TIME.pattern)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MAX_MONTH = 12
_NOON = 12
_YEAR_DIGITS = 4


class DateOrderGuess(NamedTuple):
    """The date order of a report, and whether its dates leave no doubt."""

    order: DateOrder
    certain: bool


def guess_date_order(texts: Iterable[str]) -> DateOrderGuess:
    """Guess the date order of a report from a leading year, or from a number that is too large for a month.

    Dates with month names are unambiguous in any order.
    """
    dates = [match for match in map(_DATE_AND_TIME.fullmatch, texts) if match]
    numeric_dates = [match for match in dates if match[2].isdigit()]
    for match in numeric_dates:
        first, second, *_ = match.groups()
        if len(first) == _YEAR_DIGITS:
            return DateOrderGuess("ymd", certain=True)
        if int(first) > _MAX_MONTH:
            return DateOrderGuess("dmy", certain=True)
        if int(second) > _MAX_MONTH:
            return DateOrderGuess("mdy", certain=True)
    return DateOrderGuess("mdy", certain=bool(dates) and not numeric_dates)


def has_time_of_day(text: str) -> bool:
    return ":" in text


def parse_report_time(text: str, order: DateOrder, zone: tzinfo) -> datetime:
    """Parse a time (the first occurrence in an hour that occurs twice); raises ValueError if no such time exists."""
    match = _DATE_AND_TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time")
    first, second, third, *clock, meridiem = match.groups()
    if second.isdigit():
        year, month, day = _year_month_day(int(first), int(second), int(third), order)
    elif len(first) == _YEAR_DIGITS:
        year, month, day = int(first), _month_number(second), int(third)
    else:
        year, month, day = int(third), _month_number(second), int(first)
    if year < 100:
        year += 2000
    hour, minute, seconds = (int(number or 0) for number in clock)
    return datetime(year, month, day, _to_24_hour_clock(hour, meridiem), minute, seconds, tzinfo=zone)


def _year_month_day(first: int, second: int, third: int, order: DateOrder) -> tuple[int, int, int]:
    return {"mdy": (third, first, second), "dmy": (third, second, first), "ymd": (first, second, third)}[order]


def _month_number(name: str) -> int:
    if name.lower() not in _MONTHS:
        raise ValueError(f"{name!r} is not a month")
    return _MONTHS.index(name.lower()) + 1


def _to_24_hour_clock(hour: int, meridiem: str | None) -> int:
    """Convert an hour to a 24-hour clock; `meridiem` is the first letter of AM or PM, or None if there is neither."""
    if meridiem is None:
        return hour
    if not 1 <= hour <= _NOON:
        raise ValueError(f"{hour} is not an hour of a 12-hour clock")
    is_afternoon = meridiem in "pP"
    return hour % _NOON + (_NOON if is_afternoon else 0)
