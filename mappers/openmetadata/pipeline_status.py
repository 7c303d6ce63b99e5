"""Builds pipeline statuses from runs.

The server has four states. An aborted run becomes Skipped, with an error that says that it was aborted. A run whose
end was not reported becomes Skipped, too: it did not succeed, but it may not have failed.
"""

from collections.abc import Iterable
from typing import NamedTuple

from mappers.canonical_json import JsonObject
from mappers.openmetadata.fqn import entity_name
from mappers.openmetadata.profiles import known_size

_STATES = {
    "STARTED": "Pending", "SUCCESS": "Successful", "FAILED": "Failed", "CANCELLED": "Skipped", "UNKNOWN": "Skipped",
}  # fmt: skip
_ERRORS = {
    "CANCELLED": ("ABORT", "the run was aborted"),
    "UNKNOWN": ("UNKNOWN", "no end was reported before its application ended"),
}
#: States in order of severity: the worst of several runs of a step determines the status of the step.
_WORST_FIRST = ("FAILED", "CANCELLED", "UNKNOWN", "STARTED", "SUCCESS")
_MAX_CHARACTERS, _MAX_TRACE = 1_000, 20_000
_MAX_DATASETS = 200
_NOMINAL_TIMES = ("nominalStartTime", "nominalEndTime")


class DatasetUsage(NamedTuple):
    """A dataset that a run read or wrote (by its fully qualified name), and the amount of data."""

    fqn: str
    rows: int | None = None
    bytes: int | None = None
    version: str | None = None


class TaskExecution(NamedTuple):
    """A run of a step; times are in milliseconds."""

    name: str
    status: str
    began: int | None
    ended: int | None


class RunContent(NamedTuple):
    """The content of a run that is sent as a status; times are in milliseconds."""

    run_uuid: str
    status: str
    ended: int | None
    error: str | None
    nominal: tuple[str | None, str | None]
    inputs: tuple[DatasetUsage, ...]
    outputs: tuple[DatasetUsage, ...]
    steps: tuple[TaskExecution, ...]


def pipeline_status(run: RunContent, timestamp: int) -> JsonObject:
    """Build the status of a run; `timestamp` (milliseconds) identifies the status."""
    body: JsonObject = {
        "timestamp": timestamp,
        "executionStatus": _STATES[run.status],
        "executionId": run.run_uuid,
        "taskStatus": _task_statuses(run.steps),
    }
    if run.ended is not None and run.status != "STARTED":
        body["endTime"] = run.ended
    if error := _run_error(run):
        body["error"] = error
    if parameters := {key: value for key, value in zip(_NOMINAL_TIMES, run.nominal, strict=True) if value}:
        body["parameters"] = parameters
    if run.inputs:
        body["inputs"] = [_usage_members(usage) for usage in run.inputs[:_MAX_DATASETS]]
    if run.outputs:
        body["outputs"] = [_usage_members(usage) for usage in run.outputs[:_MAX_DATASETS]]
        row_counts = [usage.rows for usage in run.outputs if usage.rows is not None]
        if row_counts:
            body["metrics"] = {"totalRowsProcessed": sum(row_counts)}
    return body


def last_run(pipeline_id: str, pipeline_fqn: str, status: str, started: int) -> JsonObject:
    """Build the last run of a pipeline that writes a table; `started` is in milliseconds."""
    return {
        "pipeline": {"id": pipeline_id, "type": "pipeline", "fullyQualifiedName": pipeline_fqn},
        "lastRunTime": started,
        "lastRunStatus": _STATES[status],
    }


def _run_error(run: RunContent) -> JsonObject | None:
    """Build the error of a run: the first line of the text as the message, and the full text as the stack trace."""
    failed_step = next((step.name for step in run.steps if step.status == "FAILED"), None)
    if run.status == "FAILED":
        text = (run.error or "").strip()
        first_line, _, more_lines = text.partition("\n")
        error: JsonObject = {
            "errorType": "FAIL",
            "errorMessage": (first_line or "no reason was reported")[:_MAX_CHARACTERS],
        }
        if more_lines or len(first_line) > _MAX_CHARACTERS:
            error["stackTrace"] = text[:_MAX_TRACE]
    elif run.status in _ERRORS:
        error_type, message = _ERRORS[run.status]
        error = {"errorType": error_type, "errorMessage": ((run.error or "").strip() or message)[:_MAX_CHARACTERS]}
    else:
        return None
    if failed_step:
        error["failedTask"] = entity_name(failed_step).name
    return error


def _task_statuses(steps: Iterable[TaskExecution]) -> list[JsonObject]:
    """Build the statuses of steps; several runs of a step are combined into one."""
    runs_by_step: dict[str, list[TaskExecution]] = {}
    for step in steps:
        runs_by_step.setdefault(entity_name(step.name).name, []).append(step)
    return [_task_status(name, runs) for name, runs in sorted(runs_by_step.items())]


def _task_status(name: str, runs: list[TaskExecution]) -> JsonObject:
    worst_status = min((run.status for run in runs), key=_WORST_FIRST.index)
    body: JsonObject = {"name": name, "executionStatus": _STATES[worst_status]}
    start_times = [run.began for run in runs if run.began is not None]
    end_times = [run.ended for run in runs if run.ended is not None]
    if start_times:
        body["startTime"] = min(start_times)
    if end_times and worst_status != "STARTED":
        body["endTime"] = max(end_times)
    return body


def _usage_members(usage: DatasetUsage) -> JsonObject:
    size = known_size(usage.bytes, usage.rows)
    members = {"datasetFQN": usage.fqn, "rowCount": usage.rows, "sizeBytes": size, "version": usage.version}
    return {key: value for key, value in members.items() if value is not None}
