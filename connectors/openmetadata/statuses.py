"""Statuses of pipelines as older servers take them."""

from typing import Any

_PLAIN = ("timestamp", "executionStatus", "taskStatus")
_PLAIN_TASK = ("name", "executionStatus", "startTime", "endTime", "logLink")


def with_tasks(status: dict[str, Any]) -> dict[str, Any]:
    """Name the tasks even when there are none: the server fails where they are left out."""
    return {**status, "taskStatus": status.get("taskStatus") or []}


def plain(status: dict[str, Any]) -> dict[str, Any]:
    """Keep what every server knows of a status: an older one refuses the rest."""
    kept = _of(status, _PLAIN)
    return kept | {"taskStatus": [_of(task, _PLAIN_TASK) for task in kept.get("taskStatus") or []]}


def _of(whole: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: whole[key] for key in keys if key in whole}
