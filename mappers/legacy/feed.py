"""Maps rows of a run table to legacy run events."""

import re
from collections.abc import Mapping
from datetime import date, datetime, tzinfo
from typing import Any

from mappers.canonical_json import JsonObject
from mappers.errors import InvalidInput
from mappers.legacy.technology import Technology
from mappers.redaction import is_secret_name

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
_TIMES = frozenset((*COLUMNS["start_time"], *COLUMNS["end_time"]))
#: Where requests of a run manager stand: one process a type.
RUN_MANAGEMENT = "RunMgmt"
#: What stands before `=` is a namespace where it is in capitals, an address, or one of these: as the agent reads it.
NAMESPACE_KEYWORDS = frozenset({
    "abfs", "abfss", "adl", "bigquery", "cassandra", "db2", "dbfs", "file", "gcs", "gs", "hdfs", "hive",
    "iceberg", "impala", "kafka", "local", "mariadb", "mongodb", "mssql", "mysql", "nfs", "oracle",
    "postgres", "postgresql", "redshift", "s3", "s3a", "s3n", "sftp", "snowflake", "sqlite", "sqlserver",
    "teradata", "unix", "vertica", "wasb", "wasbs",
})  # fmt: skip
_WORD = re.compile(r"[A-Z][A-Z0-9_]*")
_WHOLE = re.compile(r"-?[0-9]{1,9}")


def normalize_row(row: Mapping[str, Any], zone: tzinfo) -> JsonObject:
    """Write a row as JSON has it, with a zone for times that have none; so it is known again.

    When it began and ended is left as it is: only both together tell which hour is meant where a clock was set back.
    """
    return {key: _plain(value, None if key.lower() in _TIMES else zone) for key, value in row.items()}


def row_to_run_event(row: Mapping[str, Any], technology: str, zone: tzinfo, notes: list[str]) -> JsonObject:
    """Write a plain row as a run event, and note what is odd; raises RefusedEvent naming the column that is wrong."""
    _refuse_shifted(row)
    given = {str(key).lower(): value for key, value in row.items() if key and value is not None and value != ""}
    found = {name: next((given.pop(one) for one in names if one in given), None) for name, names in COLUMNS.items()}
    kind = str(found["technology"] or technology).upper()
    if kind not in set(Technology):
        raise InvalidInput(f"is none of {', '.join(Technology)}: {kind[:32]!r}", "technology")
    if found["status"] is None:
        raise InvalidInput("is missing", "status")
    namespace, name = _job(found, kind)
    kept = {key: value for key, value in given.items() if not is_secret_name(key)}
    run: JsonObject = {"facets": kept}
    _put_times(run, {"startTime": found["start_time"], "endTime": found["end_time"]}, zone, notes)
    if found["run_id"] is not None:
        run["runId"] = str(found["run_id"])
    if found["exit_code"] is not None:
        run["facets"]["exitCode"] = _number(found["exit_code"])
    if found["error"] is not None:
        run["facets"]["errorMessage"] = {"message": str(found["error"]), "programmingLanguage": kind}
    job: JsonObject = {"namespace": namespace, "name": name, "facets": {"jobType": _kind(kind)}}
    if found["owner"] is not None:
        job["facets"]["ownership"] = {"owners": [{"name": str(found["owner"]), "type": "OWNER"}]}
    body: JsonObject = {"eventType": str(found["status"]), "run": run, "job": job}
    for side in ("inputs", "outputs"):
        if found[side] is not None:
            body[side] = _datasets(found[side])
    return body


def _refuse_shifted(row: Mapping[str, Any]) -> None:
    """Refuse a row in which values stand behind the last column: nobody knows which of them is one too many."""
    beyond = row.get("")
    if isinstance(beyond, list) and any(value not in (None, "") for value in beyond):
        raise InvalidInput(f"the row has {len(beyond)} field(s) more than the header: is one not quoted?")


def _job(found: Mapping[str, Any], kind: str) -> tuple[str, str]:
    """Name the process: a request by its type, everything else by its own name."""
    namespace = str(found["namespace"] or kind)
    if kind == "RUNMGR" and found["request_type"] is not None:
        return namespace, f"{RUN_MANAGEMENT}/{found['request_type']}"
    if found["name"] is None:
        raise InvalidInput("is missing", "request_type" if kind == "RUNMGR" else "name")
    return namespace, str(found["name"])


def _kind(kind: str) -> JsonObject:
    return {"processingType": "BATCH", "integration": kind, "jobType": "REQUEST" if kind == "RUNMGR" else "JOB"}


def _datasets(value: Any) -> list[JsonObject]:
    """Read datasets: a list of addresses, or one text with commas between them; `NAMESPACE=NAME` names both."""
    listed = value if isinstance(value, list) else [part.strip() for part in str(value).split(",")]
    found: list[JsonObject] = []
    for one in listed:
        if isinstance(one, dict):
            found.append(one)
        elif one:
            namespace, equals, name = str(one).partition("=")
            both = equals and (_is_server(namespace) or _is_word(namespace))
            found.append({"namespace": namespace, "name": name} if both else {"namespace": "FILE", "name": str(one)})
    return found


def _is_server(namespace: str) -> bool:
    server = namespace.partition("://")[2]
    return bool(server) and not {"/", "?"} & set(server)


def _is_word(namespace: str) -> bool:
    return namespace.lower() in NAMESPACE_KEYWORDS or _WORD.fullmatch(namespace) is not None


def _number(value: Any) -> Any:
    """Read a whole number, which a file of texts has as a text."""
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value


def _put_times(run: JsonObject, told: JsonObject, zone: tzinfo, notes: list[str]) -> None:
    """Put into a run when it began and ended; what is no time is refused where times are read."""
    times = {name: _time(value, zone) for name, value in told.items() if value is not None}
    run.update({name: time if isinstance(time, str) else time.isoformat() for name, time in times.items()})
    start, end = (_moment(times.get(name)) for name in told)
    if start is None or end is None or end.timestamp() >= start.timestamp():
        return
    later = end.replace(fold=1)
    if not isinstance(times["endTime"], str) and later.timestamp() >= start.timestamp():
        run["endTime"] = later.isoformat()
        notes.append("run.endTime is before run.startTime: read as the second time that the clock showed it")
    else:
        run["facets"]["toldTimes"] = {"startTime": run["startTime"], "endTime": run["endTime"]}
        notes.append("run.endTime is before run.startTime: as told they are in the facet toldTimes")


def _time(value: Any, zone: tzinfo) -> str | datetime:
    """Give a time that has no zone this one; what has one, or is no time, stays the text that it is."""
    moment = _moment(value)
    return str(value) if moment is None or moment.tzinfo else moment.replace(tzinfo=zone)


def _moment(value: Any) -> datetime | None:
    try:
        return value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def _plain(value: Any, zone: tzinfo | None) -> Any:
    if isinstance(value, datetime):
        return (value if value.tzinfo or zone is None else value.replace(tzinfo=zone)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return value
    return str(value)
