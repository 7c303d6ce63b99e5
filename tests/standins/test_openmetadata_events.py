"""Behaviour of events that is not recorded."""

import json

import pytest

from tests.standins.client import make_client, patch, put, table

ALL = {f"entity{change}": "*" for change in ("Created", "Updated", "Restored", "Deleted")}


def events(client, **parameters):
    response = client.get("/events", params={**ALL, "limit": 1000, **parameters})
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture
def fresh_log(standin):
    """A stand-in with an empty event log, and its client."""
    server = standin[0]
    server.store.events.rows.clear()
    return standin


def event_summaries(client, **parameters):
    return [
        (event["eventType"], event["entityType"], event["entityFullyQualifiedName"])
        for event in events(client, **parameters)["data"]
    ]


TAG = {"name": "T", "description": "x", "classification": "Tier"}
STATUS = {"timestamp": 1, "executionStatus": "Successful", "taskStatus": []}
PROPERTY = {"name": "score", "description": "x"}


def define(client):
    field = client.get("/metadata/types/name/integer").json()["id"]
    table_type = client.get("/metadata/types/name/table").json()["id"]
    client.put(f"/metadata/types/{table_type}", json={**PROPERTY, "propertyType": {"id": field, "type": "type"}})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: put(c, "/tags", **TAG), [("entityCreated", "tag", "Tier.T")]),
        (lambda c: c.post("/tags", json=TAG), [("entityCreated", "tag", "Tier.T")]),
        (lambda c: c.delete("/tags/name/PII.None"), [("entitySoftDeleted", "tag", "PII.None")]),
        (lambda c: c.delete("/tags/name/PII.None?hardDelete=true"), [("entityDeleted", "tag", "PII.None")]),
        (lambda c: put(c, "/databases", name="d", service="svc"), []),
        (lambda c: put(c, "/databases", name="d", service="svc", description="x"),
         [("entityUpdated", "database", "svc.d")]),
        (lambda c: c.put("/databases/bulk", json=[{"name": "e", "service": "svc"}, {"name": "d", "service": "svc"}]),
         [("entityCreated", "database", "svc.e")]),
        (lambda c: c.delete("/databases/name/svc.d?recursive=true"), [("entitySoftDeleted", "database", "svc.d")]),
        (lambda c: c.delete("/databases/name/svc.d"), []),
        (define, [("entityUpdated", "type", "table")]),
    ],
)  # fmt: skip
def test_each_change_creates_one_event(fresh_log, change, expected):
    change(fresh_log[1])
    assert event_summaries(fresh_log[1]) == expected


def test_statuses_create_events_and_edges_do_not(fresh_log):
    client = fresh_log[1]
    put(client, "/pipelines", name="p", service="svc")
    for name in "ab":
        put(client, "/tables", **table(name))
    edge = "/lineage/table/name/svc.d.s.a/table/name/svc.d.s.b"
    assert client.put(edge, json={}).status_code == 200
    assert client.put("/pipelines/svc.p/status", json=STATUS).status_code == 200
    assert client.put("/pipelines/svc.p/status/bulk", json=[{**STATUS, "timestamp": 2}]).status_code == 200
    assert client.delete(edge).status_code == 200
    assert event_summaries(client, entityCreated="") == [("entityUpdated", "pipeline", "svc.p")] * 2


def test_events_have_user_and_change(fresh_log):
    server, client = fresh_log
    created_table = put(client, "/tables", **table("t"))
    with make_client(server, server.admin_token) as admin:
        patch(admin, f"/tables/{created_table['id']}", {"op": "add", "path": "/description", "value": "by hand"})
    created, changed = events(client)["data"]
    assert [created["userName"], changed["userName"]] == ["ingestion-bot", "admin"]
    assert "changeDescription" not in created
    assert changed["changeDescription"]["fieldsAdded"] == [{"name": "description", "newValue": "by hand"}]
    assert (created["currentVersion"], changed["currentVersion"]) == (0.1, 0.2)
    assert changed["id"] != created["id"]
    assert json.loads(changed["entity"])["description"] == "by hand"


def test_added_person_has_own_token(fresh_log):
    server, client = fresh_log
    with make_client(server, server.add_person("ann")) as ann:
        put(ann, "/domains", name="D", description="x", domainType="Aggregate")
        assert ann.get("/users/loggedInUser").json()["name"] == "ann"
    assert [event["userName"] for event in events(client)["data"]] == ["ann"]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 1000])
def test_pages_are_complete_without_duplicates(fresh_log, limit):
    client = fresh_log[1]
    for number in range(5):
        put(client, "/tables", **table(f"t{number}"))
        put(client, "/tags", **{**TAG, "name": f"t{number}"})
    names, after = [], {}
    while True:
        page = events(client, entityCreated="table", limit=limit, **after)
        names += [event["entityFullyQualifiedName"] for event in page["data"]]
        assert page["paging"]["total"] == len(page["data"])
        if "after" not in page["paging"]:
            break
        after = {"after": page["paging"]["after"]}
    assert names == [f"svc.d.s.t{number}" for number in range(5)]


def test_events_of_time_range(fresh_log):
    server, client = fresh_log
    server.store.clock = iter(range(1000, 10_000)).__next__
    for number in range(5):
        put(client, "/tables", **table(f"t{number}"))
    timestamps = [event["timestamp"] for event in events(client)["data"]]
    assert timestamps == sorted(timestamps)
    for start in range(5):
        for end in range(start, 5):
            found = events(client, timestamp=timestamps[start], endTs=timestamps[end])["data"]
            assert [event["timestamp"] for event in found] == timestamps[start : end + 1]


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({"limit": 0}, 400),
        ({"limit": 1001}, 400),
        ({"limit": "x"}, 404),
        ({"entityUpdated": "nope"}, 400),
        ({"entityUpdated": "table,tag"}, 200),
        ({"after": "abc"}, 400),
        ({"nope": 1}, 200),
    ],
)
def test_query_parameters(fresh_log, parameters, status):
    assert fresh_log[1].get("/events", params={**ALL, **parameters}).status_code == status
