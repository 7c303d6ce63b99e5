"""Times as Java parses and formats them: nanoseconds, zones, years beyond 9999."""

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


class InvalidTime(ValueError):
    """An unparsable time, with Java's error message."""


class Timestamp(NamedTuple):
    """A UTC time with nanoseconds."""

    seconds: int
    nanos: int

    @property
    def micros(self) -> int:
        """Microseconds, rounded as the database does."""
        return self.seconds * _MILLION + (self.nanos + 500) // 1_000

    @property
    def text(self) -> str:
        return _format(self.seconds, self.nanos, 1)

    @property
    def short(self) -> str:
        """Like Java's toString: without seconds if they are zero."""
        text = _format(self.seconds, self.nanos, 3)
        return text[:-4] + "Z" if text.endswith(":00Z") else text


def parse_time(value: str | float) -> Timestamp:
    """Parse a time. Text without a zone is UTC; a number is seconds."""
    if not isinstance(value, str):
        seconds = int(value // 1)
        return Timestamp(seconds, round((value - seconds) * 1_000_000_000))
    match = _ZONED.fullmatch(value)
    if match is None:
        raise InvalidTime(f"Text '{value}' could not be parsed{_error_position(value)}")
    return _build_timestamp(value, match)


def parse_zoned(text: str) -> int:
    """Parse a time of a query, which must have a zone, into microseconds."""
    match = _ZONED.fullmatch(text)
    if match is None or match[8] is None:
        at = 0 if match is None and not _STEPS[-1].match(text) else _parsed_length(text)
        raise InvalidTime(f"Text '{text}' could not be parsed at index {at}")
    return _build_timestamp(text, match).micros


def format_micros(micros: int | None) -> str | None:
    """Format microseconds of the database."""
    if micros is None:
        return None
    return _format(micros // _MILLION, micros % _MILLION * 1_000, 3)


def _build_timestamp(text: str, match: re.Match[str]) -> Timestamp:
    year, month, day, hour, minute = (int(match[group]) for group in range(1, 6))
    second = int(match[6] or 0)
    _check(text, year, month, day, hour, minute, second)
    seconds = _days(year, month, day) * _DAY + hour * 3_600 + minute * 60 + second - _offset(match[8])
    return Timestamp(seconds, int((match[7] or "").ljust(9, "0")))


def _check(text: str, year: int, month: int, day: int, hour: int, minute: int, second: int) -> None:
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    fits = 1 <= month <= 12 and 1 <= day <= _DAYS_IN_MONTH[month - 1] + leap
    if not fits or hour > 23 or minute > 59 or second > 59:
        raise InvalidTime(f"Text '{text}' could not be parsed: Invalid value")


def _offset(zone: str | None) -> int:
    if zone is None or zone in "Zz":
        return 0
    hours, minutes, seconds = (int(part) for part in (*zone[1:].split(":"), "0")[:3])
    return (hours * 3_600 + minutes * 60 + seconds) * (-1 if zone[0] == "-" else 1)


def _parsed_length(text: str) -> int:
    return next((match.end() for step in _STEPS if (match := step.match(text))), 0)


def _error_position(text: str) -> str:
    match = _ZONED.match(text)
    if match is None:
        return f" at index {_parsed_length(text)}"
    return f", unparsed text found at index {match.end()}"


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01, for any year."""
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _date(days: int) -> tuple[int, int, int]:
    days += 719_468
    era = days // 146_097
    day_of_era = days - era * 146_097
    year = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return year + era * 400 + (month <= 2), month, day


def _format(seconds: int, nanos: int, group: int) -> str:
    """Format a time; trailing zeros are removed in groups of this size."""
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
