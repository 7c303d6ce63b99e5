"""Spark SQL expressions for quality checks, checksums and profiles, and their evaluation."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from bridge.process.check_definition import CheckDefinition, parse_age_minutes
from mappers.naming import quote_spark_identifier

#: What is counted of everything that is written: how many rows, and what they hold, in any order.
ROWS, CHECKSUM = "rows", ("hash_xor", "hash_sum")
_UNHASHED = ("map<", "variant")


class CheckOutcome(NamedTuple):
    """How a check ended."""

    check: CheckDefinition
    passed: bool
    #: What was found: rows that break it, the value that was asked for.
    actual: Any

    @property
    def blocks(self) -> bool:
        """Tell whether nothing may be published because of it."""
        return not self.passed and self.check.severity == "fail"

    def __str__(self) -> str:
        about = f" of {', '.join(self.check.key_columns)}" if self.check.key_columns else ""
        return f"{self.check.name or self.check.check}{about} on {self.check.on}: {_said(self.check, self.actual)}"


def measurement_expressions(columns: Mapping[str, str]) -> dict[str, str]:
    """Give what is counted of everything: rows, and a checksum that knows no order."""
    hashed = [
        quote_spark_identifier(name) if not kind.startswith(_UNHASHED) else f"to_json({quote_spark_identifier(name)})"
        for name, kind in columns.items()
    ]
    value = f"xxhash64({', '.join(hashed)})"
    return {ROWS: "count(1)", CHECKSUM[0]: f"bit_xor({value})", CHECKSUM[1]: f"sum({value} & 2147483647)"}


def format_checksum(found: Mapping[str, Any]) -> str:
    """Write the checksum of what was counted."""
    xor, total = (found.get(name) or 0 for name in CHECKSUM)
    return f"xxhash64:{xor & ((1 << 64) - 1):016x}:{total:x}:{found[ROWS]}"


def aggregate_expression(check: CheckDefinition) -> str | None:
    """Give the aggregate that tells how a check ends while data is written; None for what must be asked later."""
    column = quote_spark_identifier(check.column) if check.column else ""
    if check.check == "not_null":
        return f"count_if({column} IS NULL)"
    if check.check == "accepted_values":
        values = ", ".join(sql_literal(one) for one in check.values or ())
        return f"count_if({column} IS NOT NULL AND NOT ({column} IN ({values})))"
    if check.check == "range":
        broken = [
            f"{column} {sign} {sql_literal(bound)}"
            for sign, bound in (("<", check.min), (">", check.max))
            if bound is not None
        ]
        return f"count_if({' OR '.join(broken)})"
    if check.check == "row_count":
        return "count(1)"
    if check.check == "freshness":
        return f"unix_micros(CAST(max({column}) AS TIMESTAMP))"
    return None


def check_query(check: CheckDefinition, view: str) -> str:
    """Give the query of one value that tells how a check ends once the data is written."""
    if check.check == "unique":
        keys = ", ".join(map(quote_spark_identifier, check.key_columns))
        repeated = f"SELECT count(1) - 1 AS n FROM {view} GROUP BY {keys} HAVING count(1) > 1"
        return f"SELECT coalesce(sum(n), 0) FROM ({repeated})"
    if check.check == "referential":
        other, _, of = (check.references or "").partition(".")
        column = f"l.{quote_spark_identifier(check.column or '')}"
        joined = (
            f"{view} l LEFT ANTI JOIN {quote_spark_identifier(other)} r ON {column} = r.{quote_spark_identifier(of)}"
        )
        return f"SELECT count(1) FROM {joined} WHERE {column} IS NOT NULL"
    return check.sql or ""


def evaluate(check: CheckDefinition, value: Any, now: datetime) -> CheckOutcome:
    """Tell how a check ended from what was counted or asked."""
    if check.check == "row_count":
        low, high = check.min, check.max
        return CheckOutcome(check, (low is None or value >= low) and (high is None or value <= high), value)
    if check.check == "freshness":
        if value is None:
            return CheckOutcome(check, False, None)
        newest = datetime.fromtimestamp(value / 1_000_000, UTC)
        oldest = now - timedelta(minutes=parse_age_minutes(check.max_age or "0m"))
        return CheckOutcome(check, newest >= oldest, newest.isoformat())
    if check.check == "sql":
        return CheckOutcome(check, _same(value, check.expected), value)
    return CheckOutcome(check, not value, value)


def _is_number(kind: str) -> bool:
    return kind.startswith(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"))


def _is_any(_: str) -> bool:
    return True


def _is_comparable(kind: str) -> bool:
    return not kind.startswith(_UNHASHED)


_PROFILED: tuple[tuple[str, str, Callable[[str], bool]], ...] = (
    ("nullCount", "count_if({0} IS NULL)", _is_any),
    ("distinctCount", "approx_count_distinct({0})", _is_comparable),
    ("min", "min({0})", _is_number),
    ("max", "max({0})", _is_number),
    ("sum", "sum(CAST({0} AS DOUBLE))", _is_number),
    ("count", "count({0})", _is_any),
)


def profile_expressions(columns: Mapping[str, str]) -> dict[str, str]:
    """Give what is counted of every column, by `metric|column`."""
    return {
        f"{metric}|{name}": template.format(quote_spark_identifier(name))
        for name, kind in columns.items()
        for metric, template, fits in _PROFILED
        if fits(kind)
    }


def column_profiles(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Gather what was counted by columns, as the facet of metrics has it."""
    columns: dict[str, dict[str, Any]] = {}
    for key, value in found.items():
        metric, bar, name = key.partition("|")
        if bar and value is not None:
            columns.setdefault(name, {})[metric] = float(value) if metric in {"min", "max", "sum"} else value
    return columns


def sql_literal(value: Any) -> str:
    """Write a value for SQL."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = value.isoformat() if isinstance(value, date) else str(value)
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def blocking_failures(outcomes: Sequence[CheckOutcome]) -> list[CheckOutcome]:
    """Give those because of which nothing may be published."""
    return [one for one in outcomes if one.blocks]


def _same(value: Any, expected: Any) -> bool:
    if isinstance(expected, bool) or isinstance(value, bool):
        return value is expected
    if isinstance(expected, int | float) and not isinstance(value, str):
        return value is not None and float(value) == float(expected)
    return str(value) == str(expected)


def _said(check: CheckDefinition, actual: Any) -> str:
    if check.check == "row_count":
        return f"{actual} rows; wanted {_bounds(check)}"
    if check.check == "freshness":
        return f"the newest is {actual}; wanted within {check.max_age}" if actual else "there is no value at all"
    if check.check == "sql":
        return f"{actual}; wanted {check.expected}"
    return {
        "not_null": f"{actual} rows are null",
        "unique": f"{actual} rows repeat others",
        "accepted_values": f"{actual} rows hold other values than {', '.join(map(str, check.values or ()))}",
        "range": f"{actual} rows are out of range; wanted {_bounds(check)}",
        "referential": f"{actual} rows have no match in {check.references}",
    }[check.check]


def _bounds(check: CheckDefinition) -> str:
    bounds = [
        f"{word} {bound}" for word, bound in (("at least", check.min), ("at most", check.max)) if bound is not None
    ]
    return " and ".join(bounds)
