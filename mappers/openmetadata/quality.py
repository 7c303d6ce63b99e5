"""Builds test cases and test case results.

The server has no status for a warning or a skipped check. Both become Aborted, which opens no incident, and the
result text begins with the original status.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject
from mappers.openmetadata.entity_requests import name_keys
from mappers.openmetadata.fqn import entity_name, fqn

#: Prefix of the test definitions that only this bridge creates.
DEFINITION_PREFIX = "lineageBridge_"
DEFINITIONS, CASES = "dataQuality/testDefinitions", "dataQuality/testCases"
_STATUSES = {"PASS": "Success", "FAIL": "Failed", "WARN": "Aborted", "SKIP": "Aborted"}
_MAX_CHARACTERS = 2_000
#: Counts of checked rows, and bounds of the expected value, each with the names that producers use.
_COUNTS = {"passedRows": ("passedRows", "successfulRows"), "failedRows": ("failedRows", "unexpectedRows")}
_BOUNDS = {
    "minBound": ("min", "minimum", "min_value", "minBound"),
    "maxBound": ("max", "maximum", "max_value", "maxBound"),
}


#: Definitions of OpenMetadata, by level and by the assertions of known producers that mean the same.
_STOCK_DEFINITIONS = {
    ("column", "not_null"): "columnValuesToBeNotNull",
    ("column", "expect_column_values_to_not_be_null"): "columnValuesToBeNotNull",
    ("column", "unique"): "columnValuesToBeUnique",
    ("column", "expect_column_values_to_be_unique"): "columnValuesToBeUnique",
    ("column", "range"): "columnValuesToBeBetween",
    ("column", "expect_column_values_to_be_between"): "columnValuesToBeBetween",
    ("table", "row_count"): "tableRowCountToBeBetween",
    ("table", "expect_table_row_count_to_be_between"): "tableRowCountToBeBetween",
}
#: Stock definitions with bounds, which must be integers.
_WITH_BOUNDS = frozenset({"columnValuesToBeBetween", "tableRowCountToBeBetween"})


class CheckSubject(NamedTuple):
    """The checked table, or one of its columns (by path)."""

    table: str
    column: tuple[str, ...] | None


class CheckDefinition(NamedTuple):
    """A check: its name, its assertion, and its expected result."""

    name: str
    assertion: str
    column: str | None = None
    expected: str | None = None


class CaseRequests(NamedTuple):
    """The requests that create a check: its test definition and its test case."""

    definition: JsonObject
    body: JsonObject
    fqn: str
    #: The test case with a definition of OpenMetadata, if one means the same.
    stock_body: JsonObject | None = None


def case_requests(check: CheckDefinition, subject: CheckSubject) -> CaseRequests:
    """Build the requests that create a check; a check of a column that the table lacks becomes a table check."""
    level = "column" if subject.column else "table"
    definition = name_keys(entity_name(f"{DEFINITION_PREFIX}{check.assertion}_{level}")) | {
        "displayName": check.assertion[:_MAX_CHARACTERS] or "check",
        "description": "A check that a job made of its own data.",
        "entityType": level.upper(),
        "testPlatforms": ["Other"],
    }
    name = entity_name(_case_name(check, subject))
    column_suffix = f"::columns::{'.'.join(subject.column)}" if subject.column else ""
    link = f"<#E::table::{subject.table}{column_suffix}>"
    body = name_keys(name) | {"testDefinition": fqn(definition["name"]), "entityLink": link}
    if check.expected:
        body["description"] = f"Expected: {check.expected}"[:_MAX_CHARACTERS]
    return CaseRequests(
        definition,
        body,
        case_fqn(subject, name.name),
        body | stock if (stock := _stock_members(check, level)) else None,
    )


def _stock_members(check: CheckDefinition, level: str) -> JsonObject | None:
    """Return definition and parameters of the stock definition that means the same as a check, if any."""
    definition = _STOCK_DEFINITIONS.get((level, check.assertion))
    if definition is None:
        return None
    if definition not in _WITH_BOUNDS:
        return {"testDefinition": definition}
    bounds = _extract_numbers(_parse_json(check.expected), _BOUNDS)
    if not bounds or not all(isinstance(bound, int) for bound in bounds.values()):
        return None
    values = {"minValue": bounds.get("minBound"), "maxValue": bounds.get("maxBound")}
    parameters = [{"name": name, "value": str(value)} for name, value in values.items() if value is not None]
    return {"testDefinition": definition, "parameterValues": parameters}


def _parse_json(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except ValueError:
        return None


def case_fqn(subject: CheckSubject, name: str) -> str:
    parent = f"{subject.table}.{fqn(*subject.column)}" if subject.column else subject.table
    return f"{parent}.{fqn(name)}"


def _case_name(check: CheckDefinition, subject: CheckSubject) -> str:
    """Return a test case name that is unique within the table or column."""
    name = check.name if check.name == check.assertion else f"{check.name} ({check.assertion})"
    if check.column and not subject.column:
        return f"{check.column}: {name}"
    return name


def case_result(status: str, timestamp: int, details: dict[str, Any]) -> JsonObject:
    expected, actual = _as_text(details.get("expected")), _as_text(details.get("actual"))
    parts = [
        status if status in {"WARN", "SKIP"} else None,
        f"expected {expected}" if expected else None,
        f"found {actual}" if actual else None,
        _as_text(details.get("content")),
    ]
    body: JsonObject = {
        "timestamp": timestamp,
        "testCaseStatus": _STATUSES[status],
        "result": "; ".join(part for part in parts if part)[:_MAX_CHARACTERS] or status,
        "testResultValue": [{"name": "actual", "value": actual[:_MAX_CHARACTERS]}] if actual else [],
    }
    counts = _extract_numbers(details.get("actual"), _COUNTS)
    bounds = _extract_numbers(details.get("expected"), _BOUNDS)
    return body | counts | bounds


def _extract_numbers(content: Any, names: Mapping[str, tuple[str, ...]]) -> JsonObject:
    """Extract numbers from a JSON object, under the names that known producers use."""
    if not isinstance(content, dict):
        return {}
    numbers: JsonObject = {}
    for key, aliases in names.items():
        reported = (content.get(alias) for alias in aliases)
        number = next((value for value in reported if isinstance(value, int | float)), None)
        if number is not None and not isinstance(number, bool):
            numbers[key] = number
    return numbers


def _as_text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
