"""Statuses of pipeline runs, identified by timestamp."""

import json
from typing import Any

from tests.standins.openmetadata import enums
from tests.standins.openmetadata.changes import Change
from tests.standins.openmetadata.create_shapes import REFERENCE
from tests.standins.openmetadata.errors import ApiError, unhandled_exception
from tests.standins.openmetadata.shapes import Shape, choice, integer, list_of, mapping, text
from tests.standins.openmetadata.state import Data, Entity, Store

MAX_ROWS = 1000
_COUNTS = dict.fromkeys(("rowCount", "sizeBytes"), integer)
_USAGE = Shape(
    {"datasetFQN": text, "columns": list_of(text), **_COUNTS, "filter": text, "version": text},
    required="datasetFQN",
    extra="allow",
)
_GENERATION = Shape(
    {
        "datasetFQN": text,
        "columns": list_of(text),
        **_COUNTS,
        "mode": choice(*enums.WRITE_MODES),
        "partitions": list_of(text),
        "version": text,
    },
    required="datasetFQN",
    extra="allow",
)
_DATASETS = {"inputs": list_of(_USAGE), "outputs": list_of(_GENERATION)}
_TASK = Shape(
    {
        "name": text,
        "executionStatus": choice(*enums.RUN_STATES),
        **dict.fromkeys(("startTime", "endTime"), integer),
        **dict.fromkeys(("logLink", "taskId", "transformationLogic"), text),
        "transformationType": choice("filter", "aggregate", "join", "pivot", "custom", "extract", "load"),
        **_DATASETS,
        "metrics": mapping,
    },
    required="name executionStatus",
)
STATUS = Shape(
    {
        "timestamp": integer,
        "executionStatus": choice(*enums.RUN_STATES),
        "taskStatus": list_of(_TASK),
        **dict.fromkeys(("executionId", "version"), text),
        "endTime": integer,
        "parameters": mapping,
        "executedBy": REFERENCE,
        **_DATASETS,
        "metrics": mapping,
        "error": mapping,
    },
    required="timestamp executionStatus",
)


def put_status(store: Store, pipeline: Entity, row: Data) -> Change:
    """Store a status; replaces one with the same timestamp."""
    if "taskStatus" not in row:
        raise unhandled_exception(
            'Cannot invoke "java.util.List.iterator()" because the return value of '
            '"org.openmetadata.schema.entity.data.PipelineStatus.getTaskStatus()" is null'
        )
    _check_tasks(pipeline, [row])
    statuses = store.statuses.setdefault(pipeline.id, {})
    old = statuses.get(row["timestamp"])
    new = statuses[row["timestamp"]] = _complete(row)
    change = Change()
    if old is None:
        change.updated.append({"name": "pipelineStatus", "newValue": new})
    else:
        change.update("pipelineStatus", json.dumps(old), new)
    return change


def put_statuses(store: Store, pipeline: Entity, rows: list[Data]) -> Change | None:
    """Store all statuses or none."""
    _check_tasks(pipeline, rows)
    times = [row["timestamp"] for row in rows]
    if len(set(times)) < len(times):
        raise unhandled_exception(
            "java.sql.BatchUpdateException: Batch entry 0 was aborted: ERROR: ON CONFLICT DO UPDATE command cannot affect "
            "row a second time"
        )
    if not rows:
        return None
    statuses = store.statuses.setdefault(pipeline.id, {})
    for row in rows:
        statuses[row["timestamp"]] = _complete(row)
    change = Change()
    change.updated.append({"name": "pipelineStatus", "newValue": statuses[max(times)]})
    return change


def _check_tasks(pipeline: Entity, rows: list[Data]) -> None:
    names = {task["name"] for task in pipeline.data.get("tasks", [])}
    for row in rows:
        for task in row.get("taskStatus", []):
            if task["name"] not in names:
                raise ApiError(400, f"Invalid task name {task['name']}")


def _complete(row: Data) -> Data:
    out = {**row, **_complete_datasets(row)}
    if "taskStatus" in row:
        out["taskStatus"] = [{**task, **_complete_datasets(task)} for task in row["taskStatus"]]
    return out


def _complete_datasets(row: Data) -> Data:
    inputs = [{"columns": [], **item} for item in row.get("inputs", [])]
    outputs = [{"columns": [], "partitions": [], **item} for item in row.get("outputs", [])]
    return {"inputs": inputs, "outputs": outputs}


def latest(store: Store, pipeline: Entity) -> Data | None:
    """Status with the largest timestamp."""
    statuses = store.statuses.get(pipeline.id)
    return statuses[max(statuses)] if statuses else None


def between(store: Store, pipeline: Entity, start: int, end: int) -> list[Any]:
    """Statuses in a time range, newest first."""
    statuses = store.statuses.get(pipeline.id, {})
    return [statuses[timestamp] for timestamp in sorted(statuses, reverse=True) if start <= timestamp <= end]


def delete_status(store: Store, pipeline: Entity, timestamp: int) -> Data:
    statuses = store.statuses.get(pipeline.id, {})
    if timestamp not in statuses:
        raise ApiError(404, f"Failed to find pipeline status for {pipeline.name} at {timestamp}")
    return statuses.pop(timestamp)
