"""Times as reports write them: in the order of day, month and year that a site has, and in its time zone."""

import re
from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import Literal, NamedTuple

#: `mdy` is what Autosys writes unless a site wants otherwise.
Order = Literal["mdy", "dmy", "ymd"]

DATE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4} +\d{1,2}:\d{2}(?::\d{2})?"
_PARTS = re.compile(r"(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4}) +(\d{1,2}):(\d{2})(?::(\d{2}))?")
_MOST_MONTHS = 12
_YEAR = 4


class Guessed(NamedTuple):
    """The order of the dates of a report, and whether they show it."""

    order: Order
    certain: bool


def guess_order(texts: Iterable[str]) -> Guessed:
    """Tell in which order a report writes its dates: by a year that comes first, or a number that is no month."""
    for match in filter(None, map(_PARTS.fullmatch, texts)):
        if len(match[1]) == _YEAR:
            return Guessed("ymd", certain=True)
        if int(match[1]) > _MOST_MONTHS:
            return Guessed("dmy", certain=True)
        if int(match[2]) > _MOST_MONTHS:
            return Guessed("mdy", certain=True)
    return Guessed("mdy", certain=False)


def read_time(text: str, order: Order, zone: tzinfo) -> datetime:
    """Read a time; raises ValueError when there is no such one. Of an hour that comes twice it is the first."""
    match = _PARTS.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no time")
    first, second, third, hour, minute, seconds = (int(part or 0) for part in match.groups())
    year, month, day = {
        "mdy": (third, first, second), "dmy": (third, second, first), "ymd": (first, second, third),
    }[order]  # fmt: skip
    century = 2000 if year < 100 else 0
    return datetime(year + century, month, day, hour, minute, seconds, tzinfo=zone)
