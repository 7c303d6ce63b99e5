"""Version selectors: `published`, `latest`, `as_of:TIME`, `version:TAG`, `pin:NAME`."""

from datetime import datetime
from typing import Annotated, Literal, NamedTuple

import msgspec

from bridge.errors import InvalidParameter
from bridge.versions.reader import WHOLE_VERSION
from mappers.openlineage.partitions import normalize_partition_key
from mappers.timestamps import from_datetime

SelectorKind = Literal["published", "latest", "version", "pin", "named"]
_PREFIXES: dict[str, SelectorKind] = {"version:": "version", "pin:": "pin"}
_AS_OF = "as_of:"


class Selector(NamedTuple):
    """A way to choose a version. `named` refers to a version or, if no version has that name, to a pin."""

    kind: SelectorKind
    name: str = ""
    #: The state at this time, in microseconds.
    as_of: int | None = None


PUBLISHED = Selector("published")


def parse_selector(selector: str, as_of: datetime | None = None) -> Selector:
    """Parse a selector: `published`, `latest`, `as_of:TIME`, `version:TAG`, `pin:NAME`, or a version or pin name.

    `as_of:TIME` selects the latest version of that time; the parameter `as_of` can also be combined with `published`.
    """
    until = None if as_of is None else from_datetime(as_of)
    if selector in ("published", "latest"):
        return Selector("published" if selector == "published" else "latest", "", until)
    if until is not None:
        raise InvalidParameter(
            "requires pin=published or pin=latest: a version or a pin does not depend on a time", "as_of"
        )
    if selector.startswith(_AS_OF):
        return Selector("latest", "", _parse_time(selector.removeprefix(_AS_OF)))
    for prefix, kind in _PREFIXES.items():
        if selector.startswith(prefix) and len(selector) > len(prefix):
            return Selector(kind, selector.removeprefix(prefix))
    if not selector:
        raise InvalidParameter("empty: specify published, latest, as_of:TIME, a version or a pin", "pin")
    return Selector("named", selector)


def _parse_time(time: str) -> int:
    try:
        return from_datetime(datetime.fromisoformat(time))
    except ValueError as error:
        raise InvalidParameter(f"{time[:64]!r} is not a time such as 2026-01-31T06:00:00Z", "pin") from error


SelectorField = Annotated[
    str,
    msgspec.Meta(
        description="`published`, `latest`, `as_of:TIME` (the latest at that time), `version:TAG`, `pin:NAME`, or the"
        " name of a version or else of a pin.",
        min_length=1,
    ),
]
AsOfField = Annotated[
    datetime | None,
    msgspec.Meta(
        description="Published or latest version as of this time; UTC unless it has a time zone.",
        extra_json_schema={"format": "date-time"},
    ),
]
PartitionField = Annotated[
    str,
    msgspec.Meta(
        description="A single partition, e.g. `day=2026-01-31`; its keys in any order.", min_length=1, max_length=500
    ),
]


def parse_partition(partition: str | None) -> str:
    """Parse a partition. Raises InvalidParameter if it is malformed."""
    if partition is None:
        return WHOLE_VERSION
    try:
        return normalize_partition_key(partition)
    except ValueError as error:
        raise InvalidParameter(str(error), "partition") from error
