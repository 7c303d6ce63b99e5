"""Builds pipeline statuses from runs."""

from collections.abc import Iterable
from typing import NamedTuple

from mappers.canonical_json import JsonObject
from mappers.openmetadata.fqn import entity_name

_WORDS = {
    "STARTED": "Pending", "SUCCESS": "Successful", "FAILED": "Failed", "CANCELLED": "Skipped", "UNKNOWN": "Skipped",
}  # fmt: skip
_ERRORS = {
    "CANCELLED": ("ABORT", "the run was aborted"),
    "UNKNOWN": ("UNKNOWN", "no end was reported before its application ended"),
}
#: Of several runs of one step the worst tells how the step went.
_WORST = ("FAILED", "CANCELLED", "UNKNOWN", "STARTED", "SUCCESS")
_MAX_CHARACTERS, _MAX_TRACE = 1_000, 20_000
_MAX_DATASETS = 200
_NOMINAL = ("nominalStartTime", "nominalEndTime")


class DatasetUsage(NamedTuple):
    """A dataset that a run read or wrote, by its fully qualified name, and how much of it."""

    fqn: str
    rows: int | None = None
    bytes: int | None = None
    version: str | None = None


class TaskExecution(NamedTuple):
    """A run of one step; times are milliseconds."""

    name: str
    status: str
    began: int | None
    ended: int | None


class RunContent(NamedTuple):
    """What the store knows of a run, as far as it goes into a status; times are milliseconds."""

    run_uuid: str
    status: str
    ended: int | None
    error: str | None
    nominal: tuple[str | None, str | None]
    inputs: tuple[DatasetUsage, ...]
    outputs: tuple[DatasetUsage, ...]
    steps: tuple[TaskExecution, ...]


def pipeline_status(run: RunContent, timestamp: int) -> JsonObject:
    """Say how a run went, at the time by which its status is known."""
    body: JsonObject = {
        "timestamp": timestamp,
        "executionStatus": _WORDS[run.status],
        "executionId": run.run_uuid,
        "taskStatus": _tasks(run.steps),
    }
    if run.ended is not None and run.status != "STARTED":
        body["endTime"] = run.ended
    if error := _error(run):
        body["error"] = error
    if parameters := {key: value for key, value in zip(_NOMINAL, run.nominal, strict=True) if value}:
        body["parameters"] = parameters
    if run.inputs:
        body["inputs"] = [_usage(one) for one in run.inputs[:_MAX_DATASETS]]
    if run.outputs:
        body["outputs"] = [_usage(one) for one in run.outputs[:_MAX_DATASETS]]
        counts = [one.rows for one in run.outputs if one.rows is not None]
        if counts:
            body["metrics"] = {"totalRowsProcessed": sum(counts)}
    return body


def _error(run: RunContent) -> JsonObject | None:
    """Say what went wrong: the first line of it, and all of it."""
    failed = next((step.name for step in run.steps if step.status == "FAILED"), None)
    if run.status == "FAILED":
        said = (run.error or "").strip()
        first, _, rest = said.partition("\n")
        error: JsonObject = {
            "errorType": "FAIL",
            "errorMessage": (first or "no reason was reported")[:_MAX_CHARACTERS],
        }
        if rest or len(first) > _MAX_CHARACTERS:
            error["stackTrace"] = said[:_MAX_TRACE]
    elif run.status in _ERRORS:
        kind, message = _ERRORS[run.status]
        error = {"errorType": kind, "errorMessage": ((run.error or "").strip() or message)[:_MAX_CHARACTERS]}
    else:
        return None
    return error | ({"failedTask": entity_name(failed).name} if failed else {})


def _tasks(steps: Iterable[TaskExecution]) -> list[JsonObject]:
    """Say how steps went; several runs of one are told as one."""
    runs: dict[str, list[TaskExecution]] = {}
    for step in steps:
        runs.setdefault(entity_name(step.name).name, []).append(step)
    return [_task(name, found) for name, found in sorted(runs.items())]


def _task(name: str, runs: list[TaskExecution]) -> JsonObject:
    worst = min((step.status for step in runs), key=_WORST.index)
    body: JsonObject = {"name": name, "executionStatus": _WORDS[worst]}
    began = [step.began for step in runs if step.began is not None]
    ended = [step.ended for step in runs if step.ended is not None]
    if began:
        body["startTime"] = min(began)
    if ended and worst != "STARTED":
        body["endTime"] = max(ended)
    return body


def _usage(one: DatasetUsage) -> JsonObject:
    told = {"datasetFQN": one.fqn, "rowCount": one.rows, "sizeBytes": one.bytes, "version": one.version}
    return {key: value for key, value in told.items() if value is not None}
