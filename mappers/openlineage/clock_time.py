"""Times as producers write them, as microseconds since 1970 in UTC."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@lru_cache(maxsize=8192)
def parse_time(text: str) -> tuple[int, str | None]:
    """Read an ISO 8601 time; the note says what had to be assumed.

    Raises ValueError when the text is no time at all.
    """
    moment = datetime.fromisoformat(text)
    note = None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
        note = "has no time zone: read as UTC"
    elif len(text) > 26 and len(text.partition(".")[2].rstrip("Zz0123456789")) < len(text) - 26:
        note = _finer_than_micros(text)
    try:
        return (moment - _EPOCH) // _MICROSECOND, note
    except OverflowError as error:
        raise ValueError(f"time out of range: {text}") from error


def _finer_than_micros(text: str) -> str | None:
    fraction = text.partition(".")[2]
    digits = len(fraction) - len(fraction.lstrip("0123456789"))
    return "is finer than microseconds: cut" if digits > 6 else None
