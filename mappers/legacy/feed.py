"""Maps rows of a run table to legacy run events."""

import re
from collections.abc import Mapping
from datetime import date, datetime, tzinfo
from typing import Any

from mappers.canonical_json import JsonObject
from mappers.counts import count_of
from mappers.errors import InvalidInput
from mappers.legacy.technology import Technology
from mappers.redaction import is_secret_name

#: Accepted names of each column; the first name that is present is used.
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
_TIME_COLUMNS = frozenset((*COLUMNS["start_time"], *COLUMNS["end_time"]))
#: Prefix of the process names of a run manager, which has one process per type of request.
RUN_MANAGEMENT = "RunMgmt"
#: Text before `=` is a namespace if it is in upper case, a URL, or one of these. The agent applies the same rule.
NAMESPACE_KEYWORDS = frozenset({
    "abfs", "abfss", "adl", "bigquery", "cassandra", "db2", "dbfs", "file", "gcs", "gs", "hdfs", "hive",
    "iceberg", "impala", "kafka", "local", "mariadb", "mongodb", "mssql", "mysql", "nfs", "oracle",
    "postgres", "postgresql", "redshift", "s3", "s3a", "s3n", "sftp", "snowflake", "sqlite", "sqlserver",
    "teradata", "unix", "vertica", "wasb", "wasbs",
})  # fmt: skip
_UPPERCASE_WORD = re.compile(r"[A-Z][A-Z0-9_]*")
_INTEGER = re.compile(r"-?[0-9]{1,9}")


def normalize_row(row: Mapping[str, Any], zone: tzinfo) -> JsonObject:
    """Convert a row to JSON values, and add the zone to times that lack one, so that repeated rows are recognized.

    Start and end get no zone here: after the clock has been set back, only both together show which hour is meant.
    """
    return {key: _json_value(value, None if key.lower() in _TIME_COLUMNS else zone) for key, value in row.items()}


def row_to_run_event(row: Mapping[str, Any], technology: str, zone: tzinfo, notes: list[str]) -> JsonObject:
    """Convert a normalized row to a run event, with notes; raises InvalidInput with the offending column."""
    _reject_extra_values(row)
    values = {str(key).lower(): value for key, value in row.items() if key and value is not None and value != ""}
    fields: dict[str, Any] = {}
    for field, columns in COLUMNS.items():
        present_column = next((column for column in columns if column in values), None)
        fields[field] = None if present_column is None else values.pop(present_column)
    technology_name = str(fields["technology"] or technology).upper()
    if technology_name not in set(Technology):
        raise InvalidInput(f"must be one of {', '.join(Technology)}: {technology_name[:32]!r}", "technology")
    if fields["status"] is None:
        raise InvalidInput("is missing", "status")
    namespace, name = _job_name(fields, technology_name)
    facets = {key: value for key, value in values.items() if not is_secret_name(key)}
    run: JsonObject = {"facets": facets}
    _set_times(run, {"startTime": fields["start_time"], "endTime": fields["end_time"]}, zone, notes)
    if fields["run_id"] is not None:
        run["runId"] = str(fields["run_id"])
    if fields["exit_code"] is not None:
        run["facets"]["exitCode"] = _parse_integer(fields["exit_code"])
    if fields["error"] is not None:
        run["facets"]["errorMessage"] = {"message": str(fields["error"]), "programmingLanguage": technology_name}
    job: JsonObject = {"namespace": namespace, "name": name, "facets": {"jobType": _job_type_facet(technology_name)}}
    if fields["owner"] is not None:
        job["facets"]["ownership"] = {"owners": [{"name": str(fields["owner"]), "type": "OWNER"}]}
    body: JsonObject = {"eventType": str(fields["status"]), "run": run, "job": job}
    for side in ("inputs", "outputs"):
        if fields[side] is not None:
            body[side] = _parse_datasets(fields[side])
    return body


def _reject_extra_values(row: Mapping[str, Any]) -> None:
    """Reject a row with more values than columns, because it is unknown which of the values is surplus."""
    extra_values = row.get("")
    if isinstance(extra_values, list) and any(value not in (None, "") for value in extra_values):
        raise InvalidInput(
            f"the row has {count_of(len(extra_values), 'value')} too many for the header: is one not quoted?"
        )


def _job_name(fields: Mapping[str, Any], technology: str) -> tuple[str, str]:
    """Return namespace and name of the process, which for a run manager is named after the request type."""
    namespace = str(fields["namespace"] or technology)
    if technology == "RUNMGR" and fields["request_type"] is not None:
        return namespace, f"{RUN_MANAGEMENT}/{fields['request_type']}"
    if fields["name"] is None:
        raise InvalidInput("is missing", "request_type" if technology == "RUNMGR" else "name")
    return namespace, str(fields["name"])


def _job_type_facet(technology: str) -> JsonObject:
    return {
        "processingType": "BATCH",
        "integration": technology,
        "jobType": "REQUEST" if technology == "RUNMGR" else "JOB",
    }


def _parse_datasets(value: Any) -> list[JsonObject]:
    """Parse datasets from a list of objects or strings, or from a single string with commas between the datasets.

    Each string is a path, a URL or `NAMESPACE=NAME`.
    """
    items = value if isinstance(value, list) else [part.strip() for part in str(value).split(",")]
    datasets: list[JsonObject] = []
    for item in items:
        if isinstance(item, dict):
            datasets.append(item)
        elif item:
            namespace, separator, name = str(item).partition("=")
            if separator and (_is_server_url(namespace) or _is_namespace_keyword(namespace)):
                datasets.append({"namespace": namespace, "name": name})
            else:
                datasets.append({"namespace": "FILE", "name": str(item)})
    return datasets


def _is_server_url(namespace: str) -> bool:
    server = namespace.partition("://")[2]
    return bool(server) and "/" not in server and "?" not in server


def _is_namespace_keyword(namespace: str) -> bool:
    return namespace.lower() in NAMESPACE_KEYWORDS or _UPPERCASE_WORD.fullmatch(namespace) is not None


def _parse_integer(value: Any) -> Any:
    """Convert a string that represents an integer; return any other value unchanged."""
    return int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else value


def _set_times(run: JsonObject, reported_times: JsonObject, zone: tzinfo, notes: list[str]) -> None:
    """Set the start and end of a run; keep a string that is not a valid time, so that the translator rejects it."""
    times = {name: _add_zone(value, zone) for name, value in reported_times.items() if value is not None}
    for name, time in times.items():
        run[name] = time if isinstance(time, str) else time.isoformat()
    start, end = _parse_datetime(times.get("startTime")), _parse_datetime(times.get("endTime"))
    if start is None or end is None or end.timestamp() >= start.timestamp():
        return
    # When the clock is set back, an hour occurs twice; a time without a zone may be in either occurrence.
    second_occurrence = end.replace(fold=1)
    has_added_zone = not isinstance(times["endTime"], str)
    if has_added_zone and second_occurrence.timestamp() >= start.timestamp():
        run["endTime"] = second_occurrence.isoformat()
        notes.append("run.endTime is before run.startTime: read as the second occurrence of that hour")
    else:
        run["facets"]["toldTimes"] = {"startTime": run["startTime"], "endTime": run["endTime"]}
        notes.append("run.endTime is before run.startTime: the reported times are in the facet toldTimes")


def _add_zone(value: Any, zone: tzinfo) -> str | datetime:
    """Add the zone to a time that lacks a zone; any other value is returned as a string."""
    time = _parse_datetime(value)
    if time is None or time.tzinfo:
        return str(value)
    return time.replace(tzinfo=zone)


def _parse_datetime(value: Any) -> datetime | None:
    try:
        return value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def _json_value(value: Any, zone: tzinfo | None) -> Any:
    if isinstance(value, datetime):
        if value.tzinfo is None and zone is not None:
            value = value.replace(tzinfo=zone)
        return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return value
    return str(value)
