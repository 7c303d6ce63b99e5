"""Builds table and column profiles."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject

#: Column metrics, each with the names that producers use, the standard name first.
_COLUMN_METRICS = {
    "valuesCount": ("count", "valuesCount"),
    "nullCount": ("nullCount",),
    "distinctCount": ("distinctCount",),
    "uniqueCount": ("uniqueCount",),
    "duplicateCount": ("duplicateCount",),
    "validCount": ("validCount",),
    "sum": ("sum",),
    "mean": ("mean", "avg"),
    "stddev": ("stddev", "standardDeviation"),
    "median": ("median",),
    "min": ("min",),
    "max": ("max",),
}
#: Proportions, each with the count from which it is derived.
_PROPORTIONS = {
    "nullProportion": "nullCount", "uniqueProportion": "uniqueCount", "distinctProportion": "distinctCount",
}  # fmt: skip
#: Table operations by lifecycle change; a run without a change may have done anything, and counts as WRITE.
_OPERATIONS = {
    "CREATE": "WRITE", "OVERWRITE": "WRITE", "ALTER": "UPDATE", "TRUNCATE": "DELETE", "APPEND": "INSERT",
}  # fmt: skip
_REPLACING_CHANGES = frozenset({"CREATE", "OVERWRITE"})
_MEDIAN_KEYS = ("0.5", "0.50", ".5", "50")


class TableMetrics(NamedTuple):
    """Metrics of a table after a run: the written amounts, and the measured values."""

    rows_written: int | None
    bytes_written: int | None
    #: Lifecycle change that the listener reported for the run, if any.
    change: str | None
    wrote: bool
    column_count: int
    measured: Mapping[str, Any]


def known_size(size: int | None, rows: int | None) -> int | None:
    """Return the size in bytes, or None if it is unknown. JDBC writers report 0 bytes for rows of unknown size."""
    return None if size == 0 and rows else size


def table_profile(metrics: TableMetrics, timestamp: int, columns: Mapping[str, str]) -> JsonObject:
    """Build the profile of a table; `columns` maps the producer's column names to the server's."""
    measured_rows = _as_number(metrics.measured.get("rowCount"))
    measured_bytes = _as_number(metrics.measured.get("bytes"))
    row_count, byte_count = measured_rows, measured_bytes
    if metrics.change in _REPLACING_CHANGES:
        # The run replaced the content of the table, so it wrote all of it.
        if row_count is None:
            row_count = metrics.rows_written
        if byte_count is None:
            byte_count = known_size(metrics.bytes_written, metrics.rows_written)
    table_metrics = {"rowCount": row_count, "sizeInByte": byte_count, "columnCount": metrics.column_count or None}
    known_metrics: JsonObject = {key: value for key, value in table_metrics.items() if value is not None}
    body: JsonObject = {"tableProfile": {"timestamp": timestamp, **known_metrics}}
    column_metrics = metrics.measured.get("columnMetrics")
    if isinstance(column_metrics, Mapping):
        column_profiles = _column_profiles(column_metrics, timestamp, columns, measured_rows)
        if column_profiles:
            body["columnProfile"] = column_profiles
    if metrics.wrote and metrics.rows_written is not None:
        operation = _OPERATIONS.get(metrics.change or "", "WRITE")
        operation_profile = {"timestamp": timestamp, "operation": operation, "rowsAffected": metrics.rows_written}
        body["systemProfile"] = [operation_profile]
    return body


def _column_profiles(
    measured: Mapping[str, Any], timestamp: int, columns: Mapping[str, str], rows: float | None
) -> list[JsonObject]:
    """Build profiles of the columns that the server knows, because it rejects profiles of other columns."""
    profiles = [
        {"name": columns[name], "timestamp": timestamp, **_metric_members(metrics, rows)}
        for name, metrics in measured.items()
        if name in columns and isinstance(metrics, Mapping)
    ]
    return sorted(profiles, key=lambda profile: str(profile["name"]))


def _metric_members(measured: Mapping[str, Any], rows: float | None) -> JsonObject:
    """Return the measured and derived metrics of a column."""
    body = _measured_metrics(measured)
    values, nulls = _as_number(body.get("valuesCount")), _as_number(body.get("nullCount"))
    total = rows if rows is not None else values
    derived: JsonObject = {}
    if values is not None and nulls is not None:
        # A producer may count values with or without nulls; a count of all rows includes the nulls.
        derived["validCount"] = max(values - nulls, 0) if total == values else values
    if values is not None and "distinctCount" in body:
        derived["duplicateCount"] = max(values - (nulls or 0) - body["distinctCount"], 0)
    if "sum" in body and values:
        derived["mean"] = body["sum"] / values
    if total:
        for key, count_key in _PROPORTIONS.items():
            if count_key in body:
                derived[key] = body[count_key] / total
        if values is not None:
            derived["valuesPercentage"] = 100 * values / total
    return derived | body


def _measured_metrics(measured: Mapping[str, Any]) -> JsonObject:
    """Return the metrics that the producer measured, under their standard names."""
    metrics: JsonObject = {}
    for key, names in _COLUMN_METRICS.items():
        metric = next((measured[name] for name in names if _is_metric(key, measured.get(name))), None)
        if metric is not None:
            metrics[key] = metric
    quantiles = measured.get("quantiles")
    if "median" not in metrics and isinstance(quantiles, Mapping):
        median = next((_as_number(quantiles.get(key)) for key in _MEDIAN_KEYS if key in quantiles), None)
        if median is not None:
            metrics["median"] = median
    return metrics


def _is_metric(key: str, value: Any) -> bool:
    return _as_number(value) is not None or (key in {"min", "max"} and isinstance(value, str))


def _as_number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
