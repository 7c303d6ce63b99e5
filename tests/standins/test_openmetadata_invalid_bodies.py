"""Detection of accepted bodies that the models of OpenMetadata reject."""

import pytest

from tests.standins.client import patch, put, running_standin, table

TASKLESS = {"timestamp": 1, "executionStatus": "Successful", "taskStatus": []}
DEFINITION = {"name": "def", "entityType": "TABLE", "testPlatforms": ["Other"]}
CASE = {"name": "c", "testDefinition": "def", "entityLink": "<#E::table::svc.d.s.t>"}
RESULTS = "/dataQuality/testCases/testCaseResults"
RESULT = {"timestamp": 1, "testCaseStatus": "Success", "testResultValue": []}


def reject_red(collection, body):
    """Reject bodies that contain "red"."""
    return f"{collection} is red" if "red" in str(body) else None


@pytest.fixture
def checked_standin():
    with running_standin() as (standin, client):
        standin.app.check = reject_red
        standin.invalid_bodies.clear()
        yield standin, client


@pytest.mark.parametrize(
    ("method", "path", "body", "collections"),
    [
        ("PUT", "/tables", table("red"), ["tables"]),
        ("POST", "/tables", table("red"), ["tables"]),
        ("PUT", "/tables", table("blue"), []),
        ("PUT", "/tables", {**table("red"), "unknown": 1}, []),
        ("PUT", "/services/databaseServices", {"name": "red", "serviceType": "Dbt"}, ["services/databaseServices"]),
        ("PUT", "/tables/bulk", [table("red"), table("blue"), table("red 2")], ["tables", "tables"]),
        ("PUT", "/tables/bulk", [table("red", databaseSchema="svc.d.no"), table("red 2"), None], ["tables"]),
        ("PUT", "/pipelines/svc.p/status", {**TASKLESS, "version": "red"}, ["pipelineStatus"]),
        ("PUT", "/pipelines/svc.p/status/bulk", [TASKLESS, {**TASKLESS, "timestamp": 2, "version": "red"}], ["pipelineStatus"]),
        ("PUT", "/pipelines/svc.p/status/bulk", [], []),
        ("PUT", "/dataQuality/testDefinitions", {**DEFINITION, "description": "red"}, ["dataQuality/testDefinitions"]),
        ("PUT", "/dataQuality/testCases", {**CASE, "name": "red"}, ["dataQuality/testCases"]),
        ("POST", f"{RESULTS}/svc.d.s.t.c", {**RESULT, "result": "red"}, ["testCaseResult"]),
        ("POST", f"{RESULTS}/svc.d.s.t.no", {**RESULT, "result": "red"}, []),
        ("PUT", "/tables/{table}/tableProfile", {"tableProfile": {"timestamp": 1}, "columnProfile": [{"name": "red", "timestamp": 1}]}, ["tableProfile"]),
    ],
)  # fmt: skip
def test_accepted_bodies_are_checked(checked_standin, method, path, body, collections):
    standin, client = checked_standin
    put(client, "/pipelines", name="p", service="svc")
    created = put(client, "/tables", **table("t", {"name": "red", "dataType": "INT"}))
    put(client, "/dataQuality/testDefinitions", **DEFINITION)
    put(client, "/dataQuality/testCases", **CASE)
    standin.invalid_bodies.clear()
    client.request(method, path.format(table=created["id"]), json=body)
    assert [invalid.collection for invalid in standin.invalid_bodies] == collections


def test_edges_are_checked_and_patches_are_not(checked_standin):
    standin, client = checked_standin
    ids = [put(client, "/tables", **table(name))["id"] for name in ("a", "b")]
    endpoints = {
        side: {"id": id_, "type": "table"} for side, id_ in zip(("fromEntity", "toEntity"), ids, strict=True)
    }
    patch(client, f"/tables/{ids[0]}", {"op": "add", "path": "/description", "value": "red"})
    assert (
        client.put("/lineage", json={"edge": {**endpoints, "lineageDetails": {"sqlQuery": "red"}}}).status_code == 200
    )
    assert [invalid.collection for invalid in standin.invalid_bodies] == ["lineage"]


@pytest.mark.system("openmetadata-ingestion")
def test_standins_check_bodies_by_default():
    with running_standin() as (standin, client):
        put(client, "/tables", name="t", databaseSchema="svc.d.s")
        assert [(invalid.reason, invalid.body["name"]) for invalid in standin.invalid_bodies] == [
            ("columns: Field required", "t")
        ]
