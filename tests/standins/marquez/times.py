"""Times as Java reads and writes them: nanoseconds, zones, years beyond 9999."""

import re
from typing import NamedTuple

_DATE = r"([+-]?\d{4,9})-(\d\d)-(\d\d)"
_CLOCK = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
_ZONE = r"(?:Z|[+-]\d\d:\d\d(?::\d\d)?)"
_ZONED = re.compile(f"{_DATE}T{_CLOCK}({_ZONE})?", re.IGNORECASE)
_STEPS = tuple(re.compile(step, re.IGNORECASE) for step in (f"{_DATE}T{_CLOCK}", _DATE))
_DAY = 86_400
_MILLION = 1_000_000
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class BadTime(ValueError):
    """A text that is no time, with the words of Java for it."""


class Moment(NamedTuple):
    """A time to the nanosecond; the zone it came with is forgotten."""

    seconds: int
    nanos: int

    @property
    def micros(self) -> int:
        """Give the time as the database keeps it."""
        return self.seconds * _MILLION + (self.nanos + 500) // 1_000

    @property
    def text(self) -> str:
        return _shown(self.seconds, self.nanos, 1)

    @property
    def short(self) -> str:
        """Write the time as Java does in passing: without seconds where there are none."""
        text = _shown(self.seconds, self.nanos, 3)
        return text[:-4] + "Z" if text.endswith(":00Z") else text


def moment(given: str | float) -> Moment:
    """Read a time; one without a zone is taken as UTC, a number as seconds."""
    if not isinstance(given, str):
        whole = int(given // 1)
        return Moment(whole, round((given - whole) * 1_000_000_000))
    found = _ZONED.fullmatch(given)
    if found is None:
        raise BadTime(f"Text '{given}' could not be parsed{_where(given)}")
    return _moment(given, found)


def instant(given: str) -> int:
    """Read a time of a query, which must have a zone; gives microseconds."""
    found = _ZONED.fullmatch(given)
    if found is None or found[8] is None:
        at = 0 if found is None and not _STEPS[-1].match(given) else _end(given)
        raise BadTime(f"Text '{given}' could not be parsed at index {at}")
    return _moment(given, found).micros


def written(micros: int | None) -> str | None:
    """Write a time of the database."""
    if micros is None:
        return None
    return _shown(micros // _MILLION, micros % _MILLION * 1_000, 3)


def _moment(given: str, found: re.Match[str]) -> Moment:
    year, month, day, hour, minute = (int(found[group]) for group in range(1, 6))
    second = int(found[6] or 0)
    _check(given, year, month, day, hour, minute, second)
    seconds = _days(year, month, day) * _DAY + hour * 3_600 + minute * 60 + second - _offset(found[8])
    return Moment(seconds, int((found[7] or "").ljust(9, "0")))


def _check(given: str, year: int, month: int, day: int, hour: int, minute: int, second: int) -> None:
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    fits = 1 <= month <= 12 and 1 <= day <= _DAYS_IN_MONTH[month - 1] + leap
    if not fits or hour > 23 or minute > 59 or second > 59:
        raise BadTime(f"Text '{given}' could not be parsed: Invalid value")


def _offset(zone: str | None) -> int:
    if zone is None or zone in "Zz":
        return 0
    hours, minutes, seconds = (int(part) for part in (*zone[1:].split(":"), "0")[:3])
    return (hours * 3_600 + minutes * 60 + seconds) * (-1 if zone[0] == "-" else 1)


def _end(given: str) -> int:
    return next((found.end() for step in _STEPS if (found := step.match(given))), 0)


def _where(given: str) -> str:
    found = _ZONED.match(given)
    if found is None:
        return f" at index {_end(given)}"
    return f", unparsed text found at index {found.end()}"


def _days(year: int, month: int, day: int) -> int:
    """Count days since 1970-01-01, in any year."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _date(days: int) -> tuple[int, int, int]:
    days += 719_468
    era = days // 146_097
    of_era = days - era * 146_097
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return year + era * 400 + (month <= 2), month, day


def _shown(seconds: int, nanos: int, group: int) -> str:
    """Write a time; zeros at its end fall away in groups."""
    year, month, day = _date(seconds // _DAY)
    clock = seconds % _DAY
    sign = "+" if year > 9_999 else ""
    text = f"{sign}{year:04}-{month:02}-{day:02}T{clock // 3_600:02}:{clock // 60 % 60:02}:{clock % 60:02}"
    if nanos:
        digits = f"{nanos:09}"
        while digits.endswith("0" * group):
            digits = digits[:-group]
        text += f".{digits}"
    return text + "Z"
