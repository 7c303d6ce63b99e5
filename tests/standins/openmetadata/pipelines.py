"""Statuses of pipeline runs: single and bulk, told apart by their timestamps."""

import json
from typing import Any

from tests.standins.openmetadata import enums
from tests.standins.openmetadata.changes import Change
from tests.standins.openmetadata.create_shapes import REFERENCE
from tests.standins.openmetadata.errors import ApiError, unhandled
from tests.standins.openmetadata.shapes import Shape, choice, listing, mapping, text, whole
from tests.standins.openmetadata.state import Data, Entity, Store

MOST_ROWS = 1000
_COUNTS = dict.fromkeys(("rowCount", "sizeBytes"), whole)
_USAGE = Shape(
    {"datasetFQN": text, "columns": listing(text), **_COUNTS, "filter": text, "version": text},
    required="datasetFQN",
    extra="kept",
)
_GENERATION = Shape(
    {
        "datasetFQN": text,
        "columns": listing(text),
        **_COUNTS,
        "mode": choice(*enums.WRITE_MODES),
        "partitions": listing(text),
        "version": text,
    },
    required="datasetFQN",
    extra="kept",
)
_ENDS = {"inputs": listing(_USAGE), "outputs": listing(_GENERATION)}
_TASK = Shape(
    {
        "name": text,
        "executionStatus": choice(*enums.RUN_STATES),
        **dict.fromkeys(("startTime", "endTime"), whole),
        **dict.fromkeys(("logLink", "taskId", "transformationLogic"), text),
        "transformationType": choice("filter", "aggregate", "join", "pivot", "custom", "extract", "load"),
        **_ENDS,
        "metrics": mapping,
    },
    required="name executionStatus",
)
STATUS = Shape(
    {
        "timestamp": whole,
        "executionStatus": choice(*enums.RUN_STATES),
        "taskStatus": listing(_TASK),
        **dict.fromkeys(("executionId", "version"), text),
        "endTime": whole,
        "parameters": mapping,
        "executedBy": REFERENCE,
        **_ENDS,
        "metrics": mapping,
        "error": mapping,
    },
    required="timestamp executionStatus",
)


def put_status(store: Store, pipeline: Entity, row: Data) -> Change:
    """Store one status; one of the same timestamp is replaced."""
    if "taskStatus" not in row:
        raise unhandled(
            'Cannot invoke "java.util.List.iterator()" because the return value of '
            '"org.openmetadata.schema.entity.data.PipelineStatus.getTaskStatus()" is null'
        )
    _check_tasks(pipeline, [row])
    known = store.statuses.setdefault(pipeline.id, {})
    old = known.get(row["timestamp"])
    new = known[row["timestamp"]] = _completed(row)
    change = Change()
    if old is None:
        change.updated.append({"name": "pipelineStatus", "newValue": new})
    else:
        change.update("pipelineStatus", json.dumps(old), new)
    return change


def put_statuses(store: Store, pipeline: Entity, rows: list[Data]) -> Change | None:
    """Store statuses, all or none of them."""
    _check_tasks(pipeline, rows)
    times = [row["timestamp"] for row in rows]
    if len(set(times)) < len(times):
        raise unhandled(
            "java.sql.BatchUpdateException: Batch entry 0 was aborted: ERROR: ON CONFLICT DO UPDATE command cannot affect "
            "row a second time"
        )
    if not rows:
        return None
    known = store.statuses.setdefault(pipeline.id, {})
    for row in rows:
        known[row["timestamp"]] = _completed(row)
    change = Change()
    change.updated.append({"name": "pipelineStatus", "newValue": known[max(times)]})
    return change


def _check_tasks(pipeline: Entity, rows: list[Data]) -> None:
    names = {task["name"] for task in pipeline.data.get("tasks", [])}
    for row in rows:
        for task in row.get("taskStatus", []):
            if task["name"] not in names:
                raise ApiError(400, f"Invalid task name {task['name']}")


def _completed(row: Data) -> Data:
    out = {**row, **_with_ends(row)}
    if "taskStatus" in row:
        out["taskStatus"] = [{**task, **_with_ends(task)} for task in row["taskStatus"]]
    return out


def _with_ends(row: Data) -> Data:
    inputs = [{"columns": [], **item} for item in row.get("inputs", [])]
    outputs = [{"columns": [], "partitions": [], **item} for item in row.get("outputs", [])]
    return {"inputs": inputs, "outputs": outputs}


def latest(store: Store, pipeline: Entity) -> Data | None:
    """Give the status of the largest timestamp, whenever it arrived."""
    known = store.statuses.get(pipeline.id)
    return known[max(known)] if known else None


def between(store: Store, pipeline: Entity, start: int, end: int) -> list[Any]:
    """Give the statuses of a time, the newest first."""
    known = store.statuses.get(pipeline.id, {})
    return [known[at] for at in sorted(known, reverse=True) if start <= at <= end]


def delete_status(store: Store, pipeline: Entity, at: int) -> Data:
    known = store.statuses.get(pipeline.id, {})
    if at not in known:
        raise ApiError(404, f"Failed to find pipeline status for {pipeline.name} at {at}")
    return known.pop(at)
