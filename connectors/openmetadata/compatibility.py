"""Differences between OpenMetadata versions."""

import re
from typing import Any, NamedTuple

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")
_VERIFIED = (2, 0)


class ServerFeatures(NamedTuple):
    """Features that only some server versions have."""

    #: Many entities in one request.
    bulk: bool
    #: Many statuses of a pipeline in one request.
    status_bulk: bool
    #: Statuses with times, inputs, outputs, metrics and errors.
    rich_statuses: bool
    #: Edges are written and read by names instead of ids.
    edges_by_name: bool
    #: This client was verified against this version.
    verified: bool


def version_numbers(version: str) -> tuple[int, int]:
    """Major and minor version; (0, 0) if unknown."""
    match = _VERSION.match(version.strip())
    return (int(match[1]), int(match[2])) if match else (0, 0)


def server_features(version: str) -> ServerFeatures:
    """Features of a server version; an unknown version gets the fewest."""
    numbers = version_numbers(version)
    return ServerFeatures(
        bulk=numbers >= (1, 11),
        status_bulk=numbers >= (1, 11),
        rich_statuses=numbers >= (1, 10),
        edges_by_name=numbers >= (2, 0),
        verified=numbers == _VERIFIED,
    )


_BASIC_FIELDS = ("timestamp", "executionStatus", "taskStatus")
_BASIC_TASK_FIELDS = ("name", "executionStatus", "startTime", "endTime", "logLink")


def with_task_list(status: dict[str, Any]) -> dict[str, Any]:
    """Add an empty task list if missing: the server fails without one."""
    return {**status, "taskStatus": status.get("taskStatus") or []}


def basic_status(status: dict[str, Any]) -> dict[str, Any]:
    """Keep the fields that every server accepts: older servers reject newer fields."""
    basic = _select(status, _BASIC_FIELDS)
    return basic | {"taskStatus": [_select(task, _BASIC_TASK_FIELDS) for task in basic.get("taskStatus") or []]}


def _select(mapping: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: mapping[key] for key in keys if key in mapping}
