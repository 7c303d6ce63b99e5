"""Governance facets and contracts come with events, from anybody: what is not as stewards write it is left out."""

from typing import Any

import pytest

from mappers.governance.facet import facet_fields, validate_contract, validate_governance
from mappers.openmetadata.access_policies import access_policies
from mappers.openmetadata.governance import TagVocabulary, desired_fields

POLICY = {"role": "analyst", "permissions": ["read"]}
WHOLE: dict[str, Any] = {
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


def test_what_stewards_write_stays_as_it_is() -> None:
    whole = WHOLE | {"file": WHOLE}
    assert validate_governance(whole) == whole
    contract = {"version": "1", "columns": [{"name": "k", "type": "int", "required": True}, {"name": "v"}]}
    assert validate_contract(contract) == contract


@pytest.mark.parametrize("key", [*WHOLE, "file", "other"])
def test_whatever_is_said_can_be_used(key: str) -> None:
    for value in ANYTHING:
        said = validate_governance(WHOLE | {key: value})
        facet_fields(said)
        desired_fields(said, TagVocabulary())
        access_policies([said], "Access")
        assert {name: said[name] for name in said if name not in (key, "accessPolicies")} == {
            name: WHOLE[name] for name in said if name not in (key, "accessPolicies")
        }


@pytest.mark.parametrize("value", ANYTHING)
def test_a_contract_is_one_or_is_none(value: Any) -> None:
    said = validate_contract({"columns": value})
    assert said is None or said == {"columns": []}


@pytest.mark.parametrize("tag", ["x') || true || matchAnyTag('y", "", "a b", "a.b", "a" * 121])
def test_the_tag_of_a_policy_is_a_name_and_nothing_else(tag: str) -> None:
    assert not {"accessTag", "accessPolicies"} & validate_governance(WHOLE | {"accessTag": tag}).keys()
