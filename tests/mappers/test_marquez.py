"""Events in the form that Marquez accepts, and names that it cannot store."""

import msgspec
import pytest

from mappers.marquez.events import PRODUCER, accepted_facets, run_event
from mappers.marquez.governance import MarquezTags, governance_facets, governance_tags
from mappers.marquez.metadata import (
    StoredMetadata,
    dataset_event_from_list,
    is_alias,
    job_event_from_list,
    possible_job_names,
)
from mappers.marquez.names import find_unsafe_name
from tests import factories as make
from tests.factories import DELETED, Json, dataset, facet, run_uuid

BASE_FIELDS = {"_producer": "p", "_schemaURL": "s"}


def marquez_event(event: Json) -> Json:
    return run_event(msgspec.json.encode(event), make.micros(1), run_uuid(7))


@pytest.mark.parametrize(
    ("change", "path", "value"),
    [
        ({"schemaURL": None}, ["schemaURL"], "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"),
        ({"schemaURL": "https://x/JobEvent"}, ["schemaURL"], "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"),
        ({"schemaURL": "https://x/1-0-0/OpenLineage.json#/$defs/RunEvent"}, ["schemaURL"], "https://x/1-0-0/OpenLineage.json#/$defs/RunEvent"),
        ({"producer": None}, ["producer"], PRODUCER),
        ({"eventTime": "2026-01-01T01:00:01+01:00"}, ["eventTime"], "2026-01-01T00:00:01.000000Z"),
        ({"run": {"runId": "not-a-uuid"}}, ["run", "runId"], run_uuid(7)),
        ({"inputs": None}, ["inputs"], []),
        ({"job": {"namespace": "n", "name": "a\0b"}}, ["job", "name"], "a\ufffdb"),
        ({"inputs": [{"namespace": "n", "name": "x", "facets": {"f": {"a": None, "b": 1}}}]},
         ["inputs", 0, "facets", "f", "b"], 1),
        ({"inputs": [{"namespace": "n", "name": "x", "facets": {"f": 3}}]}, ["inputs", 0, "facets"], {}),
        ({"inputs": [{"namespace": "n", "name": "x", "inputFacets": {"f": {}}}]},
         ["inputs", 0, "inputFacets", "f", "_producer"], PRODUCER),
    ],
)  # fmt: skip
def test_missing_members_are_added(change: Json, path: list[str | int], value: object) -> None:
    member = marquez_event({**make.run_event(), **change})
    for key in path:
        member = member[key]  # type: ignore[index]
    assert member == value


@pytest.mark.parametrize(
    ("facets", "owner", "accepted"),
    [
        ({"documentation": DELETED}, "dataset", {"documentation": {**DELETED, "description": ""}}),
        ({"documentation": BASE_FIELDS}, "job", {}),
        ({"sql": DELETED}, "job", {"sql": {**DELETED, "query": ""}}),
        ({"schema": facet(fields=[{"type": "x"}])}, "dataset", {}),
        ({"schema": facet(fields=[{"name": "x"}])}, "dataset", {"schema": facet(fields=[{"name": "x"}])}),
        ({"schema": DELETED}, "dataset", {"schema": DELETED}),
        ({"symlinks": facet(identifiers=[{"name": "x"}])}, "dataset", {}),
        ({"parent": BASE_FIELDS}, "run", {}),
        ({"parent": DELETED}, "run", {}),
        ({"nominalTime": facet(nominalEndTime="x")}, "run", {}),
        ({"anything": BASE_FIELDS}, "run", {"anything": BASE_FIELDS}),
    ],
)
def test_incomplete_facets_are_completed_or_dropped(facets: Json, owner: str, accepted: Json) -> None:
    assert accepted_facets(facets, owner) == accepted


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (make.run_event(), None),
        (make.run_event(namespace="sqlserver://h:1433/x@y+z"), None),
        (make.run_event(outputs=[dataset("x", "sqlserver://h:1433;database=x")]), None),
        (make.run_event(namespace="a=b"), "as 'a_b'"),
        (make.run_event(outputs=[dataset("x", "n" * 1025)]), "would break all lists"),
        (make.run_event(outputs=[dataset("")]), "an empty name"),
        (make.job_event(inputs=[dataset("x", "~")]), "'~' would break all lists"),
        (make.dataset_event(1, dataset("x", "a#b")), "'a#b' would break all lists"),
        (make.run_event(run_facets={"parent": make.parent(2, "p", root=(3, ""))}), "parent.root ''"),
    ],
)
def test_unsafe_names_are_found(event: Json, problem: str | None) -> None:
    unsafe_name = find_unsafe_name(event)
    assert (unsafe_name is None) == (problem is None)
    assert problem is None or problem in str(unsafe_name)


def test_governance_as_openlineage_facets_and_tags() -> None:
    governance = {
        "description": "all", "owners": ["sales"], "tags": ["GOLD"], "classifications": ["PII"], "tier": "Tier1",
        "columns": [{"name": "a", "classifications": ["PII"]}, {"name": "b", "sensitive": True}],
    }  # fmt: skip
    assert governance_tags(governance) == MarquezTags(
        frozenset({"GOLD", "PII", "Tier1"}), frozenset({("a", "PII"), ("b", "SENSITIVE")})
    )
    facets = governance_facets(governance)
    assert facets["documentation"] == {"description": "all"}
    assert facets["ownership"] == {"owners": [{"name": "sales"}]}
    assert [(tag["key"], tag.get("field")) for tag in facets["tags"]["tags"]] == [
        ("GOLD", None), ("PII", None), ("Tier1", None), ("PII", "a"), ("SENSITIVE", "b"),
    ]  # fmt: skip
    assert governance_facets({}) == {}


LISTED = {
    "namespace": "n", "name": "x", "physicalName": "x", "updatedAt": "2026-01-01T00:00:00Z", "tags": [], "facets": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "stored", "facets"),
    [
        ({}, StoredMetadata(), []),
        ({}, StoredMetadata(has_events=True), None),
        ({"description": "d"}, StoredMetadata(has_events=True), ["documentation"]),
        ({"description": "d"}, StoredMetadata(True, frozenset({"documentation"})), None),
        ({"facets": {"custom": BASE_FIELDS}}, StoredMetadata(), ["custom"]),
        ({"facets": {"custom": BASE_FIELDS}}, StoredMetadata(has_events=True), None),
        ({"fields": [{"name": "a", "tags": ["PII"]}]}, StoredMetadata(), ["schema", "tags"]),
        ({"fields": [{"name": "a", "tags": ["PII"]}]}, StoredMetadata(has_events=True), ["tags"]),
        ({"tags": ["GOLD"]}, StoredMetadata(True, frozenset({"tags"})), None),
    ],
)
def test_dataset_event_from_list(changes: Json, stored: StoredMetadata, facets: list[str] | None) -> None:
    event = dataset_event_from_list({**LISTED, **changes}, stored)
    assert (sorted(event["dataset"]["facets"]) if event else None) == facets


@pytest.mark.parametrize(
    ("changes", "owner", "stored", "facets"),
    [
        ({}, None, StoredMetadata(), []),
        ({"latestRun": {"id": "x"}}, None, StoredMetadata(), None),
        ({}, "anonymous", StoredMetadata(has_events=True), None),
        ({}, "alice", StoredMetadata(has_events=True), ["ownership"]),
        ({"tags": ["GOLD"]}, None, StoredMetadata(has_events=True), ["tags"]),
    ],
)
def test_job_event_from_list(
    changes: Json, owner: str | None, stored: StoredMetadata, facets: list[str] | None
) -> None:
    event = job_event_from_list({**LISTED, **changes}, "x", owner, stored)
    assert (sorted(event["job"]["facets"]) if event else None) == facets


@pytest.mark.parametrize(
    ("job", "names"),
    [
        ({"name": "a"}, ["a"]),
        ({"name": "p.a", "simpleName": "a", "parentJobName": "p"}, ["p.a", "a"]),
        ({"name": "p.a", "simpleName": "p.a", "parentJobName": None}, ["p.a"]),
    ],
)
def test_possible_job_names(job: Json, names: list[str]) -> None:
    assert possible_job_names(job) == names


def test_symlink_name_is_an_alias() -> None:
    assert is_alias({"name": "t", "physicalName": "/lake/t"})
    assert not is_alias({"name": "t", "physicalName": "t"})
