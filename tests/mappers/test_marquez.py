"""Events as Marquez takes them, and what it cannot bear."""

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

SAID = {"_producer": "p", "_schemaURL": "s"}


def told(event: Json) -> Json:
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
def test_what_producers_left_out_is_there(change: Json, path: list[str | int], value: object) -> None:
    found = told({**make.run_event(), **change})
    for key in path:
        found = found[key]  # type: ignore[index]
    assert found == value


@pytest.mark.parametrize(
    ("facets", "owner", "left"),
    [
        ({"documentation": DELETED}, "dataset", {"documentation": {**DELETED, "description": ""}}),
        ({"documentation": SAID}, "job", {}),
        ({"sql": DELETED}, "job", {"sql": {**DELETED, "query": ""}}),
        ({"schema": facet(fields=[{"type": "x"}])}, "dataset", {}),
        ({"schema": facet(fields=[{"name": "x"}])}, "dataset", {"schema": facet(fields=[{"name": "x"}])}),
        ({"schema": DELETED}, "dataset", {"schema": DELETED}),
        ({"symlinks": facet(identifiers=[{"name": "x"}])}, "dataset", {}),
        ({"parent": SAID}, "run", {}),
        ({"parent": DELETED}, "run", {}),
        ({"nominalTime": facet(nominalEndTime="x")}, "run", {}),
        ({"anything": SAID}, "run", {"anything": SAID}),
    ],
)
def test_facets_that_lack_what_it_insists_on(facets: Json, owner: str, left: Json) -> None:
    assert accepted_facets(facets, owner) == left


@pytest.mark.parametrize(
    ("event", "said"),
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
def test_names_that_would_do_harm(event: Json, said: str | None) -> None:
    found = find_unsafe_name(event)
    assert (found is None) == (said is None)
    assert said is None or said in str(found)


def test_what_a_steward_says_in_the_words_of_openlineage() -> None:
    said = {
        "description": "all", "owners": ["sales"], "tags": ["GOLD"], "classifications": ["PII"], "tier": "Tier1",
        "columns": [{"name": "a", "classifications": ["PII"]}, {"name": "b", "sensitive": True}],
    }  # fmt: skip
    assert governance_tags(said) == MarquezTags(
        frozenset({"GOLD", "PII", "Tier1"}), frozenset({("a", "PII"), ("b", "SENSITIVE")})
    )
    found = governance_facets(said)
    assert found["documentation"] == {"description": "all"}
    assert found["ownership"] == {"owners": [{"name": "sales"}]}
    assert [(one["key"], one.get("field")) for one in found["tags"]["tags"]] == [
        ("GOLD", None), ("PII", None), ("Tier1", None), ("PII", "a"), ("SENSITIVE", "b"),
    ]  # fmt: skip
    assert governance_facets({}) == {}


LISTED = {
    "namespace": "n", "name": "x", "physicalName": "x", "updatedAt": "2026-01-01T00:00:00Z", "tags": [], "facets": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "known", "facets"),
    [
        ({}, StoredMetadata(), []),
        ({}, StoredMetadata(has_events=True), None),
        ({"description": "d"}, StoredMetadata(has_events=True), ["documentation"]),
        ({"description": "d"}, StoredMetadata(True, frozenset({"documentation"})), None),
        ({"facets": {"custom": SAID}}, StoredMetadata(), ["custom"]),
        ({"facets": {"custom": SAID}}, StoredMetadata(has_events=True), None),
        ({"fields": [{"name": "a", "tags": ["PII"]}]}, StoredMetadata(), ["schema", "tags"]),
        ({"fields": [{"name": "a", "tags": ["PII"]}]}, StoredMetadata(has_events=True), ["tags"]),
        ({"tags": ["GOLD"]}, StoredMetadata(True, frozenset({"tags"})), None),
    ],
)
def test_what_a_list_says_of_a_dataset(more: Json, known: StoredMetadata, facets: list[str] | None) -> None:
    found = dataset_event_from_list({**LISTED, **more}, known)
    assert (sorted(found["dataset"]["facets"]) if found else None) == facets


@pytest.mark.parametrize(
    ("more", "owner", "known", "facets"),
    [
        ({}, None, StoredMetadata(), []),
        ({"latestRun": {"id": "x"}}, None, StoredMetadata(), None),
        ({}, "anonymous", StoredMetadata(has_events=True), None),
        ({}, "alice", StoredMetadata(has_events=True), ["ownership"]),
        ({"tags": ["GOLD"]}, None, StoredMetadata(has_events=True), ["tags"]),
    ],
)
def test_what_a_list_says_of_a_job(
    more: Json, owner: str | None, known: StoredMetadata, facets: list[str] | None
) -> None:
    found = job_event_from_list({**LISTED, **more}, "x", owner, known)
    assert (sorted(found["job"]["facets"]) if found else None) == facets


@pytest.mark.parametrize(
    ("job", "names"),
    [
        ({"name": "a"}, ["a"]),
        ({"name": "p.a", "simpleName": "a", "parentJobName": "p"}, ["p.a", "a"]),
        ({"name": "p.a", "simpleName": "p.a", "parentJobName": None}, ["p.a"]),
    ],
)
def test_the_names_that_events_may_have_for_a_job(job: Json, names: list[str]) -> None:
    assert possible_job_names(job) == names


def test_a_name_that_a_symlink_gives_is_another_one() -> None:
    assert is_alias({"name": "t", "physicalName": "/lake/t"})
    assert not is_alias({"name": "t", "physicalName": "t"})
