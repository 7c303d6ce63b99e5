"""Events, where no recorded exchange says it."""

import json

import pytest

from tests.standins.client import make_client, patch, put, table

ALL = {f"entity{word}": "*" for word in ("Created", "Updated", "Restored", "Deleted")}


def events(client, **asked):
    answer = client.get("/events", params={**ALL, "limit": 1000, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def since(standin):
    """Give what a client needs to ask for what comes now; nothing has happened since."""
    server = standin[0]
    server.store.events.rows.clear()
    return standin


def told(client, **asked):
    return [
        (one["eventType"], one["entityType"], one["entityFullyQualifiedName"])
        for one in events(client, **asked)["data"]
    ]


TAG = {"name": "T", "description": "x", "classification": "Tier"}
STATUS = {"timestamp": 1, "executionStatus": "Successful", "taskStatus": []}
PROPERTY = {"name": "score", "description": "x"}


def define(client):
    field = client.get("/metadata/types/name/integer").json()["id"]
    of = client.get("/metadata/types/name/table").json()["id"]
    client.put(f"/metadata/types/{of}", json={**PROPERTY, "propertyType": {"id": field, "type": "type"}})


@pytest.mark.parametrize(
    ("change", "seen"),
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
def test_each_change_is_one_event(since, change, seen):
    change(since[1])
    assert told(since[1]) == seen


def test_statuses_are_events_and_edges_are_not(since):
    client = since[1]
    put(client, "/pipelines", name="p", service="svc")
    for name in "ab":
        put(client, "/tables", **table(name))
    edge = "/lineage/table/name/svc.d.s.a/table/name/svc.d.s.b"
    assert client.put(edge, json={}).status_code == 200
    assert client.put("/pipelines/svc.p/status", json=STATUS).status_code == 200
    assert client.put("/pipelines/svc.p/status/bulk", json=[{**STATUS, "timestamp": 2}]).status_code == 200
    assert client.delete(edge).status_code == 200
    assert told(client, entityCreated="") == [("entityUpdated", "pipeline", "svc.p")] * 2


def test_an_event_says_who_did_what(since):
    server, client = since
    made = put(client, "/tables", **table("t"))
    with make_client(server, server.admin_token) as admin:
        patch(admin, f"/tables/{made['id']}", {"op": "add", "path": "/description", "value": "by hand"})
    created, changed = events(client)["data"]
    assert [created["userName"], changed["userName"]] == ["ingestion-bot", "admin"]
    assert "changeDescription" not in created
    assert changed["changeDescription"]["fieldsAdded"] == [{"name": "description", "newValue": "by hand"}]
    assert (created["currentVersion"], changed["currentVersion"]) == (0.1, 0.2)
    assert changed["id"] != created["id"]
    assert json.loads(changed["entity"])["description"] == "by hand"


def test_people_have_tokens_of_their_own(since):
    server, client = since
    with make_client(server, server.add_person("ann")) as ann:
        put(ann, "/domains", name="D", description="x", domainType="Aggregate")
        assert ann.get("/users/loggedInUser").json()["name"] == "ann"
    assert [one["userName"] for one in events(client)["data"]] == ["ann"]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 1000])
def test_pages_leave_nothing_out_and_show_nothing_twice(since, limit):
    client = since[1]
    for number in range(5):
        put(client, "/tables", **table(f"t{number}"))
        put(client, "/tags", **{**TAG, "name": f"t{number}"})
    seen, after = [], {}
    while True:
        page = events(client, entityCreated="table", limit=limit, **after)
        seen += [one["entityFullyQualifiedName"] for one in page["data"]]
        assert page["paging"]["total"] == len(page["data"])
        if "after" not in page["paging"]:
            break
        after = {"after": page["paging"]["after"]}
    assert seen == [f"svc.d.s.t{number}" for number in range(5)]


def test_events_of_a_time(since):
    server, client = since
    server.store.clock = iter(range(1000, 10_000)).__next__
    for number in range(5):
        put(client, "/tables", **table(f"t{number}"))
    moments = [one["timestamp"] for one in events(client)["data"]]
    assert moments == sorted(moments)
    for start in range(5):
        for end in range(start, 5):
            found = events(client, timestamp=moments[start], endTs=moments[end])["data"]
            assert [one["timestamp"] for one in found] == moments[start : end + 1]


@pytest.mark.parametrize(
    ("asked", "status"),
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
def test_what_can_be_asked(since, asked, status):
    assert since[1].get("/events", params={**ALL, **asked}).status_code == status
