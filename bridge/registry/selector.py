"""Which version of a dataset is meant, as people and files write it."""

from datetime import UTC, datetime
from typing import Literal, NamedTuple

from mappers.errors import BadQuestion

Kind = Literal["published", "latest", "version", "pin", "named"]
_PREFIXES: dict[str, Kind] = {"version:": "version", "pin:": "pin"}
_AS_OF = "as_of:"


class Selector(NamedTuple):
    """A way to choose a version; `named` is a version if there is one of that name, else a pin."""

    kind: Kind
    name: str = ""
    #: As it was at that time, in microseconds.
    until: int | None = None


PUBLISHED = Selector("published")


def read_selector(text: str, as_of: datetime | None = None) -> Selector:
    """Read `published`, `latest`, `as_of:TIME` (the latest of then), `version:TAG`, `pin:NAME`, or a name of either.

    A time beside it means what was published, or the latest, at that time.
    """
    until = None if as_of is None else micros_of(as_of)
    if text in ("published", "latest"):
        return Selector("published" if text == "published" else "latest", "", until)
    if until is not None:
        raise BadQuestion("goes with pin=published and pin=latest: a version or pin is the same at any time", "as_of")
    if text.startswith(_AS_OF):
        return Selector("latest", "", _time(text.removeprefix(_AS_OF)))
    for prefix, kind in _PREFIXES.items():
        if text.startswith(prefix) and len(text) > len(prefix):
            return Selector(kind, text.removeprefix(prefix))
    if not text:
        raise BadQuestion("empty: say published, latest, as_of:TIME, a version or a pin", "pin")
    return Selector("named", text)


def micros_of(moment: datetime) -> int:
    """Give a time in microseconds; without a time zone it is UTC."""
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(zoned.timestamp()) * 1_000_000 + zoned.microsecond


def _time(text: str) -> int:
    try:
        return micros_of(datetime.fromisoformat(text))
    except ValueError as error:
        raise BadQuestion(f"{text[:64]!r} is no time like 2026-01-31T06:00:00Z", "pin") from error
