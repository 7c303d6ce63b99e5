"""What an update would wipe is carried: nothing of an entity that others have furnished is lost."""

from collections.abc import Iterator
from typing import Any

import pytest

from connectors.http import HttpSession
from connectors.openmetadata.auth import StaticToken
from connectors.openmetadata.client import OpenMetadataClient as Client
from mappers.openmetadata.preserved_fields import FIELDS_ERASED_BY_PUT, READ_FIELDS, preserve_fields
from tests.standins.client import SERVICES, put
from tests.standins.client import client_of as raw_client
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
#: An entity of each kind with everything that a request can say of it, and the little that we would say.
FURNISHED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
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
#: What tells one state of an entity from the next, and nothing of the entity.
STAMPS = {"version", "updatedAt", "updatedBy", "changeDescription", "incrementalChangeDescription"}


@pytest.fixture
def server() -> Iterator[tuple[OpenMetadata, Client]]:
    """Run a server with a service of each kind, and what lies between it and the entities."""
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


def read(client: Client, collection: str, fqn: str) -> dict[str, Any]:
    found = client.get(collection, fqn, *READ_FIELDS.get(collection, ()))
    assert found is not None
    return found


def shown(entity: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entity.items() if key not in STAMPS}


def minimal(collection: str) -> dict[str, Any]:
    """Say of an entity what must be said."""
    whole, said = FURNISHED[collection]
    parents = ("service", "database", "databaseSchema", "apiCollection")
    return {"name": "own", **{key: whole[key] for key in parents if key in whole}, **said}


@pytest.mark.parametrize("collection", FURNISHED)
def test_an_update_that_says_little_loses_nothing(server: tuple[OpenMetadata, Client], collection: str) -> None:
    standin, client = server
    fqn = client.put(collection, FURNISHED[collection][0]).entity["fullyQualifiedName"]
    before = read(client, collection, fqn)
    assert set(FIELDS_ERASED_BY_PUT[collection]) - set(before) <= {"aliases", "dashboard", "parent"}
    done = client.put(collection, preserve_fields(collection, minimal(collection), before))
    assert shown(read(client, collection, fqn)) == shown(before)
    assert not done.changed
    assert standin.disagreements == []
    # The same without what is carried, so that it is known to be needed.
    client.put(collection, minimal(collection))
    assert shown(read(client, collection, fqn)) != shown(before)


@pytest.mark.parametrize("word", ["owners", "tags", "domains", "dataProducts", "extension", "certification", "lifeCycle", "sourceHash", "description", "displayName"])  # fmt: skip
@pytest.mark.parametrize("collection", FURNISHED)
def test_what_the_server_keeps_is_never_carried(collection: str, word: str) -> None:
    assert word not in preserve_fields(
        collection, minimal(collection), {**FURNISHED[collection][0], word: ["theirs"]}
    )


def test_a_container_stays_within_its_parent(server: tuple[OpenMetadata, Client]) -> None:
    _, client = server
    above = read(client, "containers", "svc.above")
    client.put("containers", {"name": "own", "service": "svc", "parent": {"id": above["id"], "type": "container"}})
    before = read(client, "containers", "svc.above.own")
    client.put("containers", preserve_fields("containers", {"name": "own", "service": "svc", "prefix": "p/"}, before))
    assert read(client, "containers", "svc.above.own")["prefix"] == "p/"
    assert client.get("containers", "svc.own") is None


OURS = {"name": "id", "dataType": "BIGINT"}


@pytest.mark.parametrize(
    ("collection", "desired", "read_", "body"),
    [
        ("tables", {"columns": [OURS]}, {"columns": [{**ID, "fullyQualifiedName": "a.id"}, STRUCT]},
         {"columns": [{**OURS, "constraint": "PRIMARY_KEY", "description": "the key", "displayName": "Key"}]}),
        ("tables", {"columns": [{**OURS, "description": "mine"}]}, {"columns": [{**ID, "precision": 9}]},
         {"columns": [{**OURS, "constraint": "PRIMARY_KEY", "description": "mine", "displayName": "Key"}]}),
        ("tables", {"columns": [{"name": "s", "dataType": "STRUCT", "children": [{"name": "x", "dataType": "INT"}]}]}, {"columns": [STRUCT]},
         {"columns": [{"name": "s", "dataType": "STRUCT", "ordinalPosition": 2,
                       "children": [{"name": "x", "dataType": "INT", "tags": [LABEL], "description": "within"}]}]}),
        ("tables", {"columns": [OURS]}, {"columns": [{**ID, "extension": {"version": "1"}, "profile": {"max": 3}, "customMetrics": []}]},
         {"columns": [{**OURS, "constraint": "PRIMARY_KEY", "description": "the key", "displayName": "Key", "extension": {"version": "1"}}]}),
        ("tables", {"locationPath": "s3://new", "fileFormat": "csv"}, {"locationPath": "s3://old", "fileFormat": "tsv"}, {"locationPath": "s3://new", "fileFormat": "csv"}),
        ("tables", {"columns": [OURS]},
         {"columns": [{"name": "id", "dataType": "INT"}, {"name": "gone", "dataType": "INT"}],
          "tableConstraints": [{"constraintType": "UNIQUE", "columns": ["id", "gone"]}, {"constraintType": "UNIQUE", "columns": ["id"]}],
          "tablePartition": {"columns": [{"columnName": "gone"}, {"columnName": "_PARTITIONTIME"}]}},
         {"columns": [OURS], "tableConstraints": [{"constraintType": "UNIQUE", "columns": ["id"]}],
          "tablePartition": {"columns": [{"columnName": "_PARTITIONTIME"}]}}),
        ("containers", {"dataModel": {"isPartitioned": False, "columns": [OURS]}}, {"dataModel": {"isPartitioned": True, "columns": [ID]}},
         {"dataModel": {"isPartitioned": True, "columns": [{**OURS, "constraint": "PRIMARY_KEY", "description": "the key", "displayName": "Key"}]}}),
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
def test_what_we_say_stands_and_the_rest_of_it_stays(
    collection: str, desired: dict[str, Any], read_: dict[str, Any], body: dict[str, Any]
) -> None:
    before = str((desired, read_))
    assert preserve_fields(collection, desired, read_) == body
    assert str((desired, read_)) == before
