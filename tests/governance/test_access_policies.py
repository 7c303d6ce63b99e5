"""Roles come to what assets give them and to nothing else, whoever asks for more."""

from bridge.governance.loaded_asset import LoadedAsset
from tests.factories import dataset, dataset_event, facet
from tests.governance.asset_harness import governed, push, steward, tags, wrote
from tests.standins.openmetadata import error
from tests.sync.openmetadata_harness import Synced
from tests.sync.other_writers import Person


def test_access_policies_are_policies_of_roles(synced: Synced) -> None:
    of, person = steward(synced), Person(synced.standin)
    person.ask("POST", "roles", {"name": "engineer", "description": "theirs", "policies": ["DataConsumerPolicy"]})
    policies = [{"role": "engineer", "permissions": ["read", "write"]}, {"role": "analyst", "permissions": ["read"]}]
    push(of, governed(there={"access_policies": policies}))
    (rule,) = person.ask("GET", "policies/name/lineage_bridge_engineer")["rules"]
    (tag,) = tags(synced)
    assert (rule["operations"], rule["condition"]) == (["EditAll", "ViewAll"], f"matchAnyTag('{tag}')")
    engineer = person.ask("GET", "roles/name/engineer?fields=policies")
    assert {one["name"] for one in engineer["policies"]} == {"DataConsumerPolicy", "lineage_bridge_engineer"}
    assert person.ask("GET", "roles/name/analyst?fields=policies")["policies"][0]["name"] == "lineage_bridge_analyst"
    push(of, governed(there={"access_policies": policies[:1]}))
    assert person.ask("GET", "policies/name/lineage_bridge_analyst?include=all")["deleted"] is True


def test_access_of_assets_that_are_off_is_left_alone(synced: Synced) -> None:
    synced.apply(wrote("u", second=3)).converge()
    of = steward(synced)
    person = Person(synced.standin)

    def rules() -> dict[str, list[tuple[str, list[str]]]]:
        found = [one for one in person.ask("GET", "policies")["data"] if one["name"].startswith("lineage_bridge_")]
        return {
            one["name"].removeprefix("lineage_bridge_"): sorted(
                (rule["name"][0], rule["operations"]) for rule in one["rules"]
            )
            for one in found
        }

    def said(name: str, role: str, *, on: bool = True) -> LoadedAsset:
        policy = {"role": role, "permissions": ["read"] if on else ["write"]}
        return governed(name, there={"sync_enabled": on, "access_policies": [policy]})

    read = ["ViewAll"]
    for assets, expected in (
        ([said("t", "r"), said("u", "r")], {"r": [("t", read), ("u", read)]}),
        ([said("t", "r", on=False), said("u", "r")], {"r": [("t", read), ("u", read)]}),
        ([said("t", "r", on=False), said("u", "s")], {"r": [("t", read)], "s": [("u", read)]}),
        ([said("t", "s"), said("u", "s")], {"s": [("t", read), ("u", read)]}),
    ):
        push(of, *assets)
        synced.converge()
        assert rules() == expected


def test_a_policy_that_was_made_when_something_failed_is_taken_back_too(synced: Synced) -> None:
    of = steward(synced)
    policies = [{"role": role, "permissions": ["read"]} for role in ("first", "second")]
    synced.standin.faults.next(error(500), method="PUT", path="/roles", times=100)
    of.push([governed(there={"access_policies": policies})], {}, sleep=lambda _: None)
    synced.round()

    def made() -> list[str]:
        found = Person(synced.standin).ask("GET", "policies")["data"]
        return [one["name"] for one in found if one["name"].startswith("lineage_bridge_")]

    assert made()
    synced.standin.faults.clear()
    of.push([governed()], {}, sleep=lambda _: None)
    synced.converge()
    assert made() == []


def test_an_event_gives_nobody_rights(synced: Synced) -> None:
    said = facet(asset="t", tags=["a"], accessTag="t_1", accessPolicies=[{"role": "evil", "permissions": ["write"]}])
    synced.apply(dataset_event(5, dataset("t", lineageBridge_governance=said))).converge()
    assert "LineageBridge.a" in tags(synced)
    assert not [one for one in synced.entities("policy") if "evil" in one]
    assert not [one for one in synced.entities("role") if "evil" in one]
