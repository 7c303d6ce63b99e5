"""Times as reports write them: in the order of day, month and year that a site has, and in its time zone."""

import re
from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import Literal, NamedTuple

#: `mdy` is what Autosys writes unless a site wants otherwise.
DateOrder = Literal["mdy", "dmy", "ymd"]

_PARTS = re.compile(
    r"(\d{1,4})[-/.](\d{1,2}|[A-Za-z]{3})[-/.](\d{1,4})"
    r"(?: +(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([AaPp])[Mm])?)?"
)
#: A date, with or without a time of day, within a line: without groups, as it is put into other patterns.
DATE = re.sub(r"(?<!\\)\((?!\?)", "(?:", _PARTS.pattern)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MAX_MONTHS = 12
_NOON = 12
_YEAR = 4


class DateOrderGuess(NamedTuple):
    """The order of the dates of a report, and whether they show it."""

    order: DateOrder
    certain: bool


def guess_date_order(texts: Iterable[str]) -> DateOrderGuess:
    """Tell in which order a report writes its dates: by a year that comes first, or a number that is no month.

    Dates whose months are words are of any order.
    """
    found = [match for match in map(_PARTS.fullmatch, texts) if match]
    in_numbers = [match for match in found if match[2].isdigit()]
    for match in in_numbers:
        if len(match[1]) == _YEAR:
            return DateOrderGuess("ymd", certain=True)
        if int(match[1]) > _MAX_MONTHS:
            return DateOrderGuess("dmy", certain=True)
        if int(match[2]) > _MAX_MONTHS:
            return DateOrderGuess("mdy", certain=True)
    return DateOrderGuess("mdy", certain=bool(found) and not in_numbers)


def has_time_of_day(text: str) -> bool:
    """Tell whether a time says more than the day."""
    return ":" in text


def parse_report_time(text: str, order: DateOrder, zone: tzinfo) -> datetime:
    """Read a time; raises ValueError when there is no such one. Of an hour that comes twice it is the first."""
    match = _PARTS.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no time")
    first, word, third, *clock, half = match.groups()
    if word.isdigit():
        year, month, day = _ordered(int(first), int(word), int(third), order)
    else:
        month = _month(word)
        year, day = (int(first), int(third)) if len(first) == _YEAR else (int(third), int(first))
    hour, minute, seconds = (int(part or 0) for part in clock)
    century = 2000 if year < 100 else 0
    return datetime(year + century, month, day, _hour(hour, half), minute, seconds, tzinfo=zone)


def _ordered(first: int, second: int, third: int, order: DateOrder) -> tuple[int, int, int]:
    return {"mdy": (third, first, second), "dmy": (third, second, first), "ymd": (first, second, third)}[order]


def _month(word: str) -> int:
    if word.lower() not in _MONTHS:
        raise ValueError(f"{word!r} is no month")
    return _MONTHS.index(word.lower()) + 1


def _hour(hour: int, half: str | None) -> int:
    """Give the hour of the day; `half` says of which half it is, where it is one of twelve."""
    if half is None:
        return hour
    if not 1 <= hour <= _NOON:
        raise ValueError(f"{hour} is no hour of half a day")
    return hour % _NOON + (_NOON if half in "pP" else 0)
