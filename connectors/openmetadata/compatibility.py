"""Differences between OpenMetadata versions."""

import re
from typing import Any, NamedTuple

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")
_VERIFIED = (2, 0)


class ServerFeatures(NamedTuple):
    """Features that only some server versions have."""

    #: A request can contain many entities.
    bulk: bool
    #: A request can contain many statuses of a pipeline.
    status_bulk: bool
    #: Statuses can have times, inputs, outputs, metrics and errors.
    rich_statuses: bool
    #: Tables show the last run of the pipelines that write them.
    pipeline_observability: bool
    #: Tables and other entities have data contracts.
    data_contracts: bool
    #: A bulk request can replace display names.
    override_metadata: bool
    #: Edges are written and read by name instead of id.
    edges_by_name: bool
    #: This client has been verified against this version.
    verified: bool


def version_numbers(version: str) -> tuple[int, int]:
    """Parse the major and minor version; returns (0, 0) if the version is unknown."""
    match = _VERSION.match(version.strip())
    if match is None:
        return 0, 0
    major, minor = match.groups()
    return int(major), int(minor)


def server_features(version: str) -> ServerFeatures:
    """Return the features of a server version; an unknown version has no features."""
    numbers = version_numbers(version)
    return ServerFeatures(
        bulk=numbers >= (1, 11),
        status_bulk=numbers >= (1, 11),
        rich_statuses=numbers >= (1, 10),
        pipeline_observability=numbers >= (1, 13),
        data_contracts=numbers >= (2, 0),
        override_metadata=numbers >= (2, 0),
        edges_by_name=numbers >= (2, 0),
        verified=numbers == _VERIFIED,
    )


_BASIC_FIELDS = ("timestamp", "executionStatus", "taskStatus")
_BASIC_TASK_FIELDS = ("name", "executionStatus", "startTime", "endTime", "logLink")


def with_task_list(status: dict[str, Any]) -> dict[str, Any]:
    """Add an empty task list to a status without tasks, because the server fails if the list is missing."""
    return {**status, "taskStatus": status.get("taskStatus") or []}


def basic_status(status: dict[str, Any]) -> dict[str, Any]:
    """Keep only the fields that every server accepts, because older servers reject newer fields."""
    basic = _select_fields(status, _BASIC_FIELDS)
    tasks = basic.get("taskStatus") or []
    return basic | {"taskStatus": [_select_fields(task, _BASIC_TASK_FIELDS) for task in tasks]}


def _select_fields(mapping: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: mapping[key] for key in keys if key in mapping}
