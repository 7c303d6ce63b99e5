"""Checks of data as test cases, and how they ended as their results.

A server knows no result that warns, nor one that was left out: both are told as aborted, which opens no incident, and
whose text says what they are.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject
from mappers.openmetadata.entity_requests import name_keys
from mappers.openmetadata.fqn import entity_name, fqn

DEFINITIONS, CASES = "dataQuality/testDefinitions", "dataQuality/testCases"
_WORDS = {"PASS": "Success", "FAIL": "Failed", "WARN": "Aborted", "SKIP": "Aborted"}
_MAX_CHARACTERS = 2_000
#: What a producer may say of the rows that were looked at, and of the bounds of what is expected.
_COUNTS = {"passedRows": ("passedRows", "successfulRows"), "failedRows": ("failedRows", "unexpectedRows")}
_BOUNDS = {"minBound": ("min", "minimum", "minBound"), "maxBound": ("max", "maximum", "maxBound")}


class CheckSubject(NamedTuple):
    """What a check is about: a table, or a column of it by its path."""

    table: str
    column: tuple[str, ...] | None


class CheckDefinition(NamedTuple):
    """A check: what it is called, what is looked at, and what is expected."""

    name: str
    assertion: str
    column: str | None = None
    expected: str | None = None


class CaseRequests(NamedTuple):
    """The requests that make a check known: its definition, then itself."""

    definition: JsonObject
    body: JsonObject
    fqn: str


def case_requests(check: CheckDefinition, checked: CheckSubject) -> CaseRequests:
    """Say what makes a check known; one of a column that the table does not have is one of the table."""
    level = "column" if checked.column else "table"
    definition = name_keys(entity_name(f"lineageBridge_{check.assertion}_{level}")) | {
        "displayName": check.assertion[:_MAX_CHARACTERS] or "check",
        "description": "A check that a job made of its own data.",
        "entityType": level.upper(),
        "testPlatforms": ["Other"],
    }
    own = entity_name(_label(check, checked))
    link = f"<#E::table::{checked.table}" + (f"::columns::{'.'.join(checked.column)}>" if checked.column else ">")
    body = name_keys(own) | {"testDefinition": fqn(definition["name"]), "entityLink": link}
    if check.expected:
        body["description"] = f"Expected: {check.expected}"[:_MAX_CHARACTERS]
    return CaseRequests(definition, body, case_fqn(checked, own.name))


def case_fqn(checked: CheckSubject, name: str) -> str:
    """Give the fully qualified name of a test case."""
    above = f"{checked.table}.{fqn(*checked.column)}" if checked.column else checked.table
    return f"{above}.{fqn(name)}"


def _label(check: CheckDefinition, checked: CheckSubject) -> str:
    """Name a check so that no other of the same table or column is called so."""
    own = check.name if check.name == check.assertion else f"{check.name} ({check.assertion})"
    return own if checked.column or not check.column else f"{check.column}: {own}"


def case_result(status: str, timestamp: int, said: dict[str, Any]) -> JsonObject:
    """Say how a check ended."""
    expected, actual = _text(said.get("expected")), _text(said.get("actual"))
    told = [status if status in {"WARN", "SKIP"} else None, f"expected {expected}" if expected else None]
    told += [f"found {actual}" if actual else None, _text(said.get("content"))]
    body: JsonObject = {
        "timestamp": timestamp,
        "testCaseStatus": _WORDS[status],
        "result": "; ".join(filter(None, told))[:_MAX_CHARACTERS] or status,
        "testResultValue": [{"name": "actual", "value": actual[:_MAX_CHARACTERS]}] if actual else [],
    }
    return body | _numbers(said.get("actual"), _COUNTS) | _numbers(said.get("expected"), _BOUNDS)


def _numbers(said: Any, names: Mapping[str, tuple[str, ...]]) -> JsonObject:
    """Pick numbers of an object by the names that producers give them."""
    if not isinstance(said, dict):
        return {}
    found = {
        key: next((said[name] for name in known if isinstance(said.get(name), int | float)), None)
        for key, known in names.items()
    }
    return {key: value for key, value in found.items() if value is not None and not isinstance(value, bool)}


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
