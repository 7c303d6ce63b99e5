"""Spark SQL expressions for quality checks, checksums and profiles, and their evaluation."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from bridge.process.check_definition import CheckDefinition, parse_age_minutes
from mappers.counts import count_of
from mappers.naming import quote_spark_identifier

#: Names of the measurements of every output: row count, and the two parts of an order-independent checksum.
ROWS = "rows"
CHECKSUM = ("hash_xor", "hash_sum")
_UNHASHABLE_TYPES = ("map<", "variant")


class CheckOutcome(NamedTuple):
    """Outcome of a check."""

    check: CheckDefinition
    passed: bool
    #: Number of violating rows, or the measured value.
    actual: Any

    @property
    def blocks(self) -> bool:
        """True if the outcome prevents publication."""
        return not self.passed and self.check.severity == "fail"

    def __str__(self) -> str:
        columns = f" of {', '.join(self.check.key_columns)}" if self.check.key_columns else ""
        result = _describe_result(self.check, self.actual)
        return f"{self.check.name or self.check.check}{columns} on {self.check.on}: {result}"


def measurement_expressions(columns: Mapping[str, str]) -> dict[str, str]:
    """Build Spark SQL expressions for the row count and an order-independent checksum."""
    hashed_columns = []
    for name, spark_type in columns.items():
        column = quote_spark_identifier(name)
        hashed_columns.append(f"to_json({column})" if spark_type.startswith(_UNHASHABLE_TYPES) else column)
    row_hash = f"xxhash64({', '.join(hashed_columns)})"
    xor_name, sum_name = CHECKSUM
    return {ROWS: "count(1)", xor_name: f"bit_xor({row_hash})", sum_name: f"sum({row_hash} & 2147483647)"}


def format_checksum(measurements: Mapping[str, Any]) -> str:
    """Format the checksum of an output, which includes the row count."""
    xor, total = (measurements.get(name) or 0 for name in CHECKSUM)
    return f"xxhash64:{xor & ((1 << 64) - 1):016x}:{total:x}:{measurements[ROWS]}"


def aggregate_expression(check: CheckDefinition) -> str | None:
    """Build the aggregate that evaluates a check while data is written, or return None if the check needs a query."""
    column = quote_spark_identifier(check.column) if check.column else ""
    if check.check == "not_null":
        return f"count_if({column} IS NULL)"
    if check.check == "accepted_values":
        values = ", ".join(sql_literal(value) for value in check.values or ())
        return f"count_if({column} IS NOT NULL AND NOT ({column} IN ({values})))"
    if check.check == "range":
        violations = [
            f"{column} {operator} {sql_literal(bound)}"
            for operator, bound in (("<", check.min), (">", check.max))
            if bound is not None
        ]
        return f"count_if({' OR '.join(violations)})"
    if check.check == "row_count":
        return "count(1)"
    if check.check == "freshness":
        return f"unix_micros(CAST(max({column}) AS TIMESTAMP))"
    return None


def check_query(check: CheckDefinition, view: str) -> str:
    """Build the query for the value that decides whether a check passes. The query runs after the data is written."""
    if check.check == "unique":
        keys = ", ".join(map(quote_spark_identifier, check.key_columns))
        duplicates = f"SELECT count(1) - 1 AS n FROM {view} GROUP BY {keys} HAVING count(1) > 1"
        return f"SELECT coalesce(sum(n), 0) FROM ({duplicates})"
    if check.check == "referential":
        referenced_view, _, referenced_column = (check.references or "").partition(".")
        column = f"l.{quote_spark_identifier(check.column or '')}"
        key = f"r.{quote_spark_identifier(referenced_column)}"
        join = f"{view} l LEFT ANTI JOIN {quote_spark_identifier(referenced_view)} r ON {column} = {key}"
        return f"SELECT count(1) FROM {join} WHERE {column} IS NOT NULL"
    return check.sql or ""


def evaluate(check: CheckDefinition, value: Any, now: datetime) -> CheckOutcome:
    """Evaluate a check from its measured value."""
    if check.check == "row_count":
        reaches_min = check.min is None or value >= check.min
        exceeds_max = check.max is not None and value > check.max
        return CheckOutcome(check, reaches_min and not exceeds_max, value)
    if check.check == "freshness":
        if value is None:
            return CheckOutcome(check, passed=False, actual=None)
        newest = datetime.fromtimestamp(value / 1_000_000, UTC)
        oldest_allowed = now - timedelta(minutes=parse_age_minutes(check.max_age or "0m"))
        return CheckOutcome(check, newest >= oldest_allowed, newest.isoformat())
    if check.check == "sql":
        return CheckOutcome(check, _equals(value, check.expected), value)
    violating_rows = value
    return CheckOutcome(check, not violating_rows, violating_rows)


def _is_numeric(spark_type: str) -> bool:
    return spark_type.startswith(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"))


def _is_hashable(spark_type: str) -> bool:
    return not spark_type.startswith(_UNHASHABLE_TYPES)


def _is_any_type(_: str) -> bool:
    return True


#: Name and SQL template of each metric, and the predicate of the column types to which it applies.
_PROFILE_METRICS: tuple[tuple[str, str, Callable[[str], bool]], ...] = (
    ("nullCount", "count_if({0} IS NULL)", _is_any_type),
    ("distinctCount", "approx_count_distinct({0})", _is_hashable),
    ("min", "min({0})", _is_numeric),
    ("max", "max({0})", _is_numeric),
    ("sum", "sum(CAST({0} AS DOUBLE))", _is_numeric),
    ("count", "count({0})", _is_any_type),
)


def profile_expressions(columns: Mapping[str, str]) -> dict[str, str]:
    """Build the profile aggregates of all columns, by `metric|column`."""
    expressions = {}
    for name, spark_type in columns.items():
        for metric, template, applies_to in _PROFILE_METRICS:
            if applies_to(spark_type):
                expressions[f"{metric}|{name}"] = template.format(quote_spark_identifier(name))
    return expressions


def column_profiles(measurements: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Group the measurements with keys `metric|column` by column, as in the metrics facet."""
    profiles: dict[str, dict[str, Any]] = {}
    for key, value in measurements.items():
        metric, separator, column = key.partition("|")
        if separator and value is not None:
            profiles.setdefault(column, {})[metric] = float(value) if metric in {"min", "max", "sum"} else value
    return profiles


def sql_literal(value: Any) -> str:
    """Format a value as a Spark SQL literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = value.isoformat() if isinstance(value, date) else str(value)
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def blocking_failures(outcomes: Sequence[CheckOutcome]) -> list[CheckOutcome]:
    """Return the failed checks that prevent publication."""
    return [outcome for outcome in outcomes if outcome.blocks]


def _equals(value: Any, expected: Any) -> bool:
    """Compare numbers by value, and other values by their string. A boolean equals only itself."""
    if isinstance(expected, bool) or isinstance(value, bool):
        return value is expected
    if isinstance(expected, int | float) and not isinstance(value, str):
        return value is not None and float(value) == float(expected)
    return str(value) == str(expected)


def _describe_result(check: CheckDefinition, actual: Any) -> str:
    match check.check:
        case "row_count":
            text = f"{count_of(actual, 'row')}; expected {_bounds_text(check)}"
        case "freshness":
            text = f"newest value is {actual}; expected within {check.max_age}" if actual else "there are no values"
        case "sql":
            text = f"{actual}; expected {check.expected}"
        case "not_null":
            text = f"{count_of(actual, 'null value')}"
        case "unique":
            text = f"{count_of(actual, 'duplicate row')}"
        case "accepted_values":
            text = f"{count_of(actual, 'row')} with values other than {', '.join(map(str, check.values or ()))}"
        case "range":
            text = f"{count_of(actual, 'row')} out of range; expected {_bounds_text(check)}"
        case "referential":
            text = f"{count_of(actual, 'row')} without a match in {check.references}"
    return text


def _bounds_text(check: CheckDefinition) -> str:
    bounds = [
        f"{label} {bound}" for label, bound in (("at least", check.min), ("at most", check.max)) if bound is not None
    ]
    return " and ".join(bounds)
