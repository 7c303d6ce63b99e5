"""Figures of data as profiles of tables and of their columns."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject

#: Names of figures of a column, by those that producers give them; the standard ones first.
_COLUMN = {
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
#: What a run did to a table, by how the listener calls it; what it does not call anything may be anything.
_OPERATIONS = {
    "CREATE": "WRITE", "OVERWRITE": "WRITE", "ALTER": "UPDATE", "TRUNCATE": "DELETE", "APPEND": "INSERT",
}  # fmt: skip
_WHOLE = frozenset({"CREATE", "OVERWRITE"})
_HALF = ("0.5", "0.50", ".5", "50")


class TableMetrics(NamedTuple):
    """What is known of a table at a time, in milliseconds: what a run wrote of it, and what was measured."""

    rows_written: int | None
    bytes_written: int | None
    #: How the listener calls what the run did, if it wrote.
    change: str | None
    wrote: bool
    column_count: int
    measured: Mapping[str, Any]


def table_profile(figures: TableMetrics, timestamp: int, columns: Mapping[str, str]) -> JsonObject:
    """Say what is known of a table at a time; columns by the names that producers and the server give them."""
    whole = figures.change in _WHOLE
    rows = _number(figures.measured.get("rowCount"))
    size = _number(figures.measured.get("bytes"))
    table: JsonObject = {"timestamp": timestamp}
    table |= _told("rowCount", rows if rows is not None else figures.rows_written if whole else None)
    table |= _told("sizeInByte", size if size is not None else figures.bytes_written if whole else None)
    table |= _told("columnCount", figures.column_count or None)
    body: JsonObject = {"tableProfile": table}
    of = figures.measured.get("columnMetrics")
    told = _columns(of.items() if isinstance(of, Mapping) else (), timestamp, columns, rows)
    if told:
        body["columnProfile"] = told
    if figures.wrote and figures.rows_written is not None:
        operation = _OPERATIONS.get(figures.change or "", "WRITE")
        written = {"timestamp": timestamp, "operation": operation, "rowsAffected": figures.rows_written}
        body["systemProfile"] = [written]
    return body


def _columns(
    measured: Iterable[tuple[str, Any]], timestamp: int, columns: Mapping[str, str], rows: float | None
) -> list[JsonObject]:
    """Say what was measured of columns; those that the server does not have would be refused."""
    found = [
        {"name": columns[name], "timestamp": timestamp, **_figures(figures, rows)}
        for name, figures in measured
        if name in columns and isinstance(figures, Mapping)
    ]
    return sorted(found, key=lambda one: str(one["name"]))


def _figures(said: Mapping[str, Any], rows: float | None) -> JsonObject:
    """Give the figures of a column, and those that follow from them."""
    body: JsonObject = {
        key: value
        for key, names in _COLUMN.items()
        if (value := next((said[name] for name in names if _is_figure(key, said.get(name))), None)) is not None
    }
    half = said.get("quantiles")
    if "median" not in body and isinstance(half, Mapping):
        body |= _told("median", next((_number(half.get(key)) for key in _HALF if key in half), None))
    values, nulls = _number(body.get("valuesCount")), _number(body.get("nullCount"))
    whole = rows if rows is not None else values
    if whole is None and values is not None and nulls is not None:
        whole = values + nulls
    follows: JsonObject = {}
    if values is not None and nulls is not None:
        follows["validCount"] = max(values - nulls, 0) if whole == values else values
    if values is not None and "distinctCount" in body:
        follows["duplicateCount"] = max(values - (nulls or 0) - body["distinctCount"], 0)
    if "sum" in body and values:
        follows["mean"] = body["sum"] / values
    if whole:
        for key, of in (("nullProportion", "nullCount"), ("uniqueProportion", "uniqueCount"),
                        ("distinctProportion", "distinctCount")):  # fmt: skip
            if of in body:
                follows[key] = body[of] / whole
        if values is not None:
            follows["valuesPercentage"] = 100 * values / whole
    return follows | body


def _is_figure(key: str, value: Any) -> bool:
    return _number(value) is not None or (key in {"min", "max"} and isinstance(value, str))


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _told(key: str, value: Any) -> JsonObject:
    return {} if value is None else {key: value}
