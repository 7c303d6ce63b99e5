"""What the recorded exchanges leave out of test cases, their results, and profiles."""

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


def result(at, status="Success"):
    return {"timestamp": at, "testCaseStatus": status, "testResultValue": []}


@pytest.fixture
def tested(standin):
    """Give the stand-in, its client, and the id of a table with one test case."""
    server, client = standin
    made = put(client, "/tables", **table("t", *COLUMNS))
    put(client, DEFINITIONS, **DEFINITION)
    put(client, CASES, **CASE)
    return server, client, made["id"]


def said(answer):
    return answer.status_code, answer.json().get("message")


def test_a_table_takes_its_cases_and_results_with_it_and_brings_them_back(tested):
    server, client, id_ = tested
    client.post(RESULTS, json=result(1))
    assert said(client.delete(f"/tables/{id_}")) == (400, "table is not empty")
    client.delete(f"/tables/{id_}?recursive=true")
    gone = (404, "table instance for svc.d.s.t not found")
    assert said(client.get(f"{CASES}/name/svc.d.s.t.c")) == (404, "testCase instance for svc.d.s.t.c not found")
    assert said(client.get(RESULTS)) == said(client.post(RESULTS, json=result(2))) == gone
    assert said(client.get(CASES, params={"entityLink": CASE["entityLink"]})) == gone
    put(client, "/tables", **table("t", *COLUMNS))
    assert client.get(f"{CASES}/name/svc.d.s.t.c").json()["version"] == 0.4
    assert client.get(RESULTS).json()["paging"] == {"total": 1}
    client.delete(f"/tables/{id_}?recursive=true&hardDelete=true")
    state = server.state()
    assert (state["cases"], state["results"]) == ({}, {})
    assert said(client.get(RESULTS)) == (404, "Entity not found: testCase svc.d.s.t.c")


@pytest.mark.parametrize(("status", "expected"), [("Failed", 500), ("Aborted", 201)])
def test_an_open_incident_outlives_the_table(tested, status, expected):
    _, client, id_ = tested
    client.post(RESULTS, json=result(1, status))
    client.delete(f"/tables/{id_}?recursive=true&hardDelete=true")
    put(client, "/tables", **table("t", *COLUMNS))
    put(client, CASES, **CASE)
    assert client.post(RESULTS, json=result(2)).status_code == expected


def test_results_are_told_apart_by_their_timestamps(tested):
    server, client, _ = tested
    assert [client.post(RESULTS, json=result(at)).status_code for at in (5, 1, 5)] == [201, 201, 409]
    assert [row["timestamp"] for row in client.get(RESULTS).json()["data"]] == [5, 1]
    assert client.get(RESULTS, params={"startTs": 2, "endTs": 9}).json()["paging"] == {"total": 1}
    assert [row["timestamp"] for row in server.state()["results"]["svc.d.s.t.c"]] == [1, 5]
    assert client.delete(f"{RESULTS}/1").status_code == 200
    assert said(client.delete(f"{RESULTS}/1")) == (404, "Failed to find testCase result for c at 1")
    assert client.delete(f"{RESULTS}/yesterday").status_code == 404


def test_a_case_that_changes_gets_a_version_and_a_bot_keeps_its_description(tested):
    server, client, _ = tested
    changed = client.put(CASES, json={**CASE, "description": "by the bot"})
    assert changed.headers["X-OpenMetadata-Change"] == "entityUpdated"
    assert client.put(CASES, json={**CASE, "description": "other"}).json()["description"] == "by the bot"
    with make_client(server, server.admin_token) as person:
        assert person.put(CASES, json={**CASE, "description": "by a person"}).json()["version"] == 0.3
    assert server.state()["cases"]["svc.d.s.t.c"]["description"] == "by a person"


def test_a_definition_that_changes_gets_a_version(tested):
    _, client, _ = tested
    assert put(client, DEFINITIONS, **DEFINITION, dataQualityDimension="Validity")["version"] == 0.2
    read = client.get(f"{DEFINITIONS}/name/def").json()
    assert (read["version"], read["dataQualityDimension"]) == (0.2, "Validity")
    assert said(client.get(f"{DEFINITIONS}/name/no")) == (404, "testDefinition instance for no not found")


def test_parameters_are_checked_unless_great_expectations_runs_the_test(tested):
    _, client, _ = tested
    needed = [{"name": "min", "dataType": "INT", "required": True}]
    put(client, DEFINITIONS, **{**DEFINITION, "name": "strict"}, parameterDefinition=needed)
    loose = {**DEFINITION, "name": "loose", "testPlatforms": ["GreatExpectations"]}
    put(client, DEFINITIONS, **loose, parameterDefinition=needed)
    other = {"name": "x", "parameterValues": [{"name": "max", "value": "1"}]}
    refused = client.put(CASES, json={**CASE, "testDefinition": "strict", "name": "x"})
    assert said(refused) == (400, "Required parameter min is not passed in parameterValues")
    assert client.put(CASES, json={**CASE, **other, "testDefinition": "strict"}).status_code == 400
    assert client.put(CASES, json={**CASE, **other, "testDefinition": "loose"}).status_code == 201


def test_cases_are_listed_by_what_they_test_page_by_page(tested):
    _, client, _ = tested
    put(client, CASES, **{**CASE, "name": "a", "entityLink": "<#E::table::svc.d.s.t::columns::a.b>"})
    about = {"entityLink": CASE["entityLink"]}
    assert [one["name"] for one in client.get(CASES, params=about).json()["data"]] == ["c"]
    every = {**about, "includeAllTests": "true", "limit": 1}
    first = client.get(CASES, params=every).json()
    second = client.get(CASES, params={**every, "after": first["paging"]["after"]}).json()
    assert [page["data"][0]["name"] for page in (first, second)] == ["a", "c"]
    assert said(client.get(f"{CASES}?fields=colour")) == (400, "Invalid field name colour")
    assert set(client.get(f"{CASES}?fields=*").json()["data"][0]) >= {"owners", "testSuite", "testDefinition"}
    unknown = {"entityLink": "<#E::planet::earth>"}
    assert client.put(CASES, json={**CASE, **unknown}).status_code == 404


def test_profiles_are_kept_in_the_order_of_arrival_and_go_with_the_table(tested):
    server, client, id_ = tested
    column = {"name": "a.b", "timestamp": 7, "nullCount": 1}
    put(client, f"/tables/{id_}/tableProfile", tableProfile={"timestamp": 7}, columnProfile=[column])
    put(client, f"/tables/{id_}/tableProfile", tableProfile={"timestamp": 7, "rowCount": 2})
    kept = server.state()["profiles"]["svc.d.s.t"]
    assert [row.get("rowCount") for row in kept["table"]] == [None, 2]
    assert (kept["column"], kept["system"]) == ({"a.b": [{**column, "nullCount": 1.0}]}, [])
    assert client.get('/tables/svc.d.s.t."a.b"/columnProfile', params=RANGE).json()["paging"]["total"] == 1
    assert client.get("/tables/svc.d.s.t.id/columnProfile", params=RANGE).json()["data"] == []
    assert client.get("/tables/svc.d.s.no.id/columnProfile", params=RANGE).status_code == 404
    assert client.get("/tables/svc.d.s.t/systemProfile").status_code == 400
    short = client.get("/tables/svc.d.s.t/tableProfile/latest?includeColumnProfile=false").json()
    assert (short["profile"]["timestamp"], [one.get("profile") for one in short["columns"]]) == (7, [None, None])
    client.delete(f"/tables/{id_}?recursive=true")
    assert client.put(f"/tables/{id_}/tableProfile", json={"tableProfile": {"timestamp": 8}}).status_code == 404
    assert client.get("/tables/svc.d.s.t/tableProfile/latest").status_code == 404
    client.delete(f"/tables/{id_}?recursive=true&hardDelete=true")
    assert server.state()["profiles"] == {}


def test_faults_meet_the_calls_about_quality_too(tested):
    server, client, id_ = tested
    server.faults.next(reset(applied=True), method="POST", path="testCaseResults")
    with pytest.raises(httpx.HTTPError):
        client.post(RESULTS, json=result(1))
    assert client.post(RESULTS, json=result(1)).status_code == 409
    server.faults.next(error(503), path="tableProfile")
    body = {"tableProfile": {"timestamp": 1}}
    statuses = [client.put(f"/tables/{id_}/tableProfile", json=body).status_code for _ in range(2)]
    assert statuses == [503, 200]
    assert server.calls()["PUT", "/api/v1/tables/{id}/tableProfile"] == 1
