"""Asset sync with OpenMetadata: push, merge of remote changes, and conflicts."""

from typing import Any

import pytest

from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.openmetadata.governance import entity_columns
from tests.factories import dataset, facet, run_event, schema
from tests.governance.asset_harness import (
    TABLE_FQN,
    asset,
    asset_with_governance,
    make_asset_sync,
    push,
    table,
    tags,
    write_event,
)
from tests.standins.openmetadata import error
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness
from tests.sync.other_writers import Person


def change(synced: OpenMetadataHarness, *operations: dict[str, Any], name: str = TABLE_FQN) -> None:
    """Change a table in OpenMetadata as a person."""
    Person(synced.standin).request(
        "PATCH", f"tables/{table(synced, name)['id']}", list(operations), "application/json-patch+json"
    )


def add_tag(tag: str, source: str = "Classification") -> dict[str, Any]:
    label = {"tagFQN": tag, "source": source, "labelType": "Manual", "state": "Confirmed"}
    return {"op": "add", "path": "/tags/-", "value": label}


COMPLETE_ASSET = asset(
    display_name="The table",
    description="What it <is> & why",
    schema=[
        {"name": "k", "required": True, "sensitive": True, "classification": "PII", "description": "The key"},
        {"name": "v"},
    ],
    governance={
        "owner": ["ann@example.com", "robert@example.com"],
        "tags": ["payments", "Finance.Money"],
        "classification": "Restricted",
        "retention_days": 90,
        "openmetadata": {
            "domain": "sales",
            "glossary_terms": ["Customer"],
            "data_product": "Customer 360",
            "tier": "Tier2",
            "certification": "Gold",
            "access_policies": [{"role": "analyst", "permissions": ["read"]}],
        },
    },
    category="people",
    custom_properties={"cost": 7, "part": 0.5, "level": "high"},
)


def test_push_of_all_fields_is_idempotent(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    assert push(asset_sync, COMPLETE_ASSET)["t"].outcome == Outcome.PUSHED
    remote = table(synced)
    assert remote["description"] == "What it &lt;is&gt; &amp; why"
    assert {item["name"] for item in remote["owners"]} == {"ann", "bob"}
    assert tags(synced) - {"Tier.Tier2"} == {
        "LineageBridge.payments", "Finance.Money", "LineageBridge.Restricted", "LineageBridge.Customer",
        f"LineageBridgeAccess.{COMPLETE_ASSET.asset.name}_{next(iter(t for t in tags(synced) if 'Access' in t)).rpartition('_')[2]}",
    }  # fmt: skip
    assert "Tier.Tier2" in tags(synced)
    access_tag = next(name for name in tags(synced) if name.startswith("LineageBridgeAccess."))
    assert Person(synced.standin).request("GET", f"tags/name/{access_tag}")["displayName"] == "Access to t"
    assert remote["retentionPeriod"] == "P90D"
    assert [item["name"] for item in remote["domains"]] == ["sales"]
    assert [item["name"] for item in remote["dataProducts"]] == ["Customer 360"]
    assert remote["certification"]["tagLabel"]["tagFQN"] == "Certification.Gold"
    assert remote["extension"] == {"category": "people", "cost": 7, "part": 0.5, "level": "high"}
    column = remote["columns"][0]
    assert (column["description"], {item["tagFQN"] for item in column["tags"]}) == (
        "The key", {"PII.Sensitive", "LineageBridge.Required"},
    )  # fmt: skip
    before = Person(synced.standin).request("GET", f"tables/name/{TABLE_FQN}")["version"]
    synced.calls.clear()
    assert push(asset_sync, COMPLETE_ASSET)["t"].has_changed is False
    assert synced.calls == {}
    applied, plans = asset_sync.plan([COMPLETE_ASSET])
    assert (applied.changes, [item.has_differences for item in plans]) == ([], [False])
    assert Person(synced.standin).request("GET", f"tables/name/{TABLE_FQN}")["version"] == before


def test_fields_never_in_a_file_are_not_changed(synced: OpenMetadataHarness) -> None:
    change(synced, add_tag("PersonalData.Personal"), {"op": "add", "path": "/description", "value": "by a person"})
    asset_sync = make_asset_sync(synced)
    push(asset_sync, asset_with_governance(tags=["a"]))
    push(asset_sync, asset_with_governance(tags=["b"]))
    push(asset_sync, asset_with_governance())
    assert tags(synced) == {"PersonalData.Personal"}
    assert table(synced)["description"] == "by a person"


def test_values_removed_from_file_are_removed_remotely(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    push(asset_sync, COMPLETE_ASSET)
    push(asset_sync, asset_with_governance(tags=["payments"], owner="bob"))
    remote = table(synced)
    assert tags(synced) == {"LineageBridge.payments"}
    assert [owner["name"] for owner in remote["owners"]] == ["bob"]
    assert not any(remote.get(key) for key in ("retentionPeriod", "certification", "extension"))
    assert remote["description"] == "Written by job"
    assert remote["columns"][0]["tags"] == []


def test_first_push_merges_sets_and_reports_conflicts(synced: OpenMetadataHarness) -> None:
    change(synced, add_tag("PersonalData.Personal"), {"op": "add", "path": "/description", "value": "theirs"})
    result = push(make_asset_sync(synced), asset(description="ours", governance={"tags": ["a"]}))["t"]
    assert result.outcome == Outcome.UNRESOLVED
    assert result.reason is not None
    assert "description was changed on both sides: 'ours' in the file, 'theirs' in OpenMetadata" in result.reason
    assert tags(synced) == {"LineageBridge.a", "PersonalData.Personal"}
    assert table(synced)["description"] == "theirs"


POLICIES = {
    "report": ({}, Outcome.UNRESOLVED, "theirs"),
    "local": ({"conflicts": "local"}, Outcome.PUSHED, "ours, changed"),
    "remote": ({"conflicts": "remote"}, Outcome.PUSHED, "theirs"),
    "by field": (
        {"conflicts": "remote", "conflicts_by_field": (("description", "local"),)},
        Outcome.PUSHED,
        "ours, changed",
    ),
}


@pytest.mark.parametrize(("rules", "outcome", "description"), POLICIES.values(), ids=POLICIES)
def test_conflict_policies(
    synced: OpenMetadataHarness, rules: dict[str, Any], outcome: str, description: str
) -> None:
    push(make_asset_sync(synced), asset(description="ours"))
    change(synced, {"op": "replace", "path": "/description", "value": "theirs"})
    synced.connect(OpenMetadataOptions(LAYOUT, **rules))
    asset_sync = make_asset_sync(synced)
    assert push(asset_sync, asset(description="ours, changed"))["t"].outcome == outcome
    assert table(synced)["description"] == description


def test_conflicts_are_resolved_interactively(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    push(asset_sync, asset(description="ours"))
    change(synced, {"op": "replace", "path": "/description", "value": "theirs"})
    changed = asset(description="ours, changed")
    push(asset_sync, changed)
    questions: list[str] = []
    decisions = asset_sync.resolve_conflicts([changed], lambda question: questions.append(question) or "local")  # type: ignore[func-returns-value]
    assert len(questions) == 1
    _, (result,) = asset_sync.push([changed], decisions, sleep=lambda _: None)
    assert result.outcome == Outcome.PUSHED
    assert table(synced)["description"] == "ours, changed"


def test_remote_changes_are_kept_and_reported(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    push(asset_sync, asset_with_governance(tags=["a", "b"]))
    tag = next(i for i, tag_ in enumerate(table(synced)["tags"]) if tag_["tagFQN"] == "LineageBridge.b")
    change(synced, {"op": "remove", "path": f"/tags/{tag}"}, add_tag("PersonalData.Personal"))
    _, (plan,) = asset_sync.plan([asset_with_governance(tags=["a", "b"])])
    assert plan.remote_diff is not None
    assert plan.remote_diff.remote.fields == {("tags",): frozenset({"LineageBridge.a", "PersonalData.Personal"})}
    assert plan.remote_diff.changes == {}
    push(asset_sync, asset_with_governance(tags=["a", "b", "c"]))
    assert tags(synced) == {"LineageBridge.a", "LineageBridge.c", "PersonalData.Personal"}


def test_unknown_dataset_is_pending_until_it_exists(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    assert push(asset_sync, asset_with_governance("new", tags=["a"]))["new"].outcome == Outcome.WAITING
    assert "warehouse.d.s.new" not in synced.entities("table")
    synced.apply(write_event("new", second=5)).converge()
    assert tags(synced, "warehouse.d.s.new") == {"LineageBridge.a"}


def test_asset_with_schema_creates_dataset(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    new_asset = asset("new", schema=[{"name": "k", "type": "bigint"}], governance={"tags": ["a"]})
    assert push(asset_sync, new_asset)["new"].outcome == Outcome.PUSHED
    assert [column["dataType"] for column in table(synced, "warehouse.d.s.new")["columns"]] == ["BIGINT"]
    assert tags(synced, "warehouse.d.s.new") == {"LineageBridge.a"}


def test_missing_user_is_reported_and_the_rest_pushed(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    synced.apply(write_event("u", second=3)).converge()
    results = push(
        asset_sync,
        asset_with_governance("t", tags=["a"], owner=["nobody@example.com", "ann@example.com"]),
        asset_with_governance("u", tags=["b"]),
    )
    assert (results["t"].outcome, results["u"].outcome) == (Outcome.UNRESOLVED, Outcome.PUSHED)
    assert results["t"].reason == "no user or team has the email address nobody@example.com"
    assert tags(synced) == {"LineageBridge.a"}
    assert [owner["name"] for owner in table(synced)["owners"]] == ["ann"]
    assert tags(synced, "warehouse.d.s.u") == {"LineageBridge.b"}


def test_create_setting_prevents_new_entities(synced: OpenMetadataHarness) -> None:
    synced.connect(OpenMetadataOptions(LAYOUT, create="entities"))
    result = push(
        make_asset_sync(synced),
        asset_with_governance(openmetadata={"domain": "sales", "tier": "Tier1"}, tags=["a"], owner="team"),
    )["t"]
    assert result.outcome == Outcome.UNRESOLVED
    assert result.reason is not None
    for name in ("LineageBridge", "sales", "team"):
        assert name in result.reason
    assert tags(synced) == {"Tier.Tier1"}


def test_rejected_dataset_does_not_affect_others(synced: OpenMetadataHarness) -> None:
    synced.apply(write_event("u", second=3)).converge()
    synced.standin.faults.next(error(403), method="PATCH", path="/tables", times=1)
    results = push(
        make_asset_sync(synced), asset_with_governance("t", tags=["a"]), asset_with_governance("u", tags=["a"])
    )
    assert sorted(result.outcome for result in results.values()) == [Outcome.DEAD, Outcome.PUSHED]


def test_concurrent_change_is_retried(synced: OpenMetadataHarness) -> None:
    synced.standin.faults.next(error(412), method="PATCH", path="/tables", times=2)
    assert push(make_asset_sync(synced), asset_with_governance(tags=["a"]))["t"].outcome == Outcome.PUSHED
    assert tags(synced) == {"LineageBridge.a"}


def test_assets_may_name_tables_and_patterns(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    applied = asset_sync.push(
        [
            asset_with_governance("t", tags=["own"]),
            asset("t", "warehouse.d.s", category="c"),
            asset("*", "d?", custom_properties={"x": 1}),
        ],
        {},
        sleep=lambda _: None,
    )[0]
    assert applied.pending == {}
    assert table(synced)["extension"] == {"category": "c", "x": 1}
    synced.apply(write_event("later", second=5)).converge()
    push(asset_sync)
    assert table(synced, "warehouse.d.s.later")["extension"] == {"x": 1}


def test_prune_removes_metadata_of_deleted_files(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    push(asset_sync, asset_with_governance(tags=["a"]))
    applied, _ = asset_sync.push([], {}, sleep=lambda _: None)
    assert ([orphan.name for orphan in applied.orphaned], tags(synced)) == (["t"], {"LineageBridge.a"})
    push(asset_sync, prune=True)
    assert tags(synced) == set()
    assert asset_sync.plan([])[0].orphaned == []


def test_sync_can_be_disabled(synced: OpenMetadataHarness) -> None:
    result = push(make_asset_sync(synced), asset_with_governance(openmetadata={"sync_enabled": False}, tags=["a"]))[
        "t"
    ]
    assert (result.outcome, tags(synced)) == (Outcome.OFF, set())
    synced.connect(OpenMetadataOptions(LAYOUT, sync_governance_metadata=False))
    assert push(make_asset_sync(synced), asset_with_governance(tags=["a"]))["t"].outcome == Outcome.OFF


def test_quality_score_is_a_custom_property(synced: OpenMetadataHarness) -> None:
    checks = [{"assertion": name, "success": name == "a"} for name in "ab"]
    synced.apply(write_event("t", second=5, dataQualityAssertions=facet(assertions=checks))).converge()
    assert table(synced)["extension"] == {"lineageBridgeQualityScore": 50}
    assert synced.calls_of_next_round() == {}
    checks[1]["success"] = True
    synced.apply(write_event("t", second=6, dataQualityAssertions=facet(assertions=checks))).converge()
    assert table(synced)["extension"] == {"lineageBridgeQualityScore": 100}


def test_plan_changes_nothing(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    before = synced.standin.state()
    synced.calls.clear()
    applied, (plan,) = asset_sync.plan([COMPLETE_ASSET])
    assert (len(applied.changes), plan.has_differences, bool(plan.remote_diff and plan.remote_diff.changes)) == (
        1,
        True,
        True,
    )
    assert synced.standin.state() == before
    assert synced.store.rows("SELECT name FROM facet WHERE name LIKE 'lineageBridge%'") == []
    assert synced.calls.keys() <= {"get", "list", "version"}


def test_missing_tags_are_set_after_creation(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    result = push(
        asset_sync, asset_with_governance(tags=["a", "PII.Later"], openmetadata={"certification": "Later"})
    )["t"]
    assert result.outcome == Outcome.UNRESOLVED
    synced.clock.wait(601)
    synced.converge()
    assert synced.reasons_by_item(Outcome.UNRESOLVED), "retried, and still missing"
    for classification in ("PII", "Certification"):
        Person(synced.standin).request(
            "POST", "tags", {"name": "Later", "classification": classification, "description": "."}
        )
    synced.clock.wait(601)
    synced.converge()
    assert not synced.reasons_by_item(Outcome.UNRESOLVED)
    assert tags(synced) == {"LineageBridge.a", "PII.Later"}
    assert table(synced)["certification"]["tagLabel"]["tagFQN"] == "Certification.Later"


def test_rejected_field_does_not_affect_others(synced: OpenMetadataHarness) -> None:
    person = Person(synced.standin)
    types = {name: person.request("GET", f"metadata/types/name/{name}")["id"] for name in ("table", "integer")}
    property_ = {"name": "cost", "description": ".", "propertyType": {"id": types["integer"], "type": "type"}}
    person.request("PUT", f"metadata/types/{types['table']}", property_)
    asset_sync = make_asset_sync(synced)
    invalid = asset(description="D", governance={"tags": ["a"], "owner": "ann"}, custom_properties={"cost": "much"})
    result = push(asset_sync, invalid)["t"]
    assert (result.outcome, "customProperties.cost: " in (result.reason or "")) == (Outcome.UNRESOLVED, True)
    assert (tags(synced), table(synced)["description"]) == ({"LineageBridge.a"}, "D")
    assert [owner["name"] for owner in table(synced)["owners"]] == ["ann"]
    valid = asset(description="D", governance={"tags": ["a"], "owner": "ann"}, custom_properties={"cost": 3})
    assert push(asset_sync, valid)["t"].outcome == Outcome.PUSHED
    assert table(synced)["extension"] == {"cost": 3}


def test_owner_with_changed_email_is_kept(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    assert push(asset_sync, asset_with_governance(owner="robert@example.com"))["t"].outcome == Outcome.PUSHED
    person = Person(synced.standin)
    bob = person.find("user", "bob").id
    person.request(
        "PATCH", f"users/{bob}", [{"op": "add", "path": "/email", "value": "bob@example.com"}],
        "application/json-patch+json",
    )  # fmt: skip
    synced.connect()
    for description in ("one", "two"):
        result = push(
            make_asset_sync(synced), asset(description=description, governance={"owner": "robert@example.com"})
        )["t"]
        assert result.outcome == Outcome.UNRESOLVED
        assert "robert@example.com" in (result.reason or "")
        assert [owner["name"] for owner in table(synced)["owners"]] == ["bob"]
        assert table(synced)["description"] == description


def test_missing_column_is_reported(synced: OpenMetadataHarness) -> None:
    result = push(make_asset_sync(synced), asset(schema=[{"name": "k", "classification": "PII"}, {"name": "v"}]))["t"]
    assert result.outcome == Outcome.PUSHED
    columns = [{"name": "kk", "classification": "PII"}, {"name": "unsaid"}]
    result = push(make_asset_sync(synced), asset(schema=columns, governance={"tags": ["a"]}))["t"]
    assert (result.outcome, result.reason) == (Outcome.UNRESOLVED, "column kk does not exist")
    assert tags(synced) == {"LineageBridge.a"}
    synced.apply(run_event("COMPLETE", 9, run=9, outputs=[dataset("t", schema=schema("kk"))])).converge()
    synced.clock.wait(601)
    synced.converge()
    assert not synced.reasons_by_item(Outcome.UNRESOLVED)
    assert [tag["tagFQN"] for tag in table(synced)["columns"][0]["tags"]] == ["PII.Sensitive"]


@pytest.mark.parametrize("name", ['a"b', 'a."b', "Some.", ".some", "a>b", "Some.a::b"])
def test_invalid_names_are_reported_and_the_rest_pushed(synced: OpenMetadataHarness, name: str) -> None:
    asset_ = asset_with_governance(tags=["a", name], openmetadata={"glossary_terms": [name], "domain": "sales"})
    result = push(make_asset_sync(synced), asset_)["t"]
    assert (result.outcome, name in (result.reason or "")) == (Outcome.UNRESOLVED, True)
    assert tags(synced) == {"LineageBridge.a"}
    assert [domain["name"] for domain in table(synced)["domains"]] == ["sales"]
    terms = Person(synced.standin).request("GET", "glossaryTerms")["data"]
    assert terms == [], "no partial name is created"


@pytest.mark.parametrize(
    "content",
    [{"tags": 5}, {"columns": [1]}, {"customProperties": [1]}, {"accessPolicies": [{"role": "r"}]}, {"tier": 5}],
    ids=lambda content: next(iter(content)),
)
def test_malformed_governance_facet_does_not_affect_others(
    synced: OpenMetadataHarness, content: dict[str, Any]
) -> None:
    outputs = [dataset("t", lineageBridge_governance=facet(**content)), dataset("u", schema=schema("k"))]
    synced.apply(run_event("COMPLETE", 9, run=9, outputs=outputs)).converge()
    assert not synced.reasons_by_item(Outcome.DEAD)
    results = push(
        make_asset_sync(synced), asset_with_governance("u", tags=["a"]), asset("*", governance={"tags": ["all"]})
    )
    assert {result.outcome for result in results.values()} == {Outcome.PUSHED}
    assert tags(synced) == {"LineageBridge.all"}


def test_nested_columns_are_tagged_by_path(synced: OpenMetadataHarness) -> None:
    inner = [{"name": "city", "type": "string"}, {"name": "a.b", "type": "string"}]
    fields = [{"name": name, "type": "int"} for name in ("id", "email", "a.b")]
    nested = facet(fields=[*fields, {"name": "addr", "type": "struct", "fields": inner}])
    synced.apply(run_event("COMPLETE", 9, run=9, outputs=[dataset("t", schema=nested)])).converge()
    columns = [{"name": name, "classification": name} for name in ("id", "a.b", "addr", "addr.city", "addr.a.b")]
    assert push(make_asset_sync(synced), asset(schema=columns))["t"].outcome == Outcome.PUSHED
    column_tags = {
        ".".join(path): [tag["tagFQN"] for tag in column["tags"]] for path, column in entity_columns(table(synced))
    }
    assert column_tags == {
        "id": ["LineageBridge.id"],
        "email": [],
        "a.b": ["a.b"],
        "addr": ["LineageBridge.addr"],
        "addr.city": ["addr.city"],
        "addr.a.b": ["addr.a.b"],
    }


def test_table_is_found_by_name_while_dataset_is_pending(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    assets = [asset("t", "warehouse.d.s", governance={"tags": ["a"]}), asset("*", governance={"tags": ["b"]})]
    push(asset_sync, *assets)
    tables = [("dataset", key) for _, key in synced.items.remote_names("dataset")]
    with synced.store.db.transaction():
        synced.items.invalidate(tables)
    applied, _ = asset_sync.plan(assets)
    assert (applied.changes, applied.pending) == ([], {})


def test_glossary_terms_of_columns_set_by_people_are_kept(synced: OpenMetadataHarness) -> None:
    asset_sync = make_asset_sync(synced)
    push(asset_sync, asset_with_governance(openmetadata={"glossary_terms": ["x"]}))
    term = add_tag("LineageBridge.x", "Glossary")["value"]
    change(synced, {"op": "add", "path": "/columns/0/tags", "value": [term]})
    for classification in (["a"], ["a", "b"], []):
        columns = [{"name": "k", "classification": classification, "description": str(classification)}]
        result = push(asset_sync, asset(schema=columns))["t"]
        assert (result.outcome, result.reason) == (Outcome.PUSHED, None)
        labels = {(label["tagFQN"], label["source"]) for label in table(synced)["columns"][0]["tags"]}
        assert labels == {
            ("LineageBridge.x", "Glossary"),
            *((f"LineageBridge.{label}", "Classification") for label in classification),
        }
