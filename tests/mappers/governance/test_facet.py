"""Any producer can send governance facets and contracts: invalid members are dropped."""

from typing import Any

import pytest

from mappers.governance.facet import facet_fields, validate_contract, validate_governance
from mappers.openmetadata.access_policies import access_policies
from mappers.openmetadata.governance import TagVocabulary, desired_fields

POLICY = {"role": "analyst", "permissions": ["read"]}
COMPLETE: dict[str, Any] = {
    "asset": "t",
    "version": "1",
    "displayName": "T",
    "description": "D",
    "owners": ["ann"],
    "tags": ["a"],
    "classifications": ["PII"],
    "retentionDays": 90,
    "category": "c",
    "syncEnabled": True,
    "domain": "d",
    "glossaryTerms": ["g"],
    "dataProducts": ["p"],
    "accessPolicies": [POLICY],
    "accessTag": "t_0123abcd",
    "tier": "Tier1",
    "certification": "Gold",
    "customProperties": {"a": 1, "b": 1.5, "c": True, "d": "x"},
    "columns": [{"name": "k", "classifications": ["PII"], "sensitive": True, "required": True, "description": "D"}],
}
ANYTHING: list[Any] = [None, 5, "x", True, [], [None], [1], [[]], [{}], {}, {"a": []}, {"a": None}, [{"name": 5}]]


def test_valid_facets_are_unchanged() -> None:
    governance = COMPLETE | {"file": COMPLETE}
    assert validate_governance(governance) == governance
    contract = {"version": "1", "columns": [{"name": "k", "type": "int", "required": True}, {"name": "v"}]}
    assert validate_contract(contract) == contract


@pytest.mark.parametrize("key", [*COMPLETE, "file", "other"])
def test_invalid_members_do_not_affect_others(key: str) -> None:
    for value in ANYTHING:
        valid = validate_governance(COMPLETE | {key: value})
        facet_fields(valid)
        desired_fields(valid, TagVocabulary())
        access_policies([valid], "Access")
        assert {name: valid[name] for name in valid if name not in (key, "accessPolicies")} == {
            name: COMPLETE[name] for name in valid if name not in (key, "accessPolicies")
        }


@pytest.mark.parametrize("value", ANYTHING)
def test_contract_is_valid_or_none(value: Any) -> None:
    contract = validate_contract({"columns": value})
    assert contract is None or contract == {"columns": []}


@pytest.mark.parametrize("tag", ["x') || true || matchAnyTag('y", "", "a b", "a.b", "a" * 121])
def test_access_tag_must_be_a_plain_name(tag: str) -> None:
    assert not {"accessTag", "accessPolicies"} & validate_governance(COMPLETE | {"accessTag": tag}).keys()
