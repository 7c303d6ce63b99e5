"""Builds pipeline statuses from runs.

The server knows four states. An aborted run is Skipped, with an error that states it. A run whose end was not
reported is Skipped, too: it did not succeed, and is not known to have failed.
"""

from collections.abc import Iterable
from typing import NamedTuple

from mappers.canonical_json import JsonObject
from mappers.openmetadata.fqn import entity_name

_STATES = {
    "STARTED": "Pending", "SUCCESS": "Successful", "FAILED": "Failed", "CANCELLED": "Skipped", "UNKNOWN": "Skipped",
}  # fmt: skip
_ERRORS = {
    "CANCELLED": ("ABORT", "the run was aborted"),
    "UNKNOWN": ("UNKNOWN", "no end was reported before its application ended"),
}
#: The worst of several runs of a step determines the status of the step.
_WORST_FIRST = ("FAILED", "CANCELLED", "UNKNOWN", "STARTED", "SUCCESS")
_MAX_CHARACTERS, _MAX_TRACE = 1_000, 20_000
_MAX_DATASETS = 200
_NOMINAL_TIMES = ("nominalStartTime", "nominalEndTime")


class DatasetUsage(NamedTuple):
    """A dataset that a run read or wrote, by its fully qualified name, with the amount of data."""

    fqn: str
    rows: int | None = None
    bytes: int | None = None
    version: str | None = None


class TaskExecution(NamedTuple):
    """A run of a step; times are milliseconds."""

    name: str
    status: str
    began: int | None
    ended: int | None


class RunContent(NamedTuple):
    """Content of a run that goes into a status; times are milliseconds."""

    run_uuid: str
    status: str
    ended: int | None
    error: str | None
    nominal: tuple[str | None, str | None]
    inputs: tuple[DatasetUsage, ...]
    outputs: tuple[DatasetUsage, ...]
    steps: tuple[TaskExecution, ...]


def pipeline_status(run: RunContent, timestamp: int) -> JsonObject:
    """Build the status of a run, at the time that identifies the status."""
    body: JsonObject = {
        "timestamp": timestamp,
        "executionStatus": _STATES[run.status],
        "executionId": run.run_uuid,
        "taskStatus": _tasks(run.steps),
    }
    if run.ended is not None and run.status != "STARTED":
        body["endTime"] = run.ended
    if error := _error(run):
        body["error"] = error
    if parameters := {key: value for key, value in zip(_NOMINAL_TIMES, run.nominal, strict=True) if value}:
        body["parameters"] = parameters
    if run.inputs:
        body["inputs"] = [_usage(usage) for usage in run.inputs[:_MAX_DATASETS]]
    if run.outputs:
        body["outputs"] = [_usage(usage) for usage in run.outputs[:_MAX_DATASETS]]
        counts = [usage.rows for usage in run.outputs if usage.rows is not None]
        if counts:
            body["metrics"] = {"totalRowsProcessed": sum(counts)}
    return body


def _error(run: RunContent) -> JsonObject | None:
    """Error of a run: its first line, and the full text."""
    failed = next((step.name for step in run.steps if step.status == "FAILED"), None)
    if run.status == "FAILED":
        text = (run.error or "").strip()
        first, _, rest = text.partition("\n")
        error: JsonObject = {
            "errorType": "FAIL",
            "errorMessage": (first or "no reason was reported")[:_MAX_CHARACTERS],
        }
        if rest or len(first) > _MAX_CHARACTERS:
            error["stackTrace"] = text[:_MAX_TRACE]
    elif run.status in _ERRORS:
        error_type, message = _ERRORS[run.status]
        error = {"errorType": error_type, "errorMessage": ((run.error or "").strip() or message)[:_MAX_CHARACTERS]}
    else:
        return None
    return error | ({"failedTask": entity_name(failed).name} if failed else {})


def _tasks(steps: Iterable[TaskExecution]) -> list[JsonObject]:
    """Statuses of steps; several runs of a step become one."""
    runs: dict[str, list[TaskExecution]] = {}
    for step in steps:
        runs.setdefault(entity_name(step.name).name, []).append(step)
    return [_task(name, executions) for name, executions in sorted(runs.items())]


def _task(name: str, runs: list[TaskExecution]) -> JsonObject:
    worst = min((step.status for step in runs), key=_WORST_FIRST.index)
    body: JsonObject = {"name": name, "executionStatus": _STATES[worst]}
    began = [step.began for step in runs if step.began is not None]
    ended = [step.ended for step in runs if step.ended is not None]
    if began:
        body["startTime"] = min(began)
    if ended and worst != "STARTED":
        body["endTime"] = max(ended)
    return body


def _usage(usage: DatasetUsage) -> JsonObject:
    members = {"datasetFQN": usage.fqn, "rowCount": usage.rows, "sizeBytes": usage.bytes, "version": usage.version}
    return {key: value for key, value in members.items() if value is not None}
