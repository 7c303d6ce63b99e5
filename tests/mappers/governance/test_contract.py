"""Violations of a data contract."""

from typing import Any

import pytest

from mappers.governance.contract import contract_violations, normalize_type


def column(name: str, type_: str | None = None, **properties: Any) -> dict[str, Any]:
    return {"name": name} | ({"type": type_} if type_ else {}) | properties


CASES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, list[str]]] = {
    "same type": (column("k", "string"), column("k", "string"), []),
    "missing": (column("k"), None, ["k is missing"]),
    "missing, although optional": (column("k", required=False), None, ["k is missing"]),
    "in another case": (column("K"), column("k"), []),
    "the same type of another system": (column("k", "string"), column("k", "VARCHAR(20)"), []),
    "another type": (column("k", "bigint"), column("k", "string"), ["k is string, not bigint"]),
    "a smaller number": (column("k", "decimal(10,2)"), column("k", "DECIMAL(8, 2)"), ["k is DECIMAL(8, 2), not decimal(10,2)"]),
    "unknown type": (column("k", "bigint"), column("k"), []),
    "no type required": (column("k"), column("k", "string"), []),
    "nullable but required": (column("k", required=True), column("k", nullable=True), ["k is nullable but required"]),
    "unknown nullability": (column("k", required=True), column("k"), []),
    "nullable and optional": (column("k"), column("k", nullable=True), []),
}  # fmt: skip


@pytest.mark.parametrize(("required", "actual", "violations"), CASES.values(), ids=CASES)
def test_contract_violations(required: dict[str, Any], actual: dict[str, Any] | None, violations: list[str]) -> None:
    assert contract_violations([required], [column("more"), *([actual] if actual else [])]) == violations


@pytest.mark.parametrize(
    ("left", "right"),
    [("INT", "integer"), ("Long", "bigint"), ("timestamp(6)", "TIMESTAMP"), ("numeric(5)", "decimal( 5 )")],
)
def test_synonyms_of_types(left: str, right: str) -> None:
    assert normalize_type(left) == normalize_type(right)


@pytest.mark.parametrize("type_", ["array<string>", "struct<a:int,b:string>", "", "((", "map<string,int>"])
def test_unknown_types_are_unchanged(type_: str) -> None:
    assert normalize_type(type_) == type_
