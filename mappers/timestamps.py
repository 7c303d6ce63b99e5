"""Converts between ISO 8601 and microseconds since the Unix epoch (UTC)."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: Length of a time with microseconds and without a time zone.
_LENGTH_WITH_MICROSECONDS = 26
#: The earliest and the latest time that can be formatted.
_MIN_MICROS = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
MAX_MICROS = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


def format_timestamp(micros: int) -> str:
    """Format a time as the views of the store do, with microseconds and `Z`.

    A time that is outside the years 1 to 9999 in UTC becomes the nearest time in them.
    """
    micros = min(max(micros, _MIN_MICROS), MAX_MICROS)
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds").replace("+00:00", "Z")


@lru_cache(maxsize=8192)
def parse_timestamp(text: str) -> tuple[int, str | None]:
    """Parse an ISO 8601 time.

    Returns microseconds, and a note if an assumption was necessary. Raises ValueError if the text is not a time.
    """
    time = datetime.fromisoformat(text)
    note = None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
        note = "has no time zone: read as UTC"
    elif len(text) > _LENGTH_WITH_MICROSECONDS and text[-1] in "Zz":
        note = _precision_note(text)
    return (time - _EPOCH) // _MICROSECOND, note


def _precision_note(text: str) -> str | None:
    _, _, fraction = text.partition(".")
    digit_count = len(fraction) - len(fraction.lstrip("0123456789"))
    return "is finer than microseconds: truncated" if digit_count > 6 else None


def to_datetime(micros: int) -> datetime:
    return _EPOCH + min(max(micros, _MIN_MICROS), MAX_MICROS) * _MICROSECOND


def from_datetime(time: datetime) -> int:
    """Convert a time to microseconds. A time without a time zone is in UTC."""
    aware_time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (aware_time - _EPOCH) // _MICROSECOND
