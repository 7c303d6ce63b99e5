"""What a server can do, by its version: 2.0 is verified, older ones are served as well as they can be."""

import re
from typing import NamedTuple

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")
_VERIFIED = (2, 0)


class Features(NamedTuple):
    """What a server can do that not every one can."""

    #: Many entities in one call.
    bulk: bool
    #: Many statuses of a pipeline in one call.
    status_bulk: bool
    #: Statuses with times, inputs, outputs, metrics and errors.
    rich_statuses: bool
    #: Edges written and read by names instead of ids.
    edges_by_name: bool
    #: The version that this client was held against.
    verified: bool


def version_numbers(version: str) -> tuple[int, int]:
    """Give the first two numbers of a version; zeros when it has none."""
    found = _VERSION.match(version.strip())
    return (int(found[1]), int(found[2])) if found else (0, 0)


def features(version: str) -> Features:
    """Tell what a server of this version can do; of one that has none, the least."""
    numbers = version_numbers(version)
    return Features(
        bulk=numbers >= (1, 11),
        status_bulk=numbers >= (1, 11),
        rich_statuses=numbers >= (1, 10),
        edges_by_name=numbers >= (2, 0),
        verified=numbers == _VERIFIED,
    )
