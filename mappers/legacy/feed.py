"""Rows of a run manager, or of any table of runs, as run events of legacy jobs: columns by their names, no code."""

import re
from collections.abc import Mapping
from datetime import date, datetime, tzinfo
from typing import Any

from mappers.errors import RefusedEvent
from mappers.legacy.technologies import Technology
from mappers.secrets import is_secret

Body = dict[str, Any]

#: What a column may be called, the first that is there counts.
COLUMNS: dict[str, tuple[str, ...]] = {
    "technology": ("technology",),
    "namespace": ("namespace",),
    "name": ("name", "process", "job", "job_name", "procedure"),
    "request_type": ("request_type", "requesttype"),
    "run_id": ("run_id", "runid", "request_id", "id"),
    "status": ("status", "state"),
    "start_time": ("start_time", "started_at", "start_ts", "start"),
    "end_time": ("end_time", "ended_at", "end_ts", "end"),
    "exit_code": ("exit_code", "return_code", "sqlcode"),
    "error": ("error", "error_message", "message"),
    "owner": ("owner", "requested_by", "submitted_by"),
    "inputs": ("inputs", "input"),
    "outputs": ("outputs", "output"),
}
#: Where requests of a run manager stand: one process a type.
RUN_MANAGEMENT = "RunMgmt"
_WORD = re.compile(r"[A-Z][A-Z0-9_]*")


def plain_row(row: Mapping[str, Any], zone: tzinfo) -> Body:
    """Write a row as JSON has it, with a zone for times that have none; so it is known again."""
    # What stands behind the last column of a file has no name.
    return {str(key or ""): _plain(value, zone) for key, value in row.items()}


def body_of_row(row: Mapping[str, Any], technology: str, zone: tzinfo) -> Body:
    """Write a plain row as a run event; raises RefusedEvent naming the column that is missing."""
    given = {str(key).lower(): value for key, value in row.items() if key and value is not None and value != ""}
    found = {name: next((given.pop(one) for one in names if one in given), None) for name, names in COLUMNS.items()}
    kind = str(found["technology"] or technology).upper()
    if kind not in set(Technology):
        raise RefusedEvent(f"is none of {', '.join(Technology)}: {kind[:32]!r}", "technology")
    if found["status"] is None:
        raise RefusedEvent("is missing", "status")
    namespace, name = _job(found, kind)
    kept = {key: value for key, value in given.items() if not is_secret(key)}
    run: Body = {"facets": kept}
    for column, member in (("run_id", "runId"), ("start_time", "startTime"), ("end_time", "endTime")):
        if found[column] is not None:
            run[member] = _time(found[column], zone) if column != "run_id" else str(found[column])
    if found["exit_code"] is not None:
        run["facets"]["exitCode"] = found["exit_code"]
    if found["error"] is not None:
        run["facets"]["errorMessage"] = {"message": str(found["error"]), "programmingLanguage": kind}
    job: Body = {"namespace": namespace, "name": name, "facets": {"jobType": _kind(kind)}}
    if found["owner"] is not None:
        job["facets"]["ownership"] = {"owners": [{"name": str(found["owner"]), "type": "OWNER"}]}
    body: Body = {"eventType": str(found["status"]), "run": run, "job": job}
    for side in ("inputs", "outputs"):
        if found[side] is not None:
            body[side] = _datasets(found[side])
    return body


def _job(found: Mapping[str, Any], kind: str) -> tuple[str, str]:
    """Name the process: a request by its type, everything else by its own name."""
    namespace = str(found["namespace"] or kind)
    if kind == "RUNMGR" and found["request_type"] is not None:
        return namespace, f"{RUN_MANAGEMENT}/{found['request_type']}"
    if found["name"] is None:
        raise RefusedEvent("is missing", "request_type" if kind == "RUNMGR" else "name")
    return namespace, str(found["name"])


def _kind(kind: str) -> Body:
    return {"processingType": "BATCH", "integration": kind, "jobType": "REQUEST" if kind == "RUNMGR" else "JOB"}


def _datasets(value: Any) -> list[Body]:
    """Read datasets: a list of addresses, or one text with commas between them; `NAMESPACE=NAME` names both."""
    listed = value if isinstance(value, list) else [part.strip() for part in str(value).split(",")]
    found: list[Body] = []
    for one in listed:
        if isinstance(one, dict):
            found.append(one)
        elif one:
            namespace, equals, name = str(one).partition("=")
            both = equals and ("://" in namespace or _WORD.fullmatch(namespace))
            found.append({"namespace": namespace, "name": name} if both else {"namespace": "FILE", "name": str(one)})
    return found


def _time(value: Any, zone: tzinfo) -> Any:
    """Give a time that has no zone this one; what is no time is refused where times are read."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return value
    return value if moment.tzinfo else moment.replace(tzinfo=zone).isoformat()


def _plain(value: Any, zone: tzinfo) -> Any:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=zone)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return value
    return str(value)
