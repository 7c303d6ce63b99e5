"""Access policies of assets become policies of roles."""

from bridge.governance.loaded_asset import LoadedAsset
from tests.factories import dataset, dataset_event, facet
from tests.governance.asset_harness import asset_with_governance, make_asset_sync, push, tags, write_event
from tests.standins.openmetadata import error
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.other_writers import Person


def test_access_policies_are_policies_of_roles(synced: OpenMetadataHarness) -> None:
    asset_sync, person = make_asset_sync(synced), Person(synced.standin)
    person.request("POST", "roles", {"name": "engineer", "description": "theirs", "policies": ["DataConsumerPolicy"]})
    policies = [{"role": "engineer", "permissions": ["read", "write"]}, {"role": "analyst", "permissions": ["read"]}]
    push(asset_sync, asset_with_governance(openmetadata={"access_policies": policies}))
    (rule,) = person.request("GET", "policies/name/lineage_bridge_engineer")["rules"]
    (tag,) = tags(synced)
    assert (rule["operations"], rule["condition"]) == (["EditAll", "ViewAll"], f"matchAnyTag('{tag}')")
    engineer = person.request("GET", "roles/name/engineer?fields=policies")
    assert {policy["name"] for policy in engineer["policies"]} == {"DataConsumerPolicy", "lineage_bridge_engineer"}
    assert (
        person.request("GET", "roles/name/analyst?fields=policies")["policies"][0]["name"] == "lineage_bridge_analyst"
    )
    push(asset_sync, asset_with_governance(openmetadata={"access_policies": policies[:1]}))
    assert person.request("GET", "policies/name/lineage_bridge_analyst?include=all")["deleted"] is True


def test_policies_of_assets_without_sync_are_kept(synced: OpenMetadataHarness) -> None:
    synced.apply(write_event("u", second=3)).converge()
    asset_sync = make_asset_sync(synced)
    person = Person(synced.standin)

    def rules() -> dict[str, list[tuple[str, list[str]]]]:
        bridge_policies = [
            entity
            for entity in person.request("GET", "policies")["data"]
            if entity["name"].startswith("lineage_bridge_")
        ]
        return {
            entity["name"].removeprefix("lineage_bridge_"): sorted(
                (rule["name"][0], rule["operations"]) for rule in entity["rules"]
            )
            for entity in bridge_policies
        }

    def asset_with_role(name: str, role: str, *, sync_enabled: bool = True) -> LoadedAsset:
        policy = {"role": role, "permissions": ["read"] if sync_enabled else ["write"]}
        return asset_with_governance(name, openmetadata={"sync_enabled": sync_enabled, "access_policies": [policy]})

    read = ["ViewAll"]
    for assets, expected in (
        ([asset_with_role("t", "r"), asset_with_role("u", "r")], {"r": [("t", read), ("u", read)]}),
        (
            [asset_with_role("t", "r", sync_enabled=False), asset_with_role("u", "r")],
            {"r": [("t", read), ("u", read)]},
        ),
        (
            [asset_with_role("t", "r", sync_enabled=False), asset_with_role("u", "s")],
            {"r": [("t", read)], "s": [("u", read)]},
        ),
        ([asset_with_role("t", "s"), asset_with_role("u", "s")], {"s": [("t", read), ("u", read)]}),
    ):
        push(asset_sync, *assets)
        synced.converge()
        assert rules() == expected


def test_policy_of_failed_push_is_removed_by_next_push(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    policies = [{"role": role, "permissions": ["read"]} for role in ("first", "second")]
    synced.standin.faults.next(error(500), method="PUT", path="/roles", times=100)
    asset_sync.push([asset_with_governance(openmetadata={"access_policies": policies})], {}, sleep=lambda _: None)
    synced.round()

    def policy_names() -> list[str]:
        existing = Person(synced.standin).request("GET", "policies")["data"]
        return [
            existing_policy["name"]
            for existing_policy in existing
            if existing_policy["name"].startswith("lineage_bridge_")
        ]

    assert policy_names()
    synced.standin.faults.clear()
    asset_sync.push([asset_with_governance()], {}, sleep=lambda _: None)
    synced.converge()
    assert policy_names() == []


def test_events_grant_no_access(synced: OpenMetadataHarness) -> None:
    governance = facet(
        asset="t", tags=["a"], accessTag="t_1", accessPolicies=[{"role": "evil", "permissions": ["write"]}]
    )
    synced.apply(dataset_event(5, dataset("t", lineageBridge_governance=governance))).converge()
    assert "LineageBridge.a" in tags(synced)
    assert not [name for name in synced.entities("policy") if "evil" in name]
    assert not [name for name in synced.entities("role") if "evil" in name]
