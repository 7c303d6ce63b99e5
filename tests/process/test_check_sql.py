"""SQL of quality checks, and evaluation of their results."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.process.check_definition import CheckDefinition
from bridge.process.check_sql import (
    aggregate_expression,
    blocking_failures,
    check_query,
    column_profiles,
    evaluate,
    format_checksum,
    measurement_expressions,
    profile_expressions,
    sql_literal,
)
from mappers.naming import quote_spark_identifier

NOW = datetime(2026, 2, 1, 6, tzinfo=UTC)


def make_check(check: str, **parameters: Any) -> CheckDefinition:
    return CheckDefinition.model_validate({"on": "o", "check": check, **parameters})


AGGREGATES = {
    "not_null": (make_check("not_null", column="a b"), "count_if(`a b` IS NULL)"),
    "accepted": (make_check("accepted_values", column="k", values=["x", "it's", 3]), "count_if(`k` IS NOT NULL AND NOT (`k` IN ('x', 'it\\'s', 3)))"),
    "range": (make_check("range", column="k", min=0, max=10.5), "count_if(`k` < 0 OR `k` > 10.5)"),
    "range of days": (make_check("range", column="k", min="2026-01-01"), "count_if(`k` < '2026-01-01')"),
    "row_count": (make_check("row_count", min=1), "count(1)"),
    "freshness": (make_check("freshness", column="t", max_age="2h"), "unix_micros(CAST(max(`t`) AS TIMESTAMP))"),
}  # fmt: skip
QUERIES = {
    "unique": (make_check("unique", columns=["a", "b"]), "SELECT coalesce(sum(n), 0) FROM (SELECT count(1) - 1 AS n FROM v GROUP BY `a`, `b` HAVING count(1) > 1)"),
    "referential": (make_check("referential", column="a", references="c.id"), "SELECT count(1) FROM v l LEFT ANTI JOIN `c` r ON l.`a` = r.`id` WHERE l.`a` IS NOT NULL"),
    "sql": (make_check("sql", sql="SELECT 1", expected=1), "SELECT 1"),
}  # fmt: skip


@pytest.mark.parametrize(("check", "text"), AGGREGATES.values(), ids=AGGREGATES)
def test_checks_evaluated_while_writing(check: CheckDefinition, text: str) -> None:
    assert aggregate_expression(check) == text


@pytest.mark.parametrize(("check", "text"), QUERIES.values(), ids=QUERIES)
def test_checks_evaluated_by_query(check: CheckDefinition, text: str) -> None:
    assert aggregate_expression(check) is None
    assert check_query(check, "v") == text


def micros(age: timedelta) -> int:
    return int((NOW - age).timestamp() * 1_000_000)


RESULTS = [
    (make_check("not_null", column="k"), 0, True, "0 null values"),
    (make_check("not_null", column="k"), 2, False, "2 null values"),
    (make_check("row_count", min=3, max=5), 3, True, "3 rows; expected at least 3 and at most 5"),
    (make_check("row_count", min=3), 2, False, "2 rows; expected at least 3"),
    (make_check("row_count", max=3), 4, False, "4 rows; expected at most 3"),
    (make_check("freshness", column="t", max_age="90m"), micros(timedelta(minutes=90)), True, "newest value is 2026-02-01T04:30:00+00:00; expected within 90m"),
    (make_check("freshness", column="t", max_age="90m"), micros(timedelta(minutes=91)), False, "newest value is 2026-02-01T04:29:00+00:00; expected within 90m"),
    (make_check("freshness", column="t", max_age="2d"), None, False, "there are no values"),
    (make_check("sql", sql="x", expected=7), 7.0, True, "7.0; expected 7"),
    (make_check("sql", sql="x", expected=7), None, False, "None; expected 7"),
    (make_check("sql", sql="x", expected=True), 1, False, "1; expected True"),
    (make_check("sql", sql="x", expected="2026-01-31"), date(2026, 1, 31), True, "2026-01-31; expected 2026-01-31"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "value", "passed", "message"), RESULTS)
def test_evaluate(check: CheckDefinition, value: Any, passed: bool, message: str) -> None:
    outcome = evaluate(check, value, NOW)
    assert (outcome.passed, str(outcome).partition(": ")[2]) == (passed, message)
    assert blocking_failures([outcome]) == ([] if passed else [outcome])


def test_warnings_are_not_blocking() -> None:
    assert blocking_failures([evaluate(make_check("not_null", column="k", severity="warn"), 2, NOW)]) == []


def test_checksum_supports_types_without_hash() -> None:
    expressions = measurement_expressions({"a": "int", "m": "map<string,int>"})
    assert expressions["hash_xor"] == "bit_xor(xxhash64(`a`, to_json(`m`)))"
    assert format_checksum({"rows": 2, "hash_xor": -1, "hash_sum": 255}) == "xxhash64:ffffffffffffffff:ff:2"
    assert format_checksum({"rows": 0, "hash_xor": None, "hash_sum": None}) == "xxhash64:0000000000000000:0:0"


def test_profile_expressions_depend_on_type() -> None:
    expressions = profile_expressions({"n": "decimal(10,2)", "t": "string", "m": "map<string,int>"})
    assert sorted(expressions) == [
        "count|m", "count|n", "count|t", "distinctCount|n", "distinctCount|t", "max|n", "min|n", "nullCount|m", "nullCount|n",
        "nullCount|t", "sum|n",
    ]  # fmt: skip
    assert column_profiles({"rows": 3, "min|n": 1, "nullCount|t": 0, "max|n": None}) == {
        "n": {"min": 1.0},
        "t": {"nullCount": 0},
    }


@given(st.text())
def test_sql_literals_and_identifiers_are_escaped(text: str) -> None:
    content = sql_literal(text)[1:-1]
    assert content.replace("\\\\", "").replace("\\'", "").count("'") == 0
    assert content.replace("\\'", "'").replace("\\\\", "\\") == text or "\\" in text
    assert quote_spark_identifier(text)[1:-1].replace("``", "").count("`") == 0
