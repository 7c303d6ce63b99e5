"""The legacy run event as OpenLineage events."""

import uuid
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappers.errors import InvalidInput
from mappers.legacy.formats import LegacyFormat, translate_body
from mappers.legacy.names import LegacyNamespaces
from mappers.openlineage.event import parse_event
from mappers.openlineage.event_builder import PRODUCER
from mappers.openlineage.event_mapper import map_event
from mappers.openlineage.row_builder import MappingOptions
from tests.factories import Json
from tests.stores import as_bytes

NAMES = LegacyNamespaces("PRD", "db2://db2:50000", None, "teradata://td:1025", "hdfs://nn:8020")
NOW = "2026-01-01T00:00:00+00:00"
SPEC = "https://openlineage.io/spec/"
START, END = "2025-09-08T07:00:00+00:00", "2025-09-08T07:30:00+00:00"


def translate(body: Json, body_format: LegacyFormat = LegacyFormat.RUN_EVENT) -> tuple[list[Json], list[str]]:
    events, notes = translate_body(body_format, as_bytes(body), NAMES, NOW)
    return [msgspec.json.decode(event) for event in events], notes


def run_body(event_type: str = "COMPLETE", *, run: Json | None = None, **members: Any) -> Json:
    return {
        "eventType": event_type,
        "run": {"runId": "r", "endTime": END} if run is None else run,
        "job": {"namespace": "AUTOSYS", "name": "BOX/JOB"},
        **members,
    }


def translate_last(*args: Any, **members: Any) -> Json:
    return translate(run_body(*args, **members))[0][-1]


def content(facets: Json) -> Json:
    """Facets without the members that the specification requires of every facet."""
    for facet in facets.values():
        assert facet["_schemaURL"].startswith(SPEC)
        assert facet["_producer"]
    return {
        name: {key: value for key, value in facet.items() if key not in ("_producer", "_schemaURL")}
        for name, facet in facets.items()
    }


@pytest.mark.parametrize(
    ("state", "event_type"),
    [
        ("START", "START"), ("STARTED", "START"), ("STARTING", "START"), ("ST", "START"),
        ("RUNNING", "RUNNING"), ("ru", "RUNNING"),
        ("COMPLETE", "COMPLETE"), ("success", "COMPLETE"), ("SU", "COMPLETE"), ("Done", "COMPLETE"),
        ("FAIL", "FAIL"), ("FAILED", "FAIL"), ("FAILURE", "FAIL"), ("FA", "FAIL"), ("ERROR", "FAIL"),
        ("ABORT", "ABORT"), ("TERMINATED", "ABORT"), ("KILLED", "ABORT"), ("TE", "ABORT"), ("CANCELLED", "ABORT"),
        ("OTHER", "OTHER"),
    ],
)  # fmt: skip
def test_states_become_event_types(state: str, event_type: str) -> None:
    (event,), notes = translate(run_body(state, run={"runId": "r", "startTime": START}))
    assert (event["eventType"], event["run"]["facets"], notes) == (event_type, {}, [])


def test_unknown_state_becomes_a_facet() -> None:
    (event,), notes = translate(run_body("on_ice", run={"runId": "r", "startTime": START}))
    assert event["eventType"] == "OTHER"
    assert content(event["run"]["facets"]) == {"status": {"value": "ON_ICE"}}
    assert notes == ["eventType 'ON_ICE' is not a run state: read as OTHER"]


@pytest.mark.parametrize(
    ("state", "run", "members", "expected"),
    [
        ("COMPLETE", {"startTime": START, "endTime": END}, {}, [("START", START), ("COMPLETE", END)]),
        ("FAIL", {"startTime": START, "endTime": END}, {}, [("START", START), ("FAIL", END)]),
        ("COMPLETE", {"endTime": END}, {}, [("COMPLETE", END)]),
        ("COMPLETE", {"startTime": START}, {}, [("COMPLETE", START)]),
        ("COMPLETE", {"startTime": START, "endTime": START}, {}, [("COMPLETE", START)]),
        ("COMPLETE", {"startTime": START}, {"eventTime": END}, [("START", START), ("COMPLETE", END)]),
        ("COMPLETE", {"start_time": START, "end_time": END}, {}, [("START", START), ("COMPLETE", END)]),
        ("COMPLETE", {}, {"eventTime": END}, [("COMPLETE", END)]),
        ("START", {"startTime": START}, {}, [("START", START)]),
        ("START", {"startTime": START}, {"eventTime": END}, [("START", START)]),
        ("START", {"endTime": END}, {}, [("START", END)]),
        ("RUNNING", {"startTime": START}, {"eventTime": END}, [("START", START), ("RUNNING", END)]),
        ("RUNNING", {"startTime": START}, {}, [("RUNNING", START)]),
        ("COMPLETE", {"endTime": "2025-09-08T09:30+02:00"}, {}, [("COMPLETE", "2025-09-08T09:30:00+02:00")]),
    ],
)
def test_event_has_one_time_and_implies_its_start(
    state: str, run: Json, members: Json, expected: list[tuple[str, str]]
) -> None:
    events, notes = translate(run_body(state, run={"runId": "r", **run}, **members))
    assert [(event["eventType"], event["eventTime"]) for event in events] == expected
    assert {event["run"]["runId"] for event in events} == {"r"}
    assert notes == []


@pytest.mark.parametrize(
    ("state", "run", "expected", "note"),
    [
        ("COMPLETE", {"endTime": "2025-09-08T07:30"}, [("COMPLETE", END)], "run.endTime has no time zone: read as UTC"),
        ("COMPLETE", {"startTime": END, "endTime": START}, [("COMPLETE", START)],
         "run.startTime is after the time of the event: ignored"),
        ("START", {"startTime": START, "endTime": END}, [("START", START)],
         "run.endTime is ignored because the run has not ended"),
    ],
)  # fmt: skip
def test_inconsistent_times_are_noted(state: str, run: Json, expected: list[Any], note: str) -> None:
    events, notes = translate(run_body(state, run={"runId": "r", **run}))
    assert [(event["eventType"], event["eventTime"]) for event in events] == expected
    assert notes == [note]


def test_events_with_one_start_belong_to_one_run() -> None:
    same_run = [
        run_body("START", run={"startTime": "2025-09-08T07:00"}),
        run_body("COMPLETE", run={"startTime": "2025-09-08T09:00+02:00", "endTime": END}),
        run_body("START", run={}, eventTime=START),
        run_body("COMPLETE", run={"endTime": END, "facets": {"nominalTime": {"nominalStartTime": START}}}),
    ]
    other_runs = [
        run_body("START", run={"startTime": END}),
        run_body("START", run={"startTime": START}, job={"namespace": "AUTOSYS", "name": "JOB2"}),
        run_body("START", run={"startTime": START}, job={"namespace": "AUTOSYS:DEV", "name": "JOB"}),
    ]
    ids = [{event["run"]["runId"] for event in translate(body)[0]} for body in same_run]
    assert ids == [ids[0]] * len(same_run)
    (run_id,) = ids[0]
    assert str(uuid.UUID(run_id)) == run_id
    assert all({event["run"]["runId"] for event in translate(body)[0]} != ids[0] for body in other_runs)
    assert "run.runId is missing: derived from the job and the start of the run" in translate(same_run[0])[1]


def test_boxes_are_a_facet_and_not_a_parent_run() -> None:
    event = translate_last(
        job={"namespace": "AUTOSYS", "name": "OUTER/BOX/JOB", "facets": {"sql": {"query": "x"}}, "owner": "a"}
    )
    assert (event["job"]["namespace"], event["job"]["name"]) == ("autosys://PRD", "JOB")
    assert content(event["job"]["facets"]) == {
        "lineageBridge_boxes": {"boxes": ["OUTER", "BOX"]},
        "sql": {"query": "x"},
        "owner": {"value": "a"},
    }
    assert "parent" not in event["run"]["facets"]


def test_job_of_a_parent_run_is_normalized() -> None:
    parent = {"run": {"runId": "p"}, "job": {"namespace": "AUTOSYS", "name": "OUTER/BOX"}}
    event = translate_last(run={"runId": "r", "endTime": END, "facets": {"parent": parent}})
    expected = {"run": {"runId": "p"}, "job": {"namespace": "autosys://PRD", "name": "BOX"}}
    assert content(event["run"]["facets"]) == {"parent": expected}


def test_facets_and_other_members_are_kept() -> None:
    run = {"runId": 12345, "endTime": END, "exitCode": 0, "none": None, "facets": {"odd": [1], "kept": {"a": 1}}}
    event = translate_last(run=run, host="h", exitCode=9)
    assert event["run"]["runId"] == "12345"
    assert content(event["run"]["facets"]) == {
        "exitCode": {"value": 0},
        "odd": {"value": [1]},
        "kept": {"a": 1},
        "host": {"value": "h"},
    }


@pytest.mark.parametrize(
    ("values", "facets", "statistics"),
    [
        ({"version": "2025"}, {"version": {"datasetVersion": "2025"}}, None),
        ({"version": 7}, {"version": {"datasetVersion": "7"}}, None),
        ({"version": {"datasetVersion": "7"}}, {"version": {"datasetVersion": "7"}}, None),
        ({"path": "/p"}, {"lineageBridge_path": {"path": "/p"}}, None),
        ({"path": ["/p"]}, {"path": {"value": ["/p"]}}, None),
        ({"rows": 5}, {}, {"rowCount": 5}),
        ({"row_count": "5", "bytes": 9.0}, {}, {"rowCount": 5, "size": 9}),
        ({"rowCount": 0, "size": 1}, {}, {"rowCount": 0, "size": 1}),
        ({"rows": "many"}, {"rows": {"value": "many"}}, None),
        ({"rows": True}, {"rows": {"value": True}}, None),
        ({"rows": 1.5}, {"rows": {"value": 1.5}}, None),
        ({"note": "x", "list": [], "object": {"a": 1}}, {"note": {"value": "x"}, "list": {"value": []}, "object": {"a": 1}}, None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("side", ["input", "output"])
@pytest.mark.parametrize("outside", [False, True], ids=["as facets", "outside of facets"])
def test_values_of_datasets(side: str, *, values: Json, facets: Json, statistics: Json | None, outside: bool) -> None:
    dataset = {"namespace": "S3", "name": "s3://b/k", **(values if outside else {"facets": values})}
    event = translate_last(**{f"{side}s": [dataset]})
    (result,) = event[f"{side}s"]
    assert (result["namespace"], result["name"], content(result["facets"])) == ("s3://b", "k", facets)
    side_facets = content(result.get(f"{side}Facets", {}))
    assert side_facets == ({f"{side}Statistics": statistics} if statistics else {})


def test_facet_takes_precedence_over_a_member() -> None:
    event = translate_last(outputs=[{"namespace": "S3", "name": "s3://b/k", "rows": 1, "facets": {"rows": 2}}])
    assert event["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 2


def test_invalid_count_is_noted_with_its_path() -> None:
    _, notes = translate(run_body(outputs=[{"namespace": "S3", "name": "s3://b/k", "facets": {"rows": "many"}}]))
    assert notes == ["outputs[0].rows is not a count: kept as a facet"]


def test_events_conform_to_the_specification() -> None:
    for event in translate(run_body(run={"runId": "r", "startTime": START, "endTime": END}))[0]:
        parsed = parse_event(as_bytes(event))
        assert (parsed.producer, parsed.schema_url) == (PRODUCER, f"{SPEC}2-0-2/OpenLineage.json#/$defs/RunEvent")
        assert parsed.notes == ("run id 'r' is not a UUID: replaced by one derived from it",)
    assert translate_last(producer="https://me")["producer"] == "https://me"


_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8, alphabet=st.characters(exclude_categories=["Cs"])),
    st.sampled_from(("", "\0", "/", "://", "s3://", "s3://b/k", "AUTOSYS", "DB2", "S3", "COMPLETE", "2025-09-08", "0001-01-01T00:00+23:59", "9999-12-31T23:59:59-23:59")),
)  # fmt: skip
_keys = st.sampled_from(
    (
        "eventType", "eventTime", "run", "job", "inputs", "outputs", "runId", "startTime", "endTime", "facets", "namespace",
        "name", "version", "path", "rows", "bytes", "status", "time", "submitted_by", "submitted_at", "parent", "nominalTime",
        "nominalStartTime", "producer", "_deleted", "_schemaURL", "inputFacets", "outputFacets", "schema", "box",
    )
)  # fmt: skip
_json = st.recursive(
    _scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(_keys, inner, max_size=4)),
    max_leaves=12,
)
_entities = st.fixed_dictionaries(
    {
        "namespace": st.sampled_from(("AUTOSYS", "S3", "DB2", "x", "file")),
        "name": st.sampled_from(("a/b", "s3://b/k", "S.T")),
    },
    optional={"facets": st.dictionaries(_keys, _json, max_size=4), "version": _json, "rows": _json},
)
_run = st.fixed_dictionaries(
    {"startTime": st.just(START)},
    optional={
        "runId": _scalars,
        "endTime": st.sampled_from((END, "x")),
        "facets": st.dictionaries(_keys, _json),
        "odd": _json,
    },
)
_plausible_bodies = st.fixed_dictionaries(
    {
        "eventType": st.sampled_from(("START", "SU", "x")),
        "status": st.sampled_from(("FA", "SU", "PENDING")),
        "version": st.sampled_from((1, "v")),
        "run": _run,
        "job": _entities,
        "name": st.sampled_from(("s3://b/k", "S.T")),
        "namespace": st.sampled_from(("S3", "DB2", "AUTOSYS")),
        "time": st.sampled_from((START, END)),
        "submitted_by": st.just("ann"),
    },
    optional={
        "inputs": st.lists(_entities, max_size=2),
        "outputs": st.lists(_entities, max_size=2),
        "rows": _json,
        "path": _json,
        "_deleted": st.just(value=True),
        "odd": _json,
    },
)


@given(
    st.sampled_from(LegacyFormat),
    st.one_of(_json, st.dictionaries(_keys, _json), _plausible_bodies, _plausible_bodies),
)
def test_any_body_is_rejected_or_becomes_events(body_format: LegacyFormat, body: Any) -> None:
    try:
        events, _ = translate_body(body_format, msgspec.json.encode(body), NAMES, NOW)
    except InvalidInput:
        return
    for event in events:
        map_event(parse_event(event), MappingOptions())


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 5000, "1e400", "9" * 25])
@pytest.mark.parametrize("key", ["runId", "startTime", "odd"])
def test_numbers_of_any_size_are_rejected_or_parsed(number: str, key: str) -> None:
    body = as_bytes(run_body(run={"runId": "r", "endTime": END, key: "@@"}))
    try:
        events, _ = translate_body(LegacyFormat.RUN_EVENT, body.replace(b'"@@"', number.encode()), NAMES, NOW)
    except InvalidInput:
        return
    for event in events:
        parse_event(event)
