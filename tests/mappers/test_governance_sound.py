"""Governance facets and contracts come with events, from anybody: what is not as stewards write it is left out."""

from typing import Any

import pytest

from mappers.governance.facet import fields_of
from mappers.governance.sound import sound_contract, sound_governance
from mappers.openmetadata.access import policies
from mappers.openmetadata.governance import Vocabulary, wanted

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
    assert sound_governance(whole) == whole
    contract = {"version": "1", "columns": [{"name": "k", "type": "int", "required": True}, {"name": "v"}]}
    assert sound_contract(contract) == contract


@pytest.mark.parametrize("key", [*WHOLE, "file", "other"])
def test_whatever_is_said_can_be_used(key: str) -> None:
    for value in ANYTHING:
        said = sound_governance(WHOLE | {key: value})
        fields_of(said)
        wanted(said, Vocabulary())
        policies([said], "Access")
        assert {name: said[name] for name in said if name not in (key, "accessPolicies")} == {
            name: WHOLE[name] for name in said if name not in (key, "accessPolicies")
        }


@pytest.mark.parametrize("value", ANYTHING)
def test_a_contract_is_one_or_is_none(value: Any) -> None:
    said = sound_contract({"columns": value})
    assert said is None or said == {"columns": []}


@pytest.mark.parametrize("tag", ["x') || true || matchAnyTag('y", "", "a b", "a.b", "a" * 121])
def test_the_tag_of_a_policy_is_a_name_and_nothing_else(tag: str) -> None:
    assert not {"accessTag", "accessPolicies"} & sound_governance(WHOLE | {"accessTag": tag}).keys()
