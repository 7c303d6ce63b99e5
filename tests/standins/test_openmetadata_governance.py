"""Behaviour of governance entities that is not recorded."""

import pytest

from tests.standins.client import make_client, patch, put, table

DESCRIPTION = "made"


def minimal_bodies():
    """Minimal create requests by collection."""
    return {
        "classifications": {"name": "C", "description": DESCRIPTION},
        "tags": {"name": "T", "description": DESCRIPTION, "classification": "Tier"},
        "glossaries": {"name": "G", "description": DESCRIPTION},
        "domains": {"name": "D", "description": DESCRIPTION, "domainType": "Aggregate"},
        "teams": {"name": "team", "teamType": "Group"},
        "users": {"name": "ann", "email": "ann@example.com"},
        "roles": {"name": "R", "policies": ["DataConsumerPolicy"]},
        "policies": {
            "name": "P",
            "rules": [{"name": "r", "effect": "allow", "resources": ["All"], "operations": ["All"]}],
        },
    }


@pytest.mark.parametrize("collection", minimal_bodies())
def test_lifecycle_of_each_collection(standin, collection):
    client = standin[1]
    body = minimal_bodies()[collection]
    created = client.post(f"/{collection}", json=body)
    assert (created.status_code, created.headers["Location"].rpartition("/")[2]) == (201, created.json()["id"])
    assert client.post(f"/{collection}", json=body).status_code == 409
    repeated = client.put(f"/{collection}", json=body)
    assert (repeated.status_code, repeated.headers["X-OpenMetadata-Change"]) == (200, "entityNoChange")
    name = created.json()["fullyQualifiedName"]
    assert client.get(f"/{collection}/name/{name}").json()["id"] == created.json()["id"]
    listed = client.get(f"/{collection}", params={"limit": 1000}).json()
    assert name in {entity["fullyQualifiedName"] for entity in listed["data"]}
    assert listed["paging"]["total"] == len(listed["data"])
    assert client.delete(f"/{collection}/{created.json()['id']}").status_code == 200
    assert client.get(f"/{collection}/name/{name}").status_code == 404


@pytest.mark.parametrize("collection", minimal_bodies())
def test_rejects_unknown_properties(standin, collection):
    assert standin[1].put(f"/{collection}", json={**minimal_bodies()[collection], "nope": 1}).status_code == 400


@pytest.mark.parametrize(
    ("collection", "changed", "status"),
    [
        ("tags", {"description": None}, 400),
        ("tags", {"classification": "Nope"}, 404),
        ("tags", {"classification": None}, 500),
        ("tags", {"name": "a::b"}, 400),
        ("domains", {"domainType": "Nope"}, 400),
        ("teams", {"teamType": None}, 400),
        ("teams", {"parents": ["00000000-0000-0000-0000-000000000000"]}, 404),
        ("users", {"email": "nobody"}, 400),
        ("roles", {"policies": ["Nope"]}, 404),
        ("policies", {"rules": []}, 400),
        ("policies", {"rules": [{"name": "r", "effect": "allow", "resources": ["All"]}]}, 400),
    ],
)
def test_rejects_invalid_values(standin, collection, changed, status):
    body = {key: value for key, value in {**minimal_bodies()[collection], **changed}.items() if value is not None}
    assert standin[1].put(f"/{collection}", json=body).status_code == status


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("isOwner()", 201),
        ("matchAnyTag('nope(x)') || !hasDomain()", 201),
        ("nope()", 400),
        ("isOwner() && T(x)", 400),
    ],
)
def test_policy_conditions_may_call_known_functions_only(standin, condition, status):
    rule = {**minimal_bodies()["policies"]["rules"][0], "condition": condition}
    assert standin[1].post("/policies", json={"name": "P", "rules": [rule]}).status_code == status


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        (["ViewBasic", "ViewAll", "Delete"], ["Delete", "ViewAll"]),
        (["EditTags", "EditAll", "Create"], ["Create", "EditAll"]),
        (["All", "Create"], ["All"]),
    ],
)
def test_redundant_operations_are_removed(standin, operations, expected):
    rule = {**minimal_bodies()["policies"]["rules"][0], "operations": operations}
    created = standin[1].post("/policies", json={"name": "P", "rules": [rule]}).json()
    assert created["rules"][0]["operations"] == expected


def test_glossary_terms_are_nested(standin):
    client = standin[1]
    put(client, "/glossaries", **minimal_bodies()["glossaries"])
    for name, attributes in {"A": {}, "B": {"parent": "G.A"}, "C": {"parent": "G.A.B"}}.items():
        put(client, "/glossaryTerms", name=name, description=DESCRIPTION, glossary="G", **attributes)
    found = client.get("/glossaryTerms/name/G.A.B.C").json()
    assert (found["glossary"]["name"], found["parent"]["fullyQualifiedName"]) == ("G", "G.A.B")
    assert client.delete(f"/glossaries/{found['glossary']['id']}").status_code == 400
    assert client.delete(f"/glossaries/{found['glossary']['id']}", params={"recursive": "true"}).status_code == 200
    assert client.get("/glossaryTerms/name/G.A.B.C").status_code == 404


def put_labelled_table(client, *labels, column_labels=()):
    columns = [{"name": "id", "dataType": "BIGINT", "tags": [{"tagFQN": label} for label in column_labels]}]
    return put(client, "/tables", **table("t", *columns, tags=[{"tagFQN": label} for label in labels]))


def read_labels(client):
    found = client.get("/tables/name/svc.d.s.t?fields=tags,columns").json()
    return [label["tagFQN"] for label in (*found["tags"], *found["columns"][0]["tags"])]


@pytest.mark.parametrize(("hard", "after"), [("false", ["PII.None", "PII.None"]), ("true", [])])
def test_labels_follow_soft_delete_and_restore_of_tag(standin, hard, after):
    client = standin[1]
    put_labelled_table(client, "PII.None", column_labels=["PII.None"])
    assert read_labels(client) == ["PII.None", "PII.None"]
    assert client.delete("/tags/name/PII.None", params={"hardDelete": hard}).status_code == 200
    assert read_labels(client) == []
    put(client, "/tags", name="None", description=DESCRIPTION, classification="PII")
    assert read_labels(client) == after


@pytest.mark.parametrize(("exclusive", "status"), [(True, 400), (False, 200)])
def test_mutually_exclusive_tags(standin, exclusive, status):
    client = standin[1]
    put(client, "/classifications", name="C", description=DESCRIPTION, mutuallyExclusive=exclusive)
    for name in "AB":
        put(client, "/tags", name=name, description=DESCRIPTION, classification="C")
    created = put(client, "/tables", **table("t"))
    operations = [{"op": "add", "path": "/tags", "value": [{"tagFQN": "C.A"}, {"tagFQN": "C.B"}]}]
    assert patch(client, f"/tables/{created['id']}", *operations).status_code == status


def test_deleting_user_removes_ownership(standin):
    server, client = standin
    ann = put(client, "/users", **minimal_bodies()["users"])
    owned = table("t", owners=[{"id": ann["id"], "type": "user"}])
    put(client, "/tables", **owned)
    team = client.get("/teams/name/Organization?fields=users").json()
    assert "ann" in {user["name"] for user in team["users"]}
    assert client.delete(f"/users/{ann['id']}", params={"hardDelete": "true"}).status_code == 200
    assert server.state()["entities"]["table", "svc.d.s.t"]["owners"] == []
    assert client.put("/tables", json=owned).status_code == 404


def test_data_product_assets_must_belong_to_its_domain(standin):
    client = standin[1]
    put(client, "/domains", **minimal_bodies()["domains"])
    put(client, "/dataProducts", name="P", description=DESCRIPTION, domains=["D"])
    created = put(client, "/tables", **table("t"))
    asset = {"assets": [{"id": created["id"], "type": "table"}]}
    assert client.put("/dataProducts/P/assets/add", json=asset).json()["status"] == "failure"
    assert client.put("/domains/D/assets/add", json=asset).json()["status"] == "success"
    assert client.put("/dataProducts/P/assets/add", json=asset).json()["status"] == "success"
    found = client.get("/tables/name/svc.d.s.t?fields=domains,dataProducts").json()
    assert [found[name][0]["name"] for name in ("domains", "dataProducts")] == ["D", "P"]
    assert client.get("/domains/name/D/assets").json()["paging"]["total"] == 1
    assert client.put("/domains/D/assets/remove", json=asset).json()["numberOfRowsPassed"] == 1
    assert client.get("/domains/name/D/assets").json()["paging"]["total"] == 0


def test_role_loses_deleted_policy(standin):
    client = standin[1]
    policy, role = (
        put(client, f"/{collection}", **minimal_bodies()[collection]) for collection in ("policies", "roles")
    )
    add = {"op": "add", "path": "/policies/-", "value": {"id": policy["id"], "type": "policy"}}
    for _ in range(2):
        assert patch(client, f"/roles/{role['id']}", add).status_code == 200
        found = client.get("/roles/name/R?fields=policies").json()["policies"]
        assert [policy["name"] for policy in found] == ["DataConsumerPolicy", "P"]
    assert [role["name"] for role in client.get("/policies/name/P?fields=roles").json()["roles"]] == ["R"]
    client.delete(f"/policies/{policy['id']}?hardDelete=true")
    found = client.get("/roles/name/R?fields=policies").json()["policies"]
    assert [policy["name"] for policy in found] == ["DataConsumerPolicy"]
    assert patch(client, f"/roles/{role['id']}", add).status_code == 404


@pytest.mark.parametrize(("collection", "path"), [("tags", "/description"), ("glossaries", "/description")])
def test_patch_with_if_match(standin, collection, path):
    server, client = standin
    created = put(client, f"/{collection}", **minimal_bodies()[collection])
    with make_client(server, server.admin_token) as admin:
        change = {"op": "replace", "path": path, "value": "by hand"}
        stale = patch(admin, f"/{collection}/{created['id']}", change, **{"If-Match": 'W/"0.7"'})
        assert stale.status_code == 412
        patched = patch(admin, f"/{collection}/{created['id']}", change, **{"If-Match": 'W/"0.1"'})
    assert (patched.json()["description"], patched.json()["version"]) == ("by hand", 0.2)
    put(client, f"/{collection}", **minimal_bodies()[collection])
    stored = client.get(f"/{collection}/{created['id']}").json()
    assert stored["description"] == "by hand"
