"""Checks as test cases and results; metrics as profiles."""

from typing import Any

import pytest

from mappers.openmetadata.profiles import TableMetrics, table_profile
from mappers.openmetadata.quality import CheckDefinition, CheckSubject, case_requests, case_result

TABLE = CheckSubject("s.d.s.t", None)


@pytest.mark.parametrize(
    ("check", "subject", "name", "fqn", "link"),
    [
        (CheckDefinition("rows", "rows"), TABLE, "rows", "s.d.s.t.rows", "<#E::table::s.d.s.t>"),
        (CheckDefinition("r.1", "rows"), TABLE, "r.1 (rows)", 's.d.s.t."r.1 (rows)"', "<#E::table::s.d.s.t>"),
        (CheckDefinition("not_null", "not_null", "k"), CheckSubject("s.d.s.t", ("k",)), "not_null", "s.d.s.t.k.not_null",
         "<#E::table::s.d.s.t::columns::k>"),
        (CheckDefinition("not_null", "not_null", "a.b"), CheckSubject("s.d.s.t", ("a.b",)), "not_null", 's.d.s.t."a.b".not_null',
         "<#E::table::s.d.s.t::columns::a.b>"),
        (CheckDefinition("not_null", "not_null", "gone"), TABLE, "gone: not_null", "s.d.s.t.gone: not_null",
         "<#E::table::s.d.s.t>"),
    ],
)  # fmt: skip
def test_check_is_a_test_case_of_a_table_or_column(
    check: CheckDefinition, subject: CheckSubject, name: str, fqn: str, link: str
) -> None:
    requests = case_requests(check, subject)
    assert (requests.body["name"], requests.fqn, requests.body["entityLink"]) == (name, fqn, link)
    assert requests.definition["entityType"] == ("COLUMN" if subject.column else "TABLE")
    assert requests.body["testDefinition"] == requests.definition["name"]


COLUMN = CheckSubject("s.d.s.t", ("k",))


@pytest.mark.parametrize(
    ("check", "subject", "definition", "parameters"),
    [
        (CheckDefinition("x", "not_null", "k"), COLUMN, "columnValuesToBeNotNull", None),
        (CheckDefinition("x", "expect_column_values_to_be_unique", "k"), COLUMN, "columnValuesToBeUnique", None),
        (CheckDefinition("x", "range", "k", '{"max":9}'), COLUMN, "columnValuesToBeBetween", {"maxValue": "9"}),
        (CheckDefinition("x", "row_count", None, '{"max":9,"min":0}'), TABLE, "tableRowCountToBeBetween",
         {"minValue": "0", "maxValue": "9"}),
        (CheckDefinition("x", "expect_table_row_count_to_be_between", None, '{"min_value":1}'), TABLE,
         "tableRowCountToBeBetween", {"minValue": "1"}),
        (CheckDefinition("x", "range", "k", '{"min":0.5}'), COLUMN, None, None),
        (CheckDefinition("x", "range", "k", "0 to 9"), COLUMN, None, None),
        (CheckDefinition("x", "not_null", "gone"), TABLE, None, None),
        (CheckDefinition("x", "accepted_values", "k", '{"values":["a"]}'), COLUMN, None, None),
    ],
)  # fmt: skip
def test_check_uses_the_stock_definition_that_means_the_same(
    check: CheckDefinition, subject: CheckSubject, definition: str | None, parameters: dict[str, str] | None
) -> None:
    requests = case_requests(check, subject)
    if definition is None:
        assert requests.stock_body is None
        return
    assert requests.stock_body is not None
    assert requests.stock_body["testDefinition"] == definition
    sent = requests.stock_body.get("parameterValues")
    assert (sent and {parameter["name"]: parameter["value"] for parameter in sent}) == parameters


@pytest.mark.parametrize(
    ("status", "details", "test_status", "text"),
    [
        ("PASS", {}, "Success", "PASS"),
        ("FAIL", {"expected": "0", "actual": "3"}, "Failed", "expected 0; found 3"),
        ("WARN", {"actual": 3}, "Aborted", "WARN; found 3"),
        ("SKIP", {}, "Aborted", "SKIP"),
    ],
)
def test_result_has_status_and_text(status: str, details: dict[str, Any], test_status: str, text: str) -> None:
    body = case_result(status, 7, details)
    assert (body["timestamp"], body["testCaseStatus"], body["result"]) == (7, test_status, text)


def test_row_counts_and_bounds_are_in_the_result() -> None:
    details = {"expected": {"min": 1, "max": 9}, "actual": {"passedRows": 5, "failedRows": 2, "other": True}}
    body = case_result("FAIL", 7, details)
    assert [body[key] for key in ("minBound", "maxBound", "passedRows", "failedRows")] == [1, 9, 5, 2]


MEASURED = {
    "rowCount": 10,
    "bytes": 100,
    "columnMetrics": {
        "k": {"count": 8, "nullCount": 2, "distinctCount": 6, "sum": 40, "min": 1, "max": 9, "quantiles": {"0.5": 4}},
        "ghost": {"nullCount": 1},
    },
}


def test_metrics_become_table_and_column_profiles() -> None:
    body = table_profile(
        TableMetrics(None, None, None, wrote=False, column_count=2, measured=MEASURED), 7, {"k": "k"}
    )
    assert body["tableProfile"] == {"timestamp": 7, "rowCount": 10, "sizeInByte": 100, "columnCount": 2}
    (column,) = body["columnProfile"]
    assert column == {
        "name": "k", "timestamp": 7, "valuesCount": 8, "nullCount": 2, "distinctCount": 6, "sum": 40, "min": 1, "max": 9,
        "median": 4, "mean": 5.0, "validCount": 8, "duplicateCount": 0, "nullProportion": 0.2, "distinctProportion": 0.6,
        "valuesPercentage": 80.0,
    }  # fmt: skip
    assert "systemProfile" not in body


@pytest.mark.parametrize(
    ("change", "rows", "operation"),
    [("OVERWRITE", 5, "WRITE"), ("CREATE", 5, "WRITE"), (None, None, "WRITE"), ("APPEND", None, "INSERT")],
)
def test_rows_written_are_the_row_count_only_after_a_replacement(
    change: str | None, rows: int | None, operation: str
) -> None:
    body = table_profile(TableMetrics(5, 50, change, wrote=True, column_count=0, measured={}), 7, {})
    assert body["tableProfile"].get("rowCount") == rows
    assert body["systemProfile"] == [{"timestamp": 7, "operation": operation, "rowsAffected": 5}]
