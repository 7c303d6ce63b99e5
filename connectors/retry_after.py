"""How long a server wants to be left alone."""

from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from connectors.http import HttpAnswer


def wait_seconds(answer: HttpAnswer, now: datetime | None = None) -> float | None:
    """Read what an answer says of it, in seconds or until a date; None when it says nothing."""
    given = answer.headers.get("retry-after", "").strip()
    if given.isdecimal():
        return float(given)
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(given) - (now or datetime.now(UTC))).total_seconds())
    return None
