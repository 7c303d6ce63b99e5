"""What breaks a contract, and what does not."""

from typing import Any

import pytest

from mappers.governance.contract import contract_violations, normalize_type


def column(name: str, type_: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name} | ({"type": type_} if type_ else {}) | more


CASES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, list[str]]] = {
    "as promised": (column("k", "string"), column("k", "string"), []),
    "missing": (column("k"), None, ["k is missing"]),
    "missing, though nothing more is promised of it": (column("k", required=False), None, ["k is missing"]),
    "in another case": (column("K"), column("k"), []),
    "the same type of another system": (column("k", "string"), column("k", "VARCHAR(20)"), []),
    "another type": (column("k", "bigint"), column("k", "string"), ["k is string, not bigint"]),
    "a smaller number": (column("k", "decimal(10,2)"), column("k", "DECIMAL(8, 2)"), ["k is DECIMAL(8, 2), not decimal(10,2)"]),
    "no type is known": (column("k", "bigint"), column("k"), []),
    "no type is promised": (column("k"), column("k", "string"), []),
    "is nullable but required": (column("k", required=True), column("k", nullable=True), ["k is nullable but required"]),
    "it is not known whether it may be empty": (column("k", required=True), column("k"), []),
    "may be empty, as before": (column("k"), column("k", nullable=True), []),
}  # fmt: skip


@pytest.mark.parametrize(("promised", "arrived", "broken"), CASES.values(), ids=CASES)
def test_what_breaks_a_promise(promised: dict[str, Any], arrived: dict[str, Any] | None, broken: list[str]) -> None:
    assert contract_violations([promised], [column("more"), *([arrived] if arrived else [])]) == broken


@pytest.mark.parametrize(
    ("one", "other"),
    [("INT", "integer"), ("Long", "bigint"), ("timestamp(6)", "TIMESTAMP"), ("numeric(5)", "decimal( 5 )")],
)
def test_types_that_are_alike(one: str, other: str) -> None:
    assert normalize_type(one) == normalize_type(other)


@pytest.mark.parametrize("type_", ["array<string>", "struct<a:int,b:string>", "", "((", "map<string,int>"])
def test_a_type_that_nobody_knows_is_itself(type_: str) -> None:
    assert normalize_type(type_) == type_
