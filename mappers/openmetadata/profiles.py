"""Builds table and column profiles."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject

#: Metrics of a column, with the names that producers use; standard names first.
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
#: Operations on a table by lifecycle change; a run without a lifecycle change may have done anything.
_OPERATIONS = {
    "CREATE": "WRITE", "OVERWRITE": "WRITE", "ALTER": "UPDATE", "TRUNCATE": "DELETE", "APPEND": "INSERT",
}  # fmt: skip
_REPLACING_CHANGES = frozenset({"CREATE", "OVERWRITE"})
_MEDIAN_KEYS = ("0.5", "0.50", ".5", "50")


class TableMetrics(NamedTuple):
    """Metrics of a table at a time, in milliseconds: amounts that a run wrote, and measured values."""

    rows_written: int | None
    bytes_written: int | None
    #: Lifecycle change reported by the listener, if the run wrote.
    change: str | None
    wrote: bool
    column_count: int
    measured: Mapping[str, Any]


def table_profile(metrics: TableMetrics, timestamp: int, columns: Mapping[str, str]) -> JsonObject:
    """Build the profile of a table; `columns` maps names used by producers to names on the server."""
    is_replaced = metrics.change in _REPLACING_CHANGES
    rows = _number(metrics.measured.get("rowCount"))
    size = _number(metrics.measured.get("bytes"))
    table: JsonObject = {"timestamp": timestamp}
    table |= _member("rowCount", rows if rows is not None else metrics.rows_written if is_replaced else None)
    table |= _member("sizeInByte", size if size is not None else metrics.bytes_written if is_replaced else None)
    table |= _member("columnCount", metrics.column_count or None)
    body: JsonObject = {"tableProfile": table}
    column_metrics = metrics.measured.get("columnMetrics")
    column_profiles = _columns(
        column_metrics.items() if isinstance(column_metrics, Mapping) else (), timestamp, columns, rows
    )
    if column_profiles:
        body["columnProfile"] = column_profiles
    if metrics.wrote and metrics.rows_written is not None:
        operation = _OPERATIONS.get(metrics.change or "", "WRITE")
        operation_profile = {"timestamp": timestamp, "operation": operation, "rowsAffected": metrics.rows_written}
        body["systemProfile"] = [operation_profile]
    return body


def _columns(
    measured: Iterable[tuple[str, Any]], timestamp: int, columns: Mapping[str, str], rows: float | None
) -> list[JsonObject]:
    """Build profiles of columns; the server would reject columns that it does not have."""
    profiles = [
        {"name": columns[name], "timestamp": timestamp, **_metric_members(metrics, rows)}
        for name, metrics in measured
        if name in columns and isinstance(metrics, Mapping)
    ]
    return sorted(profiles, key=lambda profile: str(profile["name"]))


def _metric_members(measured: Mapping[str, Any], rows: float | None) -> JsonObject:
    """Metrics of a column, measured and derived."""
    body: JsonObject = {
        key: value
        for key, names in _COLUMN_METRICS.items()
        if (value := next((measured[name] for name in names if _is_metric(key, measured.get(name))), None))
        is not None
    }
    quantiles = measured.get("quantiles")
    if "median" not in body and isinstance(quantiles, Mapping):
        body |= _member(
            "median", next((_number(quantiles.get(key)) for key in _MEDIAN_KEYS if key in quantiles), None)
        )
    values, nulls = _number(body.get("valuesCount")), _number(body.get("nullCount"))
    total = rows if rows is not None else values
    if total is None and values is not None and nulls is not None:
        total = values + nulls
    derived: JsonObject = {}
    if values is not None and nulls is not None:
        derived["validCount"] = max(values - nulls, 0) if total == values else values
    if values is not None and "distinctCount" in body:
        derived["duplicateCount"] = max(values - (nulls or 0) - body["distinctCount"], 0)
    if "sum" in body and values:
        derived["mean"] = body["sum"] / values
    if total:
        for key, count_key in (("nullProportion", "nullCount"), ("uniqueProportion", "uniqueCount"),
                        ("distinctProportion", "distinctCount")):  # fmt: skip
            if count_key in body:
                derived[key] = body[count_key] / total
        if values is not None:
            derived["valuesPercentage"] = 100 * values / total
    return derived | body


def _is_metric(key: str, value: Any) -> bool:
    return _number(value) is not None or (key in {"min", "max"} and isinstance(value, str))


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _member(key: str, value: Any) -> JsonObject:
    return {} if value is None else {key: value}
