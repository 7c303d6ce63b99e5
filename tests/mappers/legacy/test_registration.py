"""Registrations of versions, runs and datasets as OpenLineage events."""

from typing import Any

import pytest

from mappers.errors import InvalidInput
from mappers.legacy.formats import LegacyFormat
from tests.factories import Json
from tests.mappers.legacy.test_run_event import END, NOW, START, content, translate

DATASET = {"name": "s3://b/out", "version": "7", "time": END}
PROCESS = {"name": "BOX/JOB", "status": "SUCCESS", "time": END}
REQUEST = {"name": "s3://b/out", "submitted_by": "ann"}


def kinds(events: list[Json]) -> list[str]:
    return [event["schemaURL"].rpartition("/")[2] for event in events]


def test_version_without_a_job_is_a_dataset_event() -> None:
    (event,), notes = translate(
        {**DATASET, "status": "ready", "rows": 3, "path": "/p", "odd": 1}, LegacyFormat.DATASET
    )
    assert kinds([event]) == ["DatasetEvent"]
    assert (event["eventTime"], event["dataset"]["namespace"], event["dataset"]["name"]) == (END, "s3://b", "out")
    assert content(event["dataset"]["facets"]) == {
        "version": {"datasetVersion": "7"},
        "outputStatistics": {"rowCount": 3},
        "lineageBridge_path": {"path": "/p"},
        "status": {"value": "READY"},
        "odd": {"value": 1},
    }
    assert notes == []


@pytest.mark.parametrize("status", ["FAILED", "RUNNING", "TE"])
def test_incomplete_version_does_not_exist(status: str) -> None:
    (event,), notes = translate({**DATASET, "status": status}, LegacyFormat.DATASET)
    assert content(event["dataset"]["facets"]) == {"attemptedVersion": {"value": "7"}, "status": {"value": status}}
    assert notes == [f"status {status!r}: the version does not exist, only its name is stored"]


@pytest.mark.parametrize(
    ("job_fields", "job"),
    [
        ({"job": "BOX/JOB"}, ("autosys://PRD", "JOB")),
        ({"job": {"name": "BOX/JOB"}}, ("autosys://PRD", "JOB")),
        ({"job": {"namespace": "cron", "name": "a/b"}}, ("cron", "a/b")),
    ],
)
@pytest.mark.parametrize(
    "run", [{"run": "r"}, {"run": {"runId": "r"}}, {"runId": "r"}], ids=["text", "object", "separate"]
)
def test_version_with_a_job_is_an_output_of_its_run(job_fields: Json, job: tuple[str, str], run: Json) -> None:
    events, notes = translate(
        {**DATASET, "startTime": START, "status": "FA", **job_fields, **run}, LegacyFormat.DATASET
    )
    assert kinds(events) == ["RunEvent", "RunEvent"]
    assert [(event["eventType"], event["eventTime"]) for event in events] == [("START", START), ("FAIL", END)]
    assert {(event["job"]["namespace"], event["job"]["name"], event["run"]["runId"]) for event in events} == {
        (*job, "r")
    }
    (output,) = events[1]["outputs"]
    assert content(output["facets"]) == {"version": {"datasetVersion": "7"}}
    assert notes == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [("COMPLETE", END)]),
        ({"status": "ST", "time": START}, [("START", START)]),
        ({"startTime": START}, [("START", START), ("COMPLETE", END)]),
        ({"time": None, "startTime": START, "endTime": END}, [("START", START), ("COMPLETE", END)]),
        ({"time": START, "endTime": END}, [("COMPLETE", END)]),
        ({"time": END, "startTime": START, "status": "START"}, [("START", START)]),
        ({"status": "PAUSED"}, [("OTHER", END)]),
    ],
)
def test_process_is_a_run(fields: Json, expected: list[tuple[str, str]]) -> None:
    events, notes = translate({**PROCESS, "runId": "r", **fields}, LegacyFormat.PROCESS)
    assert [(event["eventType"], event["eventTime"]) for event in events] == expected
    assert {event["job"]["name"] for event in events} == {"JOB"}
    assert notes == (["status 'PAUSED' is not a run state: read as OTHER"] if "PAUSED" in fields.values() else [])


def test_run_id_is_derived_from_start_or_time() -> None:
    def run_id(**fields: Any) -> str:
        return str(translate({**PROCESS, **fields}, LegacyFormat.PROCESS)[0][-1]["run"]["runId"])

    assert run_id(startTime=START) == run_id(startTime=START, status="FAILED", time=None) == run_id(time=START)
    assert run_id(time=END) != run_id(time=START)
    assert translate(PROCESS, LegacyFormat.PROCESS)[1] == ["runId is missing: derived from the job and the time"]
    event = translate({**DATASET, "job": "BOX/JOB", "startTime": START}, LegacyFormat.DATASET)[0][-1]
    assert event["run"]["runId"] == run_id(startTime=START)


@pytest.mark.parametrize(
    ("fields", "time"), [({}, NOW), ({"submitted_at": END}, END), ({"submittedAt": "2025-09-08T07:30"}, END)]
)
def test_request_stays_in_its_facet(fields: Json, time: str) -> None:
    (event,), _ = translate(
        {**REQUEST, "description": "d", "schema": [], "_deleted": True, **fields}, LegacyFormat.REQUEST
    )
    assert (kinds([event]), event["eventTime"]) == (["DatasetEvent"], time)
    request = {"submittedBy": "ann", "submittedAt": time, "status": "PENDING", "description": "d", "schema": []}
    assert content(event["dataset"]["facets"]) == {"lineageBridge_registration": request}


@pytest.mark.parametrize(
    ("body_format", "body", "message"),
    [
        (LegacyFormat.DATASET, {**DATASET, "time": None}, "time: is missing"),
        (LegacyFormat.DATASET, {**DATASET, "version": ""}, "version: is missing"),
        (LegacyFormat.DATASET, {**DATASET, "version": [1]}, "version: must be a string"),
        (LegacyFormat.DATASET, {**DATASET, "run": "r"}, "job: is missing: a run requires a job"),
        (LegacyFormat.DATASET, {**DATASET, "job": {"namespace": "cron"}}, "job.name: is missing"),
        (LegacyFormat.DATASET, {**DATASET, "job": ["x"]}, "job: must be a string"),
        (LegacyFormat.PROCESS, {**PROCESS, "time": None}, "time: is missing"),
        (LegacyFormat.PROCESS, {**PROCESS, "time": "soon"}, "time: not a time: 'soon'"),
        (LegacyFormat.PROCESS, {**PROCESS, "status": None}, "status: is missing"),
        (LegacyFormat.REQUEST, {"name": "s3://b/out"}, "submitted_by: is missing"),
        (LegacyFormat.REQUEST, {**REQUEST, "submitted_at": "soon"}, "submitted_at: not a time: 'soon'"),
        (LegacyFormat.REQUEST, {**REQUEST, "status": "APPROVED"}, "status: must be PENDING in a request"),
        (LegacyFormat.REQUEST, {**REQUEST, "reviewer": "bob"}, "reviewer: belongs to the review, not to the request"),
    ],
)
def test_invalid_bodies_are_rejected_with_the_field(body_format: LegacyFormat, body: Json, message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        translate(body, body_format)
    assert str(raised.value) == message
