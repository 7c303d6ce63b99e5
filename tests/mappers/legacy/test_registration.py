"""Registrations of versions, runs and requests: legacy in, OpenLineage out."""

from typing import Any

import pytest

from mappers.errors import InvalidInput
from mappers.legacy.formats import LegacyFormat
from tests.factories import Json
from tests.mappers.legacy.test_run_event import END, NOW, START, content, translated

DATASET = {"name": "s3://b/out", "version": "7", "time": END}
PROCESS = {"name": "BOX/JOB", "status": "SUCCESS", "time": END}
REQUEST = {"name": "s3://b/out", "submitted_by": "ann"}


def kinds(events: list[Json]) -> list[str]:
    return [event["schemaURL"].rpartition("/")[2] for event in events]


def test_a_version_by_itself_is_a_dataset_event() -> None:
    (event,), notes = translated(
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
def test_a_version_that_is_not_there_is_none(status: str) -> None:
    (event,), notes = translated({**DATASET, "status": status}, LegacyFormat.DATASET)
    assert content(event["dataset"]["facets"]) == {"attemptedVersion": {"value": "7"}, "status": {"value": status}}
    assert notes == [f"status {status!r}: the version does not exist, only its name is stored"]


@pytest.mark.parametrize(
    ("told", "job"),
    [
        ({"job": "BOX/JOB"}, ("autosys://PRD", "JOB")),
        ({"job": {"name": "BOX/JOB"}}, ("autosys://PRD", "JOB")),
        ({"job": {"namespace": "cron", "name": "a/b"}}, ("cron", "a/b")),
    ],
)
@pytest.mark.parametrize(
    "run", [{"run": "r"}, {"run": {"runId": "r"}}, {"runId": "r"}], ids=["text", "object", "beside"]
)
def test_a_version_with_a_job_is_the_output_of_its_run(told: Json, job: tuple[str, str], run: Json) -> None:
    events, notes = translated({**DATASET, "startTime": START, "status": "FA", **told, **run}, LegacyFormat.DATASET)
    assert kinds(events) == ["RunEvent", "RunEvent"]
    assert [(event["eventType"], event["eventTime"]) for event in events] == [("START", START), ("FAIL", END)]
    assert {(event["job"]["namespace"], event["job"]["name"], event["run"]["runId"]) for event in events} == {
        (*job, "r")
    }
    (output,) = events[1]["outputs"]
    assert content(output["facets"]) == {"version": {"datasetVersion": "7"}}
    assert notes == []


@pytest.mark.parametrize(
    ("told", "expected"),
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
def test_a_process_is_a_run(told: Json, expected: list[tuple[str, str]]) -> None:
    events, notes = translated({**PROCESS, "runId": "r", **told}, LegacyFormat.PROCESS)
    assert [(event["eventType"], event["eventTime"]) for event in events] == expected
    assert {event["job"]["name"] for event in events} == {"JOB"}
    assert notes == (["status 'PAUSED' is not a run state: read as OTHER"] if "PAUSED" in told.values() else [])


def test_a_run_without_an_id_is_named_by_its_start_else_by_its_time() -> None:
    def run_id(**told: Any) -> str:
        return str(translated({**PROCESS, **told}, LegacyFormat.PROCESS)[0][-1]["run"]["runId"])

    assert run_id(startTime=START) == run_id(startTime=START, status="FAILED", time=None) == run_id(time=START)
    assert run_id(time=END) != run_id(time=START)
    assert translated(PROCESS, LegacyFormat.PROCESS)[1] == ["runId is missing: derived from the job and the time"]
    made = translated({**DATASET, "job": "BOX/JOB", "startTime": START}, LegacyFormat.DATASET)[0][-1]
    assert made["run"]["runId"] == run_id(startTime=START)


@pytest.mark.parametrize(
    ("told", "at"), [({}, NOW), ({"submitted_at": END}, END), ({"submittedAt": "2025-09-08T07:30"}, END)]
)
def test_a_request_stays_inside_its_facet(told: Json, at: str) -> None:
    (event,), _ = translated(
        {**REQUEST, "description": "d", "schema": [], "_deleted": True, **told}, LegacyFormat.REQUEST
    )
    assert (kinds([event]), event["eventTime"]) == (["DatasetEvent"], at)
    asked = {"submittedBy": "ann", "submittedAt": at, "status": "PENDING", "description": "d", "schema": []}
    assert content(event["dataset"]["facets"]) == {"lineageBridge_registration": asked}


@pytest.mark.parametrize(
    ("contract", "body", "refusal"),
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
        (LegacyFormat.REQUEST, {**REQUEST, "status": "APPROVED"}, "status: a request is PENDING"),
        (LegacyFormat.REQUEST, {**REQUEST, "reviewer": "bob"}, "reviewer: belongs to the review, not to the request"),
    ],
)
def test_what_is_missing_or_wrong_is_named(contract: LegacyFormat, body: Json, refusal: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        translated(body, contract)
    assert str(raised.value) == refusal
