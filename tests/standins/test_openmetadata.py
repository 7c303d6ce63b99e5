"""Behaviour of OpenMetadata that is not recorded, or that spans several requests."""

import json

import pytest

from tests.standins.client import COLUMN, make_client, patch, put, table
from tests.standins.openmetadata.text import sanitize


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("plain text, (1-2)", "plain text, (1-2)"),
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("array<string>", "array"),
        ("<b>bold", "<b>bold</b>"),
        ('it\'s "x" `y` a@b +1=2', "it&#39;s &#34;x&#34; &#96;y&#96; a&#64;b &#43;1&#61;2"),
        ("{{x}}", "{<!-- -->{x}}"),
        ("<script>alert(1)</script>x", "x"),
        ("\U0001f600\x00", "&#x1f600;"),
    ],
)
def test_description_is_sanitized_once(sent, stored):
    assert sanitize(sent) == stored
    assert sanitize(stored) == stored


@pytest.mark.parametrize(
    ("path", "body", "fqn"),
    [
        ("pipelines", {"name": "p", "service": "svc", "tasks": [{"name": "a.b"}]}, "svc.p"),
        ("containers", {"name": "s3://b/k", "service": "svc"}, "svc.s3://b/k"),
        ("topics", {"name": "o.v1", "service": "svc", "partitions": 1}, 'svc."o.v1"'),
        ("apiCollections", {"name": "c", "service": "svc", "endpointURL": "http://x"}, "svc.c"),
        ("mlmodels", {"name": "m", "service": "svc", "algorithm": "forest", "mlFeatures": [{"name": "f"}]}, "svc.m"),
    ],
)
def test_lifecycle_of_each_kind(standin, path, body, fqn):
    _, client = standin
    created = client.put(f"/{path}", json=body)
    assert (created.status_code, created.json()["fullyQualifiedName"]) == (201, fqn)
    id_ = created.json()["id"]
    assert client.put(f"/{path}", json=body).headers["X-OpenMetadata-Change"] == "entityNoChange"
    assert client.put(f"/{path}", json={**body, "nope": 1}).json()["message"] == "Invalid request format"
    assert client.get(f"/{path}?service=svc").json()["paging"] == {"total": 1}
    patched = patch(client, f"/{path}/{id_}", {"op": "add", "path": "/description", "value": "x"})
    assert (patched.json()["description"], patched.json()["version"]) == ("x", 0.2)
    assert client.delete(f"/{path}/{id_}").headers["X-OpenMetadata-Change"] == "entitySoftDeleted"
    assert client.get(f"/{path}/{id_}").status_code == 404
    assert client.put(f"/{path}/restore", json={"id": id_}).json()["deleted"] is False
    assert client.delete(f"/{path}/{id_}?hardDelete=true").status_code == 200
    assert client.get(f"/{path}/{id_}?include=all").status_code == 404


def test_api_endpoint_belongs_to_collection(standin):
    _, client = standin
    put(client, "/apiCollections", name="c", service="svc", endpointURL="http://x")
    fields = {"schemaType": "JSON", "schemaFields": [{"name": "id", "dataType": "LONG"}]}
    created = put(
        client, "/apiEndpoints", name="GET /o", apiCollection="svc.c", endpointURL="x", responseSchema=fields
    )
    assert created["fullyQualifiedName"] == "svc.c.GET /o"
    assert created["responseSchema"]["schemaFields"][0]["fullyQualifiedName"] == "svc.c.GET /o.id"
    assert (created["service"]["name"], created["serviceType"]) == ("svc", "Rest")
    bulk = client.put("/apiEndpoints/bulk", json=[{"name": "n", "apiCollection": "svc.no", "endpointURL": "x"}])
    assert bulk.json()["failedRequest"][0]["message"] == "Entity not found: apiCollection svc.no"


def test_versions_are_listed_newest_first(standin):
    _, client = standin
    id_ = put(client, "/tables", **table("t"))["id"]
    put(client, "/tables", **table("t", COLUMN, {"name": "b", "dataType": "INT"}))
    put(client, "/tables", **table("t"))
    listed = client.get(f"/tables/{id_}/versions").json()
    assert listed["entityType"] == "table"
    states = [json.loads(text) for text in listed["versions"]]
    assert [(state["version"], len(state["columns"])) for state in states] == [(1.2, 1), (0.2, 2), (0.1, 1)]
    assert len(client.get(f"/tables/{id_}/versions/0.2").json()["columns"]) == 2
    assert client.get(f"/tables/{id_}/versions/9.9").status_code == 404


def test_status_bulk_is_limited_to_1000_rows(standin):
    server, client = standin
    put(client, "/pipelines", name="p", service="svc")
    rows = [{"timestamp": at, "executionStatus": "Successful"} for at in range(1001)]
    assert client.put("/pipelines/svc.p/status/bulk", json=rows).status_code == 400
    assert server.state()["statuses"] == {}
    assert client.put("/pipelines/svc.p/status/bulk", json=rows[:1000]).status_code == 200
    assert len(server.state()["statuses"]["svc.p"]) == 1000
    assert client.get("/pipelines/name/svc.p?fields=pipelineStatus").json()["pipelineStatus"]["timestamp"] == 999


def test_if_match_detects_changes_and_creates_version(standin):
    _, client = standin
    path = f"/tables/{put(client, '/tables', **table('t'))['id']}"
    change = {"op": "add", "path": "/description", "value": "one"}
    assert patch(client, path, change, **{"If-Match": 'W/"0.1"'}).json()["version"] == 0.2
    stale = patch(client, path, {**change, "value": "two"}, **{"If-Match": 'W/"0.1"'})
    assert stale.status_code == 412
    assert patch(client, path, {**change, "value": "two"}).json()["version"] == 0.2
    assert patch(client, path, {**change, "value": "three"}, **{"If-Match": 'W/"0.2"'}).json()["version"] == 0.3


def test_patches_that_cancel_out_restore_previous_version(standin):
    server, client = standin
    owner = server.governance.add("user", "ann")
    path = f"/tables/{put(client, '/tables', **table('t', description='x'))['id']}"
    put(client, "/tables", **table("t", {"name": "b", "dataType": "INT"}))
    add = {"op": "add", "path": "/owners/-", "value": {"id": owner.id, "type": "user"}}
    assert patch(client, path, add).json()["version"] == 1.1
    remove = {"op": "remove", "path": "/owners"}
    assert patch(client, path, remove).json()["version"] == 1.1
    with make_client(server, server.admin_token) as admin:
        assert patch(admin, path, add).json()["version"] == 1.2
        assert patch(admin, path, remove).json()["version"] == 1.1


def test_put_merges_labels_and_replaces_owners(standin):
    server, client = standin
    owners = [server.governance.add("user", name) for name in ("ann", "bob")]
    for name in ("A", "B"):
        server.governance.add_tag("C", name)
    for owner, tag in zip(owners, ("C.A", "C.B"), strict=True):
        row = table("t", owners=[{"id": owner.id, "type": "user"}], tags=[{"tagFQN": tag}])
        assert client.put("/tables/bulk", json=[row]).json()["status"] == "success"
    stored = server.state()["entities"]["table", "svc.d.s.t"]
    assert [label["tagFQN"] for label in stored["tags"]] == ["C.A", "C.B"]
    assert [owner["name"] for owner in stored["owners"]] == ["bob"]


def test_state_has_entities_edges_and_statuses(standin):
    server, client = standin
    ids = [put(client, "/tables", **table(name))["id"] for name in ("a", "b.c")]
    pipeline = put(client, "/pipelines", name="p", service="svc")["id"]
    details = {
        "source": "OpenLineage",
        "pipeline": {"id": pipeline, "type": "pipeline"},
        "columnsLineage": [{"fromColumns": ["svc.d.s.a.id"], "toColumn": 'svc.d.s."b.c".id'}],
    }
    endpoints = {
        side: {"id": id_, "type": "table"} for side, id_ in zip(("fromEntity", "toEntity"), ids, strict=True)
    }
    assert client.put("/lineage", json={"edge": {**endpoints, "lineageDetails": details}}).status_code == 200
    state = server.state()
    edge = state["edges"]["svc.d.s.a", 'svc.d.s."b.c"']
    assert edge["pipeline"]["fullyQualifiedName"] == "svc.p"
    assert edge["columnsLineage"] == details["columnsLineage"]
    state["entities"].clear()
    assert ("table", "svc.d.s.a") in server.state()["entities"]


def test_recursive_hard_delete_removes_children(standin):
    server, client = standin
    put(client, "/tables", **table("t"))
    assert client.delete("/services/databaseServices/name/svc?hardDelete=true").status_code == 400
    assert client.delete("/services/databaseServices/name/svc?hardDelete=true&recursive=true").status_code == 200
    assert not [fqn for kind, fqn in server.state()["entities"] if kind.startswith(("database", "table"))]


def test_cursors_lead_through_all_pages(standin):
    _, client = standin
    client.put("/tables/bulk", json=[table(f"t{number:02}") for number in range(25)])
    names, after = [], {}
    while True:
        page = client.get("/tables", params={"limit": 10, **after}).json()
        names += [entity["name"] for entity in page["data"]]
        if "after" not in page["paging"]:
            break
        after = {"after": page["paging"]["after"]}
    assert names == [f"t{number:02}" for number in range(25)]


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        ({"op": "add", "path": "/description", "value": "x"}, 200),
        ({"op": "add", "path": "description", "value": "x"}, 500),
        ({"op": "add", "path": "/description/x", "value": "x"}, 400),
        ({"op": "nope", "path": "/description"}, 400),
        ({"op": "add", "path": "/tags/-", "value": {"tagFQN": "C.Nope"}}, 404),
        ({"op": "add", "path": "/tags/-", "value": {"source": "Classification"}}, 400),
        ({"op": "add", "path": "/tags/-", "value": {"tagFQN": "C.A", "nope": 1}}, 400),
        ({"op": "add", "path": "/columns/0/dataType", "value": "NOPE"}, 400),
        ({"op": "add", "path": "/columns/7/description", "value": "x"}, 500),
        ({"op": "add", "path": "/nope", "value": "x"}, 400),
        ({"op": "add", "path": "/displayName", "value": "x"}, 403),
        ({"op": "copy", "from": "/name", "path": "/description"}, 200),
        ({"op": "move", "from": "/nope", "path": "/description"}, 400),
    ],
)
def test_patch_is_applied_completely_or_rejected(standin, operation, status):
    server, client = standin
    put(client, "/tables", **table("t"))
    before = server.state()
    response = patch(client, "/tables/name/svc.d.s.t", operation)
    assert (response.status_code, response.status_code != 200 and before != server.state()) == (status, False), (
        response.text
    )


@pytest.mark.parametrize(
    "path",
    [
        "/tables?limit=abc",
        "/lineage/table/name/svc.d.s.t?upstreamDepth=x",
        "/pipelines/svc.p/status?startTs=a&endTs=b",
        "/tables/abc",
    ],
)
def test_text_in_place_of_number_returns_404(standin, path):
    _, client = standin
    response = client.get(path)
    assert (response.status_code, response.json()["message"]) == (404, "HTTP 404 Not Found")
