"""An update preserves the values of other producers."""

from collections.abc import Iterator
from typing import Any

import pytest

from connectors.http import HttpSession
from connectors.openmetadata.client import OpenMetadataClient as Client
from connectors.session import StaticToken
from mappers.openmetadata.preserved_fields import FIELDS_ERASED_BY_PUT, READ_FIELDS, preserve_fields
from tests.standins.client import SERVICES, put
from tests.standins.client import make_client as raw_client
from tests.standins.openmetadata import OpenMetadata

LABEL = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
ID = {"name": "id", "dataType": "INT", "constraint": "PRIMARY_KEY", "description": "the key", "displayName": "Key"}
STRUCT = {
    "name": "s", "dataType": "STRUCT", "dataTypeDisplay": "struct<x:int>", "ordinalPosition": 2,
    "children": [{"name": "x", "dataType": "VARCHAR", "dataLength": 3, "tags": [LABEL], "description": "within"}],
}  # fmt: skip
FIELDS = [
    {
        "name": "f",
        "dataType": "RECORD",
        "description": "a field",
        "children": [{"name": "g", "dataType": "LONG", "tags": [LABEL]}],
    }
]
SCHEMA = {"schemaType": "JSON", "schemaFields": FIELDS}
#: An entity of each kind with all members of its requests, and the members of our requests.
ENTITIES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "databases": ({"name": "own", "service": "svc", "retentionPeriod": "P1D", "sourceUrl": "https://x", "default": True}, {}),
    "databaseSchemas": ({"name": "own", "database": "svc.d", "retentionPeriod": "P1D", "sourceUrl": "https://x"}, {}),
    "tables": (
        {
            "name": "own", "databaseSchema": "svc.d.s", "tableType": "View", "columns": [ID, STRUCT],
            "tableConstraints": [{"constraintType": "UNIQUE", "columns": ["id"]}],
            "tablePartition": {"columns": [{"columnName": "s", "intervalType": "COLUMN-VALUE"}]},
            "tableProfilerConfig": {"profileSample": 5.0}, "schemaDefinition": "create view …", "locationPath": "s3://lake/x",
            "dataModel": {"modelType": "DBT", "sql": "select 1", "columns": [ID], "generatedAt": "2026-01-01T00:00:00Z"},
            "fileFormat": "csv", "retentionPeriod": "P1D", "sourceUrl": "https://x",
        },
        {"tableType": "External", "columns": []},
    ),
    "containers": (
        {
            "name": "own", "service": "svc", "dataModel": {"isPartitioned": True, "columns": [ID, STRUCT]}, "prefix": "p/",
            "fullPath": "s3://lake/own", "fileFormats": ["csv", "gz"], "numberOfObjects": 3.0, "size": 10.0, "sourceUrl": "https://x",
        },
        {"fullPath": "own"},
    ),
    "topics": (
        {
            "name": "own", "service": "svc", "partitions": 12, "cleanupPolicies": ["compact"], "replicationFactor": 3,
            "maximumMessageSize": 9, "minimumInSyncReplicas": 2, "retentionTime": 5.0, "retentionSize": 7.0,
            "topicConfig": {"version": "7", "href": "kept"}, "sourceUrl": "https://x",
            "messageSchema": {"schemaText": "{}", "schemaType": "Avro", "schemaFields": FIELDS},
        },
        {"partitions": 1},
    ),
    "pipelines": (
        {
            "name": "own", "service": "svc", "concurrency": 4, "pipelineLocation": "/dags", "startDate": "2026-01-01T00:00:00.000000Z",
            "scheduleInterval": "0 1 * * *", "state": "Active", "sourceUrl": "https://x",
            "tasks": [
                {"name": "a", "displayName": "A", "description": "first", "taskType": "Sql", "taskSQL": "select 1", "downstreamTasks": ["b"]},
                {"name": "b", "tags": [LABEL], "sourceUrl": "https://b", "startDate": "2026", "endDate": "2027"},
            ],
        },
        {},
    ),
    "apiCollections": ({"name": "own", "service": "svc", "endpointURL": "https://api"}, {}),
    "apiEndpoints": (
        {
            "name": "own", "apiCollection": "svc.c", "endpointURL": "https://api/own", "requestMethod": "POST", "sourceUrl": "https://x",
            "requestSchema": SCHEMA, "responseSchema": SCHEMA,
        },
        {"endpointURL": "/own"},
    ),
    "mlmodels": (
        {
            "name": "own", "service": "svc", "algorithm": "trees", "target": "churn", "server": "https://m", "sourceUrl": "https://x",
            "mlFeatures": [{"name": "age", "dataType": "numerical", "featureSources": [{"name": "age", "dataType": "integer"}]}],
            "mlHyperParameters": [{"name": "depth", "value": "3"}], "mlStore": {"storage": "s3://m", "imageRepository": "r"},
        },
        {"algorithm": "unknown"},
    ),
}  # fmt: skip
#: Members that differ between versions of an entity.
VERSION_MEMBERS = {"version", "updatedAt", "updatedBy", "changeDescription", "incrementalChangeDescription"}


@pytest.fixture
def server() -> Iterator[tuple[OpenMetadata, Client]]:
    """Run a server with a service of each kind, and parents for the entities."""
    with OpenMetadata() as standin:
        standin.governance.add_tag("PII", "Sensitive")
        with raw_client(standin) as client:
            for path, type_ in SERVICES.items():
                put(client, f"/services/{path}", name="svc", serviceType=type_)
            put(client, "/databases", name="d", service="svc")
            put(client, "/databaseSchemas", name="s", database="svc.d")
            put(client, "/apiCollections", name="c", service="svc")
            put(client, "/containers", name="above", service="svc")
        client = Client(HttpSession(standin.url), StaticToken(standin.bot_token))
        yield standin, client
        client.close()


def read_entity(client: Client, collection: str, fqn: str) -> dict[str, Any]:
    entity = client.get(collection, fqn, *READ_FIELDS.get(collection, ()))
    assert entity is not None
    return entity


def without_version(entity: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entity.items() if key not in VERSION_MEMBERS}


def minimal(collection: str) -> dict[str, Any]:
    """The smallest body of an entity."""
    complete, required = ENTITIES[collection]
    parents = ("service", "database", "databaseSchema", "apiCollection")
    return {"name": "own", **{key: complete[key] for key in parents if key in complete}, **required}


@pytest.mark.parametrize("collection", ENTITIES)
def test_minimal_update_preserves_everything(server: tuple[OpenMetadata, Client], collection: str) -> None:
    standin, client = server
    fqn = client.put(collection, ENTITIES[collection][0]).entity["fullyQualifiedName"]
    before = read_entity(client, collection, fqn)
    assert set(FIELDS_ERASED_BY_PUT[collection]) - set(before) <= {"aliases", "dashboard", "parent"}
    result = client.put(collection, preserve_fields(collection, minimal(collection), before))
    assert without_version(read_entity(client, collection, fqn)) == without_version(before)
    assert not result.changed
    assert standin.invalid_bodies == []
    # Without preserved members, the same update loses values.
    client.put(collection, minimal(collection))
    assert without_version(read_entity(client, collection, fqn)) != without_version(before)


@pytest.mark.parametrize("member", ["owners", "tags", "domains", "dataProducts", "extension", "certification", "lifeCycle", "sourceHash", "description", "displayName"])  # fmt: skip
@pytest.mark.parametrize("collection", ENTITIES)
def test_members_kept_by_the_server_are_not_added(collection: str, member: str) -> None:
    assert member not in preserve_fields(
        collection, minimal(collection), {**ENTITIES[collection][0], member: ["theirs"]}
    )


def test_container_stays_in_its_parent(server: tuple[OpenMetadata, Client]) -> None:
    _, client = server
    parent = read_entity(client, "containers", "svc.above")
    client.put("containers", {"name": "own", "service": "svc", "parent": {"id": parent["id"], "type": "container"}})
    before = read_entity(client, "containers", "svc.above.own")
    client.put("containers", preserve_fields("containers", {"name": "own", "service": "svc", "prefix": "p/"}, before))
    assert read_entity(client, "containers", "svc.above.own")["prefix"] == "p/"
    assert client.get("containers", "svc.own") is None


OUR_ID = {"name": "id", "dataType": "BIGINT"}


@pytest.mark.parametrize(
    ("collection", "desired", "existing", "body"),
    [
        ("tables", {"columns": [OUR_ID]}, {"columns": [{**ID, "fullyQualifiedName": "a.id"}, STRUCT]},
         {"columns": [{**OUR_ID, "constraint": "PRIMARY_KEY", "description": "the key", "displayName": "Key"}]}),
        ("tables", {"columns": [{**OUR_ID, "description": "mine"}]}, {"columns": [{**ID, "precision": 9}]},
         {"columns": [{**OUR_ID, "constraint": "PRIMARY_KEY", "description": "mine", "displayName": "Key"}]}),
        ("tables", {"columns": [{"name": "s", "dataType": "STRUCT", "children": [{"name": "x", "dataType": "INT"}]}]}, {"columns": [STRUCT]},
         {"columns": [{"name": "s", "dataType": "STRUCT", "ordinalPosition": 2,
                       "children": [{"name": "x", "dataType": "INT", "tags": [LABEL], "description": "within"}]}]}),
        ("tables", {"columns": [OUR_ID]}, {"columns": [{**ID, "extension": {"version": "1"}, "profile": {"max": 3}, "customMetrics": []}]},
         {"columns": [{**OUR_ID, "constraint": "PRIMARY_KEY", "description": "the key", "displayName": "Key", "extension": {"version": "1"}}]}),
        ("tables", {"locationPath": "s3://new", "fileFormat": "csv"}, {"locationPath": "s3://old", "fileFormat": "tsv"}, {"locationPath": "s3://new", "fileFormat": "csv"}),
        ("tables", {"columns": [OUR_ID]},
         {"columns": [{"name": "id", "dataType": "INT"}, {"name": "gone", "dataType": "INT"}],
          "tableConstraints": [{"constraintType": "UNIQUE", "columns": ["id", "gone"]}, {"constraintType": "UNIQUE", "columns": ["id"]}],
          "tablePartition": {"columns": [{"columnName": "gone"}, {"columnName": "_PARTITIONTIME"}]}},
         {"columns": [OUR_ID], "tableConstraints": [{"constraintType": "UNIQUE", "columns": ["id"]}],
          "tablePartition": {"columns": [{"columnName": "_PARTITIONTIME"}]}}),
        ("containers", {"dataModel": {"isPartitioned": False, "columns": [OUR_ID]}}, {"dataModel": {"isPartitioned": True, "columns": [ID]}},
         {"dataModel": {"isPartitioned": True, "columns": [{**OUR_ID, "constraint": "PRIMARY_KEY", "description": "the key", "displayName": "Key"}]}}),
        ("topics", {"messageSchema": {"schemaType": "Other", "schemaFields": [{"name": "new", "dataType": "INT"}]}},
         {"messageSchema": {"schemaType": "Avro", "schemaText": "{}", "schemaFields": FIELDS}},
         {"messageSchema": {"schemaType": "Avro", "schemaText": "{}", "schemaFields": [{"name": "new", "dataType": "INT"}]}}),
        ("pipelines", {"tasks": [{"name": "a", "taskSQL": "new"}, {"name": "c"}]},
         {"tasks": [{"name": "a", "taskSQL": "old", "taskType": "Sql", "fullyQualifiedName": "s.p.a",
                     "owners": [{"id": "1", "type": "user", "name": "ann", "href": "h"}]}, {"name": "b"}]},
         {"tasks": [{"name": "a", "taskSQL": "new", "taskType": "Sql", "owners": [{"id": "1", "type": "user"}]}, {"name": "c"}]}),
        ("mlmodels", {}, {"dashboard": {"id": "1", "type": "dashboard", "fullyQualifiedName": "s.d"}}, {"dashboard": "s.d"}),
        ("containers", {"fullPath": "s3://new"}, {"fullPath": "s3://old"}, {"fullPath": "s3://new"}),
        ("services/databaseServices", {"name": "s"}, {"connection": {"config": {}}}, {"name": "s"}),
    ],
)  # fmt: skip
def test_our_values_win_and_other_values_are_preserved(
    collection: str, desired: dict[str, Any], existing: dict[str, Any], body: dict[str, Any]
) -> None:
    before = str((desired, existing))
    assert preserve_fields(collection, desired, existing) == body
    assert str((desired, existing)) == before
