"""What the stand-in takes and the models refuse is told."""

import pytest

from tests.standins.client import patch, put, running_standin, table

TASKLESS = {"timestamp": 1, "executionStatus": "Successful", "taskStatus": []}
DEFINITION = {"name": "def", "entityType": "TABLE", "testPlatforms": ["Other"]}
CASE = {"name": "c", "testDefinition": "def", "entityLink": "<#E::table::svc.d.s.t>"}
RESULTS = "/dataQuality/testCases/testCaseResults"
RESULT = {"timestamp": 1, "testCaseStatus": "Success", "testResultValue": []}


def red(collection, body):
    """Refuse whatever has something red in it."""
    return f"{collection} is red" if "red" in str(body) else None


@pytest.fixture
def both():
    with running_standin() as (standin, client):
        standin.app.check = red
        standin.invalid_bodies.clear()
        yield standin, client


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
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
def test_bodies_that_were_taken_are_checked(both, method, path, body, told):
    standin, client = both
    put(client, "/pipelines", name="p", service="svc")
    made = put(client, "/tables", **table("t", {"name": "red", "dataType": "INT"}))
    put(client, "/dataQuality/testDefinitions", **DEFINITION)
    put(client, "/dataQuality/testCases", **CASE)
    standin.invalid_bodies.clear()
    client.request(method, path.format(table=made["id"]), json=body)
    assert [one.collection for one in standin.invalid_bodies] == told


def test_edges_are_checked_and_patches_are_not(both):
    standin, client = both
    ids = [put(client, "/tables", **table(name))["id"] for name in ("a", "b")]
    ends = {side: {"id": id_, "type": "table"} for side, id_ in zip(("fromEntity", "toEntity"), ids, strict=True)}
    patch(client, f"/tables/{ids[0]}", {"op": "add", "path": "/description", "value": "red"})
    assert client.put("/lineage", json={"edge": {**ends, "lineageDetails": {"sqlQuery": "red"}}}).status_code == 200
    assert [one.collection for one in standin.invalid_bodies] == ["lineage"]


@pytest.mark.system("openmetadata-ingestion")
def test_every_stand_in_of_these_tests_checks_by_the_models():
    with running_standin() as (standin, client):
        put(client, "/tables", name="t", databaseSchema="svc.d.s")
        assert [(one.reason, one.body["name"]) for one in standin.invalid_bodies] == [
            ("columns: Field required", "t")
        ]
