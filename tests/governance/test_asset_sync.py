"""What stewards write comes to OpenMetadata, what others write there stays, and both are brought together."""

from typing import Any

import pytest

from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.openmetadata.governance import entity_columns
from tests.factories import dataset, facet, run_event, schema
from tests.governance.asset_harness import T, asset, governed, push, steward, table, tags, wrote
from tests.standins.openmetadata import error
from tests.sync.openmetadata_harness import LAYOUT, Synced
from tests.sync.other_writers import Person


def change(synced: Synced, *operations: dict[str, Any], name: str = T) -> None:
    """Let a person change a table."""
    Person(synced.standin).ask(
        "PATCH", f"tables/{table(synced, name)['id']}", list(operations), "application/json-patch+json"
    )


def tagged(tag: str, source: str = "Classification") -> dict[str, Any]:
    label = {"tagFQN": tag, "source": source, "labelType": "Manual", "state": "Confirmed"}
    return {"op": "add", "path": "/tags/-", "value": label}


WHOLE = asset(
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


def test_all_that_a_steward_may_write_comes_there_and_twice_changes_nothing(synced: Synced) -> None:
    of = steward(synced)
    assert push(of, WHOLE)["t"].outcome == Outcome.PUSHED
    found = table(synced)
    assert found["description"] == "What it &lt;is&gt; &amp; why"
    assert {one["name"] for one in found["owners"]} == {"ann", "bob"}
    assert tags(synced) - {"Tier.Tier2"} == {
        "LineageBridge.payments", "Finance.Money", "LineageBridge.Restricted", "LineageBridge.Customer",
        f"LineageBridgeAccess.{WHOLE.asset.name}_{next(iter(t for t in tags(synced) if 'Access' in t)).rpartition('_')[2]}",
    }  # fmt: skip
    assert "Tier.Tier2" in tags(synced)
    assert found["retentionPeriod"] == "P90D"
    assert [one["name"] for one in found["domains"]] == ["sales"]
    assert [one["name"] for one in found["dataProducts"]] == ["Customer 360"]
    assert found["certification"]["tagLabel"]["tagFQN"] == "Certification.Gold"
    assert found["extension"] == {"category": "people", "cost": 7, "part": 0.5, "level": "high"}
    k = found["columns"][0]
    assert (k["description"], {one["tagFQN"] for one in k["tags"]}) == (
        "The key", {"PII.Sensitive", "LineageBridge.Sensitive", "LineageBridge.Required"},
    )  # fmt: skip
    before = Person(synced.standin).ask("GET", f"tables/name/{T}")["version"]
    synced.calls.clear()
    assert push(of, WHOLE)["t"].changed is False
    assert synced.calls == {}
    applied, seen = of.plan([WHOLE])
    assert (applied.changes, [one.has_differences for one in seen]) == ([], [False])
    assert Person(synced.standin).ask("GET", f"tables/name/{T}")["version"] == before


def test_what_was_never_mentioned_is_not_touched(synced: Synced) -> None:
    change(synced, tagged("PersonalData.Personal"), {"op": "add", "path": "/description", "value": "by a person"})
    of = steward(synced)
    push(of, governed(tags=["a"]))
    push(of, governed(tags=["b"]))
    push(of, governed())
    assert tags(synced) == {"PersonalData.Personal"}
    assert table(synced)["description"] == "by a person"


def test_a_word_that_goes_from_the_file_goes_from_there(synced: Synced) -> None:
    of = steward(synced)
    push(of, WHOLE)
    push(of, governed(tags=["payments"], owner="bob"))
    found = table(synced)
    assert tags(synced) == {"LineageBridge.payments"}
    assert [one["name"] for one in found["owners"]] == ["bob"]
    assert [found.get(key) or None for key in ("description", "retentionPeriod", "certification", "extension")] == [
        None
    ] * 4
    assert found["columns"][0]["tags"] == []


def test_without_anything_agreed_on_sets_unite_and_other_words_are_conflicts(synced: Synced) -> None:
    change(synced, tagged("PersonalData.Personal"), {"op": "add", "path": "/description", "value": "theirs"})
    result = push(steward(synced), asset(description="ours", governance={"tags": ["a"]}))["t"]
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
def test_a_policy_decides_who_wins(synced: Synced, rules: dict[str, Any], outcome: str, description: str) -> None:
    push(steward(synced), asset(description="ours"))
    change(synced, {"op": "replace", "path": "/description", "value": "theirs"})
    synced.connect(OpenMetadataOptions(LAYOUT, **rules))
    of = steward(synced)
    assert push(of, asset(description="ours, changed"))["t"].outcome == outcome
    assert table(synced)["description"] == description


def test_a_person_decides(synced: Synced) -> None:
    of = steward(synced)
    push(of, asset(description="ours"))
    change(synced, {"op": "replace", "path": "/description", "value": "theirs"})
    again = asset(description="ours, changed")
    push(of, again)
    asked: list[str] = []
    decisions = of.resolve_conflicts([again], lambda said: asked.append(said) or "local")  # type: ignore[func-returns-value]
    assert len(asked) == 1
    _, (result,) = of.push([again], decisions, sleep=lambda _: None)
    assert result.outcome == Outcome.PUSHED
    assert table(synced)["description"] == "ours, changed"


def test_a_change_over_there_stays_and_is_told(synced: Synced) -> None:
    of = steward(synced)
    push(of, governed(tags=["a", "b"]))
    tag = next(i for i, one in enumerate(table(synced)["tags"]) if one["tagFQN"] == "LineageBridge.b")
    change(synced, {"op": "remove", "path": f"/tags/{tag}"}, tagged("PersonalData.Personal"))
    _, (seen,) = of.plan([governed(tags=["a", "b"])])
    assert seen.remote_diff is not None
    assert seen.remote_diff.remote.fields == {("tags",): frozenset({"LineageBridge.a", "PersonalData.Personal"})}
    assert seen.remote_diff.changes == {}
    push(of, governed(tags=["a", "b", "c"]))
    assert tags(synced) == {"LineageBridge.a", "LineageBridge.c", "PersonalData.Personal"}


def test_one_that_nobody_has_seen_waits_and_applies_itself(synced: Synced) -> None:
    of = steward(synced)
    assert push(of, governed("new", tags=["a"]))["new"].outcome == Outcome.WAITING
    assert "warehouse.d.s.new" not in synced.entities("table")
    synced.apply(wrote("new", second=5)).converge()
    assert tags(synced, "warehouse.d.s.new") == {"LineageBridge.a"}


def test_one_with_a_schema_is_made(synced: Synced) -> None:
    of = steward(synced)
    of_new = asset("new", schema=[{"name": "k", "type": "bigint"}], governance={"tags": ["a"]})
    assert push(of, of_new)["new"].outcome == Outcome.PUSHED
    assert [one["dataType"] for one in table(synced, "warehouse.d.s.new")["columns"]] == ["BIGINT"]
    assert tags(synced, "warehouse.d.s.new") == {"LineageBridge.a"}


def test_what_is_missing_is_reported_and_the_rest_goes(synced: Synced) -> None:
    of = steward(synced)
    synced.apply(wrote("u", second=3)).converge()
    found = push(
        of, governed("t", tags=["a"], owner=["nobody@example.com", "ann@example.com"]), governed("u", tags=["b"])
    )
    assert (found["t"].outcome, found["u"].outcome) == (Outcome.UNRESOLVED, Outcome.PUSHED)
    assert found["t"].reason == "no user or team has the email address nobody@example.com"
    assert tags(synced) == {"LineageBridge.a"}
    assert [one["name"] for one in table(synced)["owners"]] == ["ann"]
    assert tags(synced, "warehouse.d.s.u") == {"LineageBridge.b"}


def test_nothing_is_made_where_that_is_not_allowed(synced: Synced) -> None:
    synced.connect(OpenMetadataOptions(LAYOUT, create="entities"))
    result = push(steward(synced), governed(there={"domain": "sales", "tier": "Tier1"}, tags=["a"], owner="team"))[
        "t"
    ]
    assert result.outcome == Outcome.UNRESOLVED
    assert result.reason is not None
    for word in ("LineageBridge", "sales", "team"):
        assert word in result.reason
    assert tags(synced) == {"Tier.Tier1"}


def test_one_that_is_refused_keeps_no_other_back(synced: Synced) -> None:
    synced.apply(wrote("u", second=3)).converge()
    synced.standin.faults.next(error(403), method="PATCH", path="/tables", times=1)
    found = push(steward(synced), governed("t", tags=["a"]), governed("u", tags=["a"]))
    assert sorted(one.outcome for one in found.values()) == [Outcome.DEAD, Outcome.PUSHED]


def test_who_is_overtaken_reads_again(synced: Synced) -> None:
    synced.standin.faults.next(error(412), method="PATCH", path="/tables", times=2)
    assert push(steward(synced), governed(tags=["a"]))["t"].outcome == Outcome.PUSHED
    assert tags(synced) == {"LineageBridge.a"}


def test_assets_may_name_tables_and_patterns(synced: Synced) -> None:
    of = steward(synced)
    found = of.push(
        [
            governed("t", tags=["own"]),
            asset("t", "warehouse.d.s", category="c"),
            asset("*", "d?", custom_properties={"x": 1}),
        ],
        {},
        sleep=lambda _: None,
    )[0]
    assert found.pending == {}
    assert table(synced)["extension"] == {"category": "c", "x": 1}
    synced.apply(wrote("later", second=5)).converge()
    push(of)
    assert table(synced, "warehouse.d.s.later")["extension"] == {"x": 1}


def test_an_asset_that_stands_in_no_file_any_more_is_taken_back_when_that_is_asked_for(synced: Synced) -> None:
    of = steward(synced)
    push(of, governed(tags=["a"]))
    applied, _ = of.push([], {}, sleep=lambda _: None)
    assert ([one.name for one in applied.orphaned], tags(synced)) == (["t"], {"LineageBridge.a"})
    push(of, prune=True)
    assert tags(synced) == set()
    assert of.plan([])[0].orphaned == []


def test_sync_can_be_left_out(synced: Synced) -> None:
    result = push(steward(synced), governed(there={"sync_enabled": False}, tags=["a"]))["t"]
    assert (result.outcome, tags(synced)) == (Outcome.OFF, set())
    synced.connect(OpenMetadataOptions(LAYOUT, sync_governance_metadata=False))
    assert push(steward(synced), governed(tags=["a"]))["t"].outcome == Outcome.OFF


def test_the_quality_score_is_a_custom_property(synced: Synced) -> None:
    checks = [{"assertion": one, "success": one == "a"} for one in "ab"]
    synced.apply(wrote("t", second=5, dataQualityAssertions=facet(assertions=checks))).converge()
    assert table(synced)["extension"] == {"lineageBridgeQualityScore": 50}
    assert synced.quiet() == {}
    checks[1]["success"] = True
    synced.apply(wrote("t", second=6, dataQualityAssertions=facet(assertions=checks))).converge()
    assert table(synced)["extension"] == {"lineageBridgeQualityScore": 100}


def test_a_plan_changes_nothing(synced: Synced) -> None:
    of = steward(synced)
    before = synced.standin.state()
    synced.calls.clear()
    applied, (seen,) = of.plan([WHOLE])
    assert (len(applied.changes), seen.has_differences, bool(seen.remote_diff and seen.remote_diff.changes)) == (
        1,
        True,
        True,
    )
    assert synced.standin.state() == before
    assert synced.store.rows("SELECT name FROM facet WHERE name LIKE 'lineageBridge%'") == []
    assert synced.calls.keys() <= {"get", "list", "version"}


def test_what_is_missing_is_set_once_it_is_there(synced: Synced) -> None:
    of = steward(synced)
    result = push(of, governed(tags=["a", "PII.Later"], there={"certification": "Later"}))["t"]
    assert result.outcome == Outcome.UNRESOLVED
    synced.clock.wait(601)
    synced.converge()
    assert synced.standing(Outcome.UNRESOLVED), "tried again, and still missing"
    for classification in ("PII", "Certification"):
        Person(synced.standin).ask(
            "POST", "tags", {"name": "Later", "classification": classification, "description": "."}
        )
    synced.clock.wait(601)
    synced.converge()
    assert not synced.standing(Outcome.UNRESOLVED)
    assert tags(synced) == {"LineageBridge.a", "PII.Later"}
    assert table(synced)["certification"]["tagLabel"]["tagFQN"] == "Certification.Later"


def test_a_field_that_is_refused_keeps_no_other_back(synced: Synced) -> None:
    person = Person(synced.standin)
    types = {name: person.ask("GET", f"metadata/types/name/{name}")["id"] for name in ("table", "integer")}
    whole = {"name": "cost", "description": ".", "propertyType": {"id": types["integer"], "type": "type"}}
    person.ask("PUT", f"metadata/types/{types['table']}", whole)
    of = steward(synced)
    wrong = asset(description="D", governance={"tags": ["a"], "owner": "ann"}, custom_properties={"cost": "much"})
    result = push(of, wrong)["t"]
    assert (result.outcome, "customProperties.cost: " in (result.reason or "")) == (Outcome.UNRESOLVED, True)
    assert (tags(synced), table(synced)["description"]) == ({"LineageBridge.a"}, "D")
    assert [one["name"] for one in table(synced)["owners"]] == ["ann"]
    right = asset(description="D", governance={"tags": ["a"], "owner": "ann"}, custom_properties={"cost": 3})
    assert push(of, right)["t"].outcome == Outcome.PUSHED
    assert table(synced)["extension"] == {"cost": 3}


def test_an_owner_whose_address_is_another_now_stays(synced: Synced) -> None:
    of = steward(synced)
    assert push(of, governed(owner="robert@example.com"))["t"].outcome == Outcome.PUSHED
    person = Person(synced.standin)
    bob = person.find("user", "bob").id
    person.ask(
        "PATCH", f"users/{bob}", [{"op": "add", "path": "/email", "value": "bob@example.com"}],
        "application/json-patch+json",
    )  # fmt: skip
    synced.connect()
    for said in ("one", "two"):
        result = push(steward(synced), asset(description=said, governance={"owner": "robert@example.com"}))["t"]
        assert result.outcome == Outcome.UNRESOLVED
        assert "robert@example.com" in (result.reason or "")
        assert [one["name"] for one in table(synced)["owners"]] == ["bob"]
        assert table(synced)["description"] == said


def test_what_is_said_of_a_column_that_is_not_there_is_told(synced: Synced) -> None:
    result = push(steward(synced), asset(schema=[{"name": "k", "classification": "PII"}, {"name": "v"}]))["t"]
    assert result.outcome == Outcome.PUSHED
    columns = [{"name": "kk", "classification": "PII"}, {"name": "unsaid"}]
    result = push(steward(synced), asset(schema=columns, governance={"tags": ["a"]}))["t"]
    assert (result.outcome, result.reason) == (Outcome.UNRESOLVED, "column kk does not exist")
    assert tags(synced) == {"LineageBridge.a"}
    synced.apply(run_event("COMPLETE", 9, run=9, outputs=[dataset("t", schema=schema("kk"))])).converge()
    synced.clock.wait(601)
    synced.converge()
    assert not synced.standing(Outcome.UNRESOLVED)
    assert [one["tagFQN"] for one in table(synced)["columns"][0]["tags"]] == ["PII.Sensitive"]


@pytest.mark.parametrize("word", ['a"b', 'a."b', "Some.", ".some", "a>b", "Some.a::b"])
def test_names_that_no_server_takes_are_told_and_the_rest_goes(synced: Synced, word: str) -> None:
    said = governed(tags=["a", word], there={"glossary_terms": [word], "domain": "sales"})
    result = push(steward(synced), said)["t"]
    assert (result.outcome, word in (result.reason or "")) == (Outcome.UNRESOLVED, True)
    assert tags(synced) == {"LineageBridge.a"}
    assert [one["name"] for one in table(synced)["domains"]] == ["sales"]
    terms = Person(synced.standin).ask("GET", "glossaryTerms")["data"]
    assert terms == [], "nothing of half the name is made"


@pytest.mark.parametrize(
    "said",
    [{"tags": 5}, {"columns": [1]}, {"customProperties": [1]}, {"accessPolicies": [{"role": "r"}]}, {"tier": 5}],
    ids=lambda said: next(iter(said)),
)
def test_what_anybody_sends_as_governance_stops_no_other(synced: Synced, said: dict[str, Any]) -> None:
    sent = [dataset("t", lineageBridge_governance=facet(**said)), dataset("u", schema=schema("k"))]
    synced.apply(run_event("COMPLETE", 9, run=9, outputs=sent)).converge()
    assert not synced.standing(Outcome.DEAD)
    found = push(steward(synced), governed("u", tags=["a"]), asset("*", governance={"tags": ["all"]}))
    assert {one.outcome for one in found.values()} == {Outcome.PUSHED}
    assert tags(synced) == {"LineageBridge.all"}


def test_columns_lie_where_they_lie_and_are_governed_there(synced: Synced) -> None:
    within = [{"name": "city", "type": "string"}, {"name": "a.b", "type": "string"}]
    fields = [{"name": name, "type": "int"} for name in ("id", "email", "a.b")]
    nested = facet(fields=[*fields, {"name": "addr", "type": "struct", "fields": within}])
    synced.apply(run_event("COMPLETE", 9, run=9, outputs=[dataset("t", schema=nested)])).converge()
    columns = [{"name": name, "classification": name} for name in ("id", "a.b", "addr", "addr.city", "addr.a.b")]
    assert push(steward(synced), asset(schema=columns))["t"].outcome == Outcome.PUSHED
    found = {
        ".".join(path): [tag["tagFQN"] for tag in column["tags"]] for path, column in entity_columns(table(synced))
    }
    assert found == {
        "id": ["LineageBridge.id"],
        "email": [],
        "a.b": ["a.b"],
        "addr": ["LineageBridge.addr"],
        "addr.city": ["addr.city"],
        "addr.a.b": ["addr.a.b"],
    }


def test_a_table_is_known_by_its_name_while_its_dataset_waits(synced: Synced) -> None:
    of = steward(synced)
    assets = [asset("t", "warehouse.d.s", governance={"tags": ["a"]}), asset("*", governance={"tags": ["b"]})]
    push(of, *assets)
    tables = [("dataset", key) for _, key in synced.items.remote_names("dataset")]
    with synced.store.db.transaction():
        synced.items.invalidate(tables)
    applied, _ = of.plan(assets)
    assert (applied.changes, applied.pending) == ([], {})


def test_terms_that_others_gave_to_columns_stay_and_are_theirs(synced: Synced) -> None:
    of = steward(synced)
    push(of, governed(there={"glossary_terms": ["x"]}))
    term = tagged("LineageBridge.x", "Glossary")["value"]
    change(synced, {"op": "add", "path": "/columns/0/tags", "value": [term]})
    for classification in (["a"], ["a", "b"], []):
        columns = [{"name": "k", "classification": classification, "description": str(classification)}]
        result = push(of, asset(schema=columns))["t"]
        assert (result.outcome, result.reason) == (Outcome.PUSHED, None)
        found = {(one["tagFQN"], one["source"]) for one in table(synced)["columns"][0]["tags"]}
        assert found == {
            ("LineageBridge.x", "Glossary"),
            *((f"LineageBridge.{one}", "Classification") for one in classification),
        }
