"""What governs entities, where no recorded exchange says it."""

import pytest

from tests.standins.client import make_client, patch, put, table

MADE = "made"


def kinds():
    """What can be made with nothing but these properties, by collection."""
    return {
        "classifications": {"name": "C", "description": MADE},
        "tags": {"name": "T", "description": MADE, "classification": "Tier"},
        "glossaries": {"name": "G", "description": MADE},
        "domains": {"name": "D", "description": MADE, "domainType": "Aggregate"},
        "teams": {"name": "team", "teamType": "Group"},
        "users": {"name": "ann", "email": "ann@example.com"},
        "roles": {"name": "R", "policies": ["DataConsumerPolicy"]},
        "policies": {
            "name": "P",
            "rules": [{"name": "r", "effect": "allow", "resources": ["All"], "operations": ["All"]}],
        },
    }


@pytest.mark.parametrize("collection", kinds())
def test_all_that_governs_is_made_found_listed_and_deleted(standin, collection):
    client = standin[1]
    body = kinds()[collection]
    made = client.post(f"/{collection}", json=body)
    assert (made.status_code, made.headers["Location"].rpartition("/")[2]) == (201, made.json()["id"])
    assert client.post(f"/{collection}", json=body).status_code == 409
    again = client.put(f"/{collection}", json=body)
    assert (again.status_code, again.headers["X-OpenMetadata-Change"]) == (200, "entityNoChange")
    name = made.json()["fullyQualifiedName"]
    assert client.get(f"/{collection}/name/{name}").json()["id"] == made.json()["id"]
    listed = client.get(f"/{collection}", params={"limit": 1000}).json()
    assert name in {one["fullyQualifiedName"] for one in listed["data"]}
    assert listed["paging"]["total"] == len(listed["data"])
    assert client.delete(f"/{collection}/{made.json()['id']}").status_code == 200
    assert client.get(f"/{collection}/name/{name}").status_code == 404


@pytest.mark.parametrize("collection", kinds())
def test_a_property_that_is_not_known_is_refused(standin, collection):
    assert standin[1].put(f"/{collection}", json={**kinds()[collection], "nope": 1}).status_code == 400


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
def test_what_does_not_fit_is_refused(standin, collection, changed, status):
    body = {key: value for key, value in {**kinds()[collection], **changed}.items() if value is not None}
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
def test_conditions_of_policies_call_what_is_known(standin, condition, status):
    rule = {**kinds()["policies"]["rules"][0], "condition": condition}
    assert standin[1].post("/policies", json={"name": "P", "rules": [rule]}).status_code == status


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["ViewBasic", "ViewAll", "Delete"], ["Delete", "ViewAll"]),
        (["EditTags", "EditAll", "Create"], ["Create", "EditAll"]),
        (["All", "Create"], ["All"]),
    ],
)
def test_operations_that_others_include_are_left_out(standin, given, kept):
    rule = {**kinds()["policies"]["rules"][0], "operations": given}
    made = standin[1].post("/policies", json={"name": "P", "rules": [rule]}).json()
    assert made["rules"][0]["operations"] == kept


def test_terms_lie_in_each_other(standin):
    client = standin[1]
    put(client, "/glossaries", **kinds()["glossaries"])
    for name, more in {"A": {}, "B": {"parent": "G.A"}, "C": {"parent": "G.A.B"}}.items():
        put(client, "/glossaryTerms", name=name, description=MADE, glossary="G", **more)
    found = client.get("/glossaryTerms/name/G.A.B.C").json()
    assert (found["glossary"]["name"], found["parent"]["fullyQualifiedName"]) == ("G", "G.A.B")
    assert client.delete(f"/glossaries/{found['glossary']['id']}").status_code == 400
    assert client.delete(f"/glossaries/{found['glossary']['id']}", params={"recursive": "true"}).status_code == 200
    assert client.get("/glossaryTerms/name/G.A.B.C").status_code == 404


def labelled(client, *labels, columns=()):
    columns = [{"name": "id", "dataType": "BIGINT", "tags": [{"tagFQN": one} for one in columns]}]
    return put(client, "/tables", **table("t", *columns, tags=[{"tagFQN": one} for one in labels]))


def labels_of(client):
    found = client.get("/tables/name/svc.d.s.t?fields=tags,columns").json()
    return [one["tagFQN"] for one in (*found["tags"], *found["columns"][0]["tags"])]


@pytest.mark.parametrize(("hard", "after"), [("false", ["PII.None", "PII.None"]), ("true", [])])
def test_labels_go_with_their_tag_and_come_back_with_it(standin, hard, after):
    client = standin[1]
    labelled(client, "PII.None", columns=["PII.None"])
    assert labels_of(client) == ["PII.None", "PII.None"]
    assert client.delete("/tags/name/PII.None", params={"hardDelete": hard}).status_code == 200
    assert labels_of(client) == []
    put(client, "/tags", name="None", description=MADE, classification="PII")
    assert labels_of(client) == after


@pytest.mark.parametrize(("exclusive", "status"), [(True, 400), (False, 200)])
def test_one_label_of_a_classification_that_is_exclusive(standin, exclusive, status):
    client = standin[1]
    put(client, "/classifications", name="C", description=MADE, mutuallyExclusive=exclusive)
    for name in "AB":
        put(client, "/tags", name=name, description=MADE, classification="C")
    made = put(client, "/tables", **table("t"))
    both = [{"op": "add", "path": "/tags", "value": [{"tagFQN": "C.A"}, {"tagFQN": "C.B"}]}]
    assert patch(client, f"/tables/{made['id']}", *both).status_code == status


def test_who_owns_is_forgotten_with_the_user(standin):
    server, client = standin
    ann = put(client, "/users", **kinds()["users"])
    owned = table("t", owners=[{"id": ann["id"], "type": "user"}])
    put(client, "/tables", **owned)
    team = client.get("/teams/name/Organization?fields=users").json()
    assert "ann" in {user["name"] for user in team["users"]}
    assert client.delete(f"/users/{ann['id']}", params={"hardDelete": "true"}).status_code == 200
    assert server.state()["entities"]["table", "svc.d.s.t"]["owners"] == []
    assert client.put("/tables", json=owned).status_code == 404


def test_an_asset_of_a_product_lies_in_its_domain(standin):
    client = standin[1]
    put(client, "/domains", **kinds()["domains"])
    put(client, "/dataProducts", name="P", description=MADE, domains=["D"])
    made = put(client, "/tables", **table("t"))
    asset = {"assets": [{"id": made["id"], "type": "table"}]}
    assert client.put("/dataProducts/P/assets/add", json=asset).json()["status"] == "failure"
    assert client.put("/domains/D/assets/add", json=asset).json()["status"] == "success"
    assert client.put("/dataProducts/P/assets/add", json=asset).json()["status"] == "success"
    found = client.get("/tables/name/svc.d.s.t?fields=domains,dataProducts").json()
    assert [found[name][0]["name"] for name in ("domains", "dataProducts")] == ["D", "P"]
    assert client.get("/domains/name/D/assets").json()["paging"]["total"] == 1
    assert client.put("/domains/D/assets/remove", json=asset).json()["numberOfRowsPassed"] == 1
    assert client.get("/domains/name/D/assets").json()["paging"]["total"] == 0


def test_a_role_gets_a_policy_and_loses_it_with_the_policy(standin):
    client = standin[1]
    policy, role = (put(client, f"/{one}", **kinds()[one]) for one in ("policies", "roles"))
    add = {"op": "add", "path": "/policies/-", "value": {"id": policy["id"], "type": "policy"}}
    for _ in range(2):
        assert patch(client, f"/roles/{role['id']}", add).status_code == 200
        found = client.get("/roles/name/R?fields=policies").json()["policies"]
        assert [one["name"] for one in found] == ["DataConsumerPolicy", "P"]
    assert [one["name"] for one in client.get("/policies/name/P?fields=roles").json()["roles"]] == ["R"]
    client.delete(f"/policies/{policy['id']}?hardDelete=true")
    found = client.get("/roles/name/R?fields=policies").json()["policies"]
    assert [one["name"] for one in found] == ["DataConsumerPolicy"]
    assert patch(client, f"/roles/{role['id']}", add).status_code == 404


@pytest.mark.parametrize(("collection", "path"), [("tags", "/description"), ("glossaries", "/description")])
def test_what_governs_is_patched_as_entities_are(standin, collection, path):
    server, client = standin
    made = put(client, f"/{collection}", **kinds()[collection])
    with make_client(server, server.admin_token) as admin:
        change = {"op": "replace", "path": path, "value": "by hand"}
        stale = patch(admin, f"/{collection}/{made['id']}", change, **{"If-Match": 'W/"0.7"'})
        assert stale.status_code == 412
        taken = patch(admin, f"/{collection}/{made['id']}", change, **{"If-Match": 'W/"0.1"'})
    assert (taken.json()["description"], taken.json()["version"]) == ("by hand", 0.2)
    put(client, f"/{collection}", **kinds()[collection])
    kept = client.get(f"/{collection}/{made['id']}").json()
    assert kept["description"] == "by hand"
