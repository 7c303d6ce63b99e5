"""Behaviour of test cases, results and profiles that is not recorded."""

import httpx
import pytest

from tests.standins.client import make_client, put, table
from tests.standins.openmetadata import error, reset

DEFINITIONS = "/dataQuality/testDefinitions"
CASES = "/dataQuality/testCases"
RESULTS = f"{CASES}/testCaseResults/svc.d.s.t.c"
DEFINITION = {"name": "def", "entityType": "TABLE", "testPlatforms": ["Other"]}
CASE = {"name": "c", "testDefinition": "def", "entityLink": "<#E::table::svc.d.s.t>"}
COLUMNS = ({"name": "id", "dataType": "INT"}, {"name": "a.b", "dataType": "INT"})
RANGE = {"startTs": 0, "endTs": 100}


def result(timestamp, status="Success"):
    return {"timestamp": timestamp, "testCaseStatus": status, "testResultValue": []}


@pytest.fixture
def quality_setup(standin):
    """The stand-in, its client, and the id of a table with one test case."""
    server, client = standin
    created = put(client, "/tables", **table("t", *COLUMNS))
    put(client, DEFINITIONS, **DEFINITION)
    put(client, CASES, **CASE)
    return server, client, created["id"]


def status_and_message(response):
    return response.status_code, response.json().get("message")


def test_cases_and_results_follow_delete_and_restore_of_table(quality_setup):
    server, client, id_ = quality_setup
    client.post(RESULTS, json=result(1))
    assert status_and_message(client.delete(f"/tables/{id_}")) == (400, "table is not empty")
    client.delete(f"/tables/{id_}?recursive=true")
    table_not_found = (404, "table instance for svc.d.s.t not found")
    assert status_and_message(client.get(f"{CASES}/name/svc.d.s.t.c")) == (
        404,
        "testCase instance for svc.d.s.t.c not found",
    )
    assert (
        status_and_message(client.get(RESULTS))
        == status_and_message(client.post(RESULTS, json=result(2)))
        == table_not_found
    )
    assert status_and_message(client.get(CASES, params={"entityLink": CASE["entityLink"]})) == table_not_found
    put(client, "/tables", **table("t", *COLUMNS))
    assert client.get(f"{CASES}/name/svc.d.s.t.c").json()["version"] == 0.4
    assert client.get(RESULTS).json()["paging"] == {"total": 1}
    client.delete(f"/tables/{id_}?recursive=true&hardDelete=true")
    state = server.state()
    assert (state["cases"], state["results"]) == ({}, {})
    assert status_and_message(client.get(RESULTS)) == (404, "Entity not found: testCase svc.d.s.t.c")


@pytest.mark.parametrize(("status", "expected"), [("Failed", 500), ("Aborted", 201)])
def test_open_incident_survives_table(quality_setup, status, expected):
    _, client, id_ = quality_setup
    client.post(RESULTS, json=result(1, status))
    client.delete(f"/tables/{id_}?recursive=true&hardDelete=true")
    put(client, "/tables", **table("t", *COLUMNS))
    put(client, CASES, **CASE)
    assert client.post(RESULTS, json=result(2)).status_code == expected


def test_results_are_identified_by_timestamp(quality_setup):
    server, client, _ = quality_setup
    assert [client.post(RESULTS, json=result(timestamp)).status_code for timestamp in (5, 1, 5)] == [201, 201, 409]
    assert [row["timestamp"] for row in client.get(RESULTS).json()["data"]] == [5, 1]
    assert client.get(RESULTS, params={"startTs": 2, "endTs": 9}).json()["paging"] == {"total": 1}
    assert [row["timestamp"] for row in server.state()["results"]["svc.d.s.t.c"]] == [1, 5]
    assert client.delete(f"{RESULTS}/1").status_code == 200
    assert status_and_message(client.delete(f"{RESULTS}/1")) == (404, "Failed to find testCase result for c at 1")
    assert client.delete(f"{RESULTS}/yesterday").status_code == 404


def test_changed_case_gets_version_and_bot_keeps_description(quality_setup):
    server, client, _ = quality_setup
    changed = client.put(CASES, json={**CASE, "description": "by the bot"})
    assert changed.headers["X-OpenMetadata-Change"] == "entityUpdated"
    assert client.put(CASES, json={**CASE, "description": "other"}).json()["description"] == "by the bot"
    with make_client(server, server.admin_token) as person:
        assert person.put(CASES, json={**CASE, "description": "by a person"}).json()["version"] == 0.3
    assert server.state()["cases"]["svc.d.s.t.c"]["description"] == "by a person"


def test_changed_definition_gets_version(quality_setup):
    _, client, _ = quality_setup
    assert put(client, DEFINITIONS, **DEFINITION, dataQualityDimension="Validity")["version"] == 0.2
    read = client.get(f"{DEFINITIONS}/name/def").json()
    assert (read["version"], read["dataQualityDimension"]) == (0.2, "Validity")
    assert status_and_message(client.get(f"{DEFINITIONS}/name/no")) == (
        404,
        "testDefinition instance for no not found",
    )


def test_parameters_are_checked_except_for_great_expectations(quality_setup):
    _, client, _ = quality_setup
    parameters = [{"name": "min", "dataType": "INT", "required": True}]
    put(client, DEFINITIONS, **{**DEFINITION, "name": "strict"}, parameterDefinition=parameters)
    loose = {**DEFINITION, "name": "loose", "testPlatforms": ["GreatExpectations"]}
    put(client, DEFINITIONS, **loose, parameterDefinition=parameters)
    other = {"name": "x", "parameterValues": [{"name": "max", "value": "1"}]}
    rejected = client.put(CASES, json={**CASE, "testDefinition": "strict", "name": "x"})
    assert status_and_message(rejected) == (400, "Required parameter min is not passed in parameterValues")
    assert client.put(CASES, json={**CASE, **other, "testDefinition": "strict"}).status_code == 400
    assert client.put(CASES, json={**CASE, **other, "testDefinition": "loose"}).status_code == 201


def test_cases_are_listed_by_entity_in_pages(quality_setup):
    _, client, _ = quality_setup
    put(client, CASES, **{**CASE, "name": "a", "entityLink": "<#E::table::svc.d.s.t::columns::a.b>"})
    parameters = {"entityLink": CASE["entityLink"]}
    assert [case["name"] for case in client.get(CASES, params=parameters).json()["data"]] == ["c"]
    all_tests = {**parameters, "includeAllTests": "true", "limit": 1}
    first = client.get(CASES, params=all_tests).json()
    second = client.get(CASES, params={**all_tests, "after": first["paging"]["after"]}).json()
    assert [page["data"][0]["name"] for page in (first, second)] == ["a", "c"]
    assert status_and_message(client.get(f"{CASES}?fields=colour")) == (400, "Invalid field name colour")
    assert set(client.get(f"{CASES}?fields=*").json()["data"][0]) >= {"owners", "testSuite", "testDefinition"}
    unknown = {"entityLink": "<#E::planet::earth>"}
    assert client.put(CASES, json={**CASE, **unknown}).status_code == 404


def test_profiles_keep_order_of_arrival_and_are_deleted_with_table(quality_setup):
    server, client, id_ = quality_setup
    column = {"name": "a.b", "timestamp": 7, "nullCount": 1}
    put(client, f"/tables/{id_}/tableProfile", tableProfile={"timestamp": 7}, columnProfile=[column])
    put(client, f"/tables/{id_}/tableProfile", tableProfile={"timestamp": 7, "rowCount": 2})
    profiles = server.state()["profiles"]["svc.d.s.t"]
    assert [row.get("rowCount") for row in profiles["table"]] == [None, 2]
    assert (profiles["column"], profiles["system"]) == ({"a.b": [{**column, "nullCount": 1.0}]}, [])
    assert client.get('/tables/svc.d.s.t."a.b"/columnProfile', params=RANGE).json()["paging"]["total"] == 1
    assert client.get("/tables/svc.d.s.t.id/columnProfile", params=RANGE).json()["data"] == []
    assert client.get("/tables/svc.d.s.no.id/columnProfile", params=RANGE).status_code == 404
    assert client.get("/tables/svc.d.s.t/systemProfile").status_code == 400
    latest = client.get("/tables/svc.d.s.t/tableProfile/latest?includeColumnProfile=false").json()
    assert (latest["profile"]["timestamp"], [shown.get("profile") for shown in latest["columns"]]) == (
        7,
        [None, None],
    )
    client.delete(f"/tables/{id_}?recursive=true")
    assert client.put(f"/tables/{id_}/tableProfile", json={"tableProfile": {"timestamp": 8}}).status_code == 404
    assert client.get("/tables/svc.d.s.t/tableProfile/latest").status_code == 404
    client.delete(f"/tables/{id_}?recursive=true&hardDelete=true")
    assert server.state()["profiles"] == {}


def test_faults_apply_to_quality_requests(quality_setup):
    server, client, id_ = quality_setup
    server.faults.next(reset(applied=True), method="POST", path="testCaseResults")
    with pytest.raises(httpx.HTTPError):
        client.post(RESULTS, json=result(1))
    assert client.post(RESULTS, json=result(1)).status_code == 409
    server.faults.next(error(503), path="tableProfile")
    body = {"tableProfile": {"timestamp": 1}}
    statuses = [client.put(f"/tables/{id_}/tableProfile", json=body).status_code for _ in range(2)]
    assert statuses == [503, 200]
    assert server.calls()["PUT", "/api/v1/tables/{id}/tableProfile"] == 1
