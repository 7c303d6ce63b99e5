"""Differences between OpenMetadata versions."""

import re
from typing import Any, NamedTuple

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")
_VERIFIED = (2, 0)


class ServerFeatures(NamedTuple):
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


def server_features(version: str) -> ServerFeatures:
    """Tell what a server of this version can do; of one that has none, the least."""
    numbers = version_numbers(version)
    return ServerFeatures(
        bulk=numbers >= (1, 11),
        status_bulk=numbers >= (1, 11),
        rich_statuses=numbers >= (1, 10),
        edges_by_name=numbers >= (2, 0),
        verified=numbers == _VERIFIED,
    )


_PLAIN = ("timestamp", "executionStatus", "taskStatus")
_PLAIN_TASK = ("name", "executionStatus", "startTime", "endTime", "logLink")


def with_task_list(status: dict[str, Any]) -> dict[str, Any]:
    """Name the tasks even when there are none: the server fails where they are left out."""
    return {**status, "taskStatus": status.get("taskStatus") or []}


def basic_status(status: dict[str, Any]) -> dict[str, Any]:
    """Keep what every server knows of a status: an older one refuses the rest."""
    kept = _of(status, _PLAIN)
    return kept | {"taskStatus": [_of(task, _PLAIN_TASK) for task in kept.get("taskStatus") or []]}


def _of(whole: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: whole[key] for key in keys if key in whole}
