"""Checks: what Spark is asked to count or to tell, and how its answers are judged."""

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


def make(check: str, **given: Any) -> CheckDefinition:
    return CheckDefinition.model_validate({"on": "o", "check": check, **given})


COUNTED = {
    "not_null": (make("not_null", column="a b"), "count_if(`a b` IS NULL)"),
    "accepted": (make("accepted_values", column="k", values=["x", "it's", 3]), "count_if(`k` IS NOT NULL AND NOT (`k` IN ('x', 'it\\'s', 3)))"),
    "range": (make("range", column="k", min=0, max=10.5), "count_if(`k` < 0 OR `k` > 10.5)"),
    "range of days": (make("range", column="k", min="2026-01-01"), "count_if(`k` < '2026-01-01')"),
    "row_count": (make("row_count", min=1), "count(1)"),
    "freshness": (make("freshness", column="t", max_age="2h"), "unix_micros(CAST(max(`t`) AS TIMESTAMP))"),
}  # fmt: skip
ASKED = {
    "unique": (make("unique", columns=["a", "b"]), "SELECT coalesce(sum(n), 0) FROM (SELECT count(1) - 1 AS n FROM v GROUP BY `a`, `b` HAVING count(1) > 1)"),
    "referential": (make("referential", column="a", references="c.id"), "SELECT count(1) FROM v l LEFT ANTI JOIN `c` r ON l.`a` = r.`id` WHERE l.`a` IS NOT NULL"),
    "sql": (make("sql", sql="SELECT 1", expected=1), "SELECT 1"),
}  # fmt: skip


@pytest.mark.parametrize(("check", "text"), COUNTED.values(), ids=COUNTED)
def test_most_checks_are_counted_while_data_is_written(check: CheckDefinition, text: str) -> None:
    assert aggregate_expression(check) == text


@pytest.mark.parametrize(("check", "text"), ASKED.values(), ids=ASKED)
def test_the_others_are_asked_of_what_was_written(check: CheckDefinition, text: str) -> None:
    assert aggregate_expression(check) is None
    assert check_query(check, "v") == text


def micros(age: timedelta) -> int:
    return int((NOW - age).timestamp() * 1_000_000)


JUDGED = [
    (make("not_null", column="k"), 0, True, "0 rows are null"),
    (make("not_null", column="k"), 2, False, "2 rows are null"),
    (make("row_count", min=3, max=5), 3, True, "3 rows; expected at least 3 and at most 5"),
    (make("row_count", min=3), 2, False, "2 rows; expected at least 3"),
    (make("row_count", max=3), 4, False, "4 rows; expected at most 3"),
    (make("freshness", column="t", max_age="90m"), micros(timedelta(minutes=90)), True, "newest value is 2026-02-01T04:30:00+00:00; expected within 90m"),
    (make("freshness", column="t", max_age="90m"), micros(timedelta(minutes=91)), False, "newest value is 2026-02-01T04:29:00+00:00; expected within 90m"),
    (make("freshness", column="t", max_age="2d"), None, False, "there are no values"),
    (make("sql", sql="x", expected=7), 7.0, True, "7.0; expected 7"),
    (make("sql", sql="x", expected=7), None, False, "None; expected 7"),
    (make("sql", sql="x", expected=True), 1, False, "1; expected True"),
    (make("sql", sql="x", expected="2026-01-31"), date(2026, 1, 31), True, "2026-01-31; expected 2026-01-31"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "value", "passed", "said"), JUDGED)
def test_an_answer_is_judged_and_said(check: CheckDefinition, value: Any, passed: bool, said: str) -> None:
    outcome = evaluate(check, value, NOW)
    assert (outcome.passed, str(outcome).partition(": ")[2]) == (passed, said)
    assert blocking_failures([outcome]) == ([] if passed else [outcome])


def test_a_warning_keeps_nothing_back() -> None:
    assert blocking_failures([evaluate(make("not_null", column="k", severity="warn"), 2, NOW)]) == []


def test_what_is_counted_of_everything_knows_types_that_have_no_hash() -> None:
    texts = measurement_expressions({"a": "int", "m": "map<string,int>"})
    assert texts["hash_xor"] == "bit_xor(xxhash64(`a`, to_json(`m`)))"
    assert format_checksum({"rows": 2, "hash_xor": -1, "hash_sum": 255}) == "xxhash64:ffffffffffffffff:ff:2"
    assert format_checksum({"rows": 0, "hash_xor": None, "hash_sum": None}) == "xxhash64:0000000000000000:0:0"


def test_a_profile_asks_of_each_column_what_it_can_tell() -> None:
    texts = profile_expressions({"n": "decimal(10,2)", "t": "string", "m": "map<string,int>"})
    assert sorted(texts) == [
        "count|m", "count|n", "count|t", "distinctCount|n", "distinctCount|t", "max|n", "min|n", "nullCount|m", "nullCount|n",
        "nullCount|t", "sum|n",
    ]  # fmt: skip
    assert column_profiles({"rows": 3, "min|n": 1, "nullCount|t": 0, "max|n": None}) == {
        "n": {"min": 1.0},
        "t": {"nullCount": 0},
    }


@given(st.text())
def test_whatever_a_text_holds_it_stays_one_text_in_sql(text: str) -> None:
    inside = sql_literal(text)[1:-1]
    assert inside.replace("\\\\", "").replace("\\'", "").count("'") == 0
    assert inside.replace("\\'", "'").replace("\\\\", "\\") == text or "\\" in text
    assert quote_spark_identifier(text)[1:-1].replace("``", "").count("`") == 0
