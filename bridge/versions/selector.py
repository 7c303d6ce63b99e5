"""Version selectors: `published`, `latest`, `as_of:TIME`, `version:TAG`, `pin:NAME`."""

from datetime import UTC, datetime
from typing import Annotated, Literal, NamedTuple

import msgspec

from bridge.errors import InvalidParameter
from bridge.versions.reader import WHOLE_VERSION
from mappers.openlineage.partitions import normalize_partition_key

SelectorKind = Literal["published", "latest", "version", "pin", "named"]
_PREFIXES: dict[str, SelectorKind] = {"version:": "version", "pin:": "pin"}
_AS_OF = "as_of:"


class Selector(NamedTuple):
    """A way to choose a version; `named` is a version if there is one of that name, else a pin."""

    kind: SelectorKind
    name: str = ""
    #: As it was at that time, in microseconds.
    as_of: int | None = None


PUBLISHED = Selector("published")


def parse_selector(text: str, as_of: datetime | None = None) -> Selector:
    """Read `published`, `latest`, `as_of:TIME` (the latest of then), `version:TAG`, `pin:NAME`, or a name of either.

    A time beside it means what was published, or the latest, at that time.
    """
    until = None if as_of is None else to_micros(as_of)
    if text in ("published", "latest"):
        return Selector("published" if text == "published" else "latest", "", until)
    if until is not None:
        raise InvalidParameter(
            "goes with pin=published and pin=latest: a version or pin is the same at any time", "as_of"
        )
    if text.startswith(_AS_OF):
        return Selector("latest", "", _time(text.removeprefix(_AS_OF)))
    for prefix, kind in _PREFIXES.items():
        if text.startswith(prefix) and len(text) > len(prefix):
            return Selector(kind, text.removeprefix(prefix))
    if not text:
        raise InvalidParameter("empty: say published, latest, as_of:TIME, a version or a pin", "pin")
    return Selector("named", text)


def to_micros(moment: datetime) -> int:
    """Give a time in microseconds; without a time zone it is UTC."""
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(zoned.timestamp()) * 1_000_000 + zoned.microsecond


def _time(text: str) -> int:
    try:
        return to_micros(datetime.fromisoformat(text))
    except ValueError as error:
        raise InvalidParameter(f"{text[:64]!r} is no time like 2026-01-31T06:00:00Z", "pin") from error


SelectorField = Annotated[
    str,
    msgspec.Meta(
        description="`published`, `latest`, `as_of:TIME` (the latest of then), `version:TAG`, `pin:NAME`, or a name:"
        " of a version, else of a pin.",
        min_length=1,
    ),
]
AsOfField = Annotated[
    datetime | None,
    msgspec.Meta(
        description="What was published, or the latest, at that time; UTC without a time zone.",
        extra_json_schema={"format": "date-time"},
    ),
]
PartitionField = Annotated[
    str,
    msgspec.Meta(
        description="One partition, such as `day=2026-01-31`; its names in any order.", min_length=1, max_length=500
    ),
]


def parse_partition(text: str | None) -> str:
    """Read the name of a partition; raises BadQuestion when it is none."""
    if text is None:
        return WHOLE_VERSION
    try:
        return normalize_partition_key(text)
    except ValueError as error:
        raise InvalidParameter(str(error), "partition") from error
