"""Requests that create a dataset, sent to the stand-in server."""

from collections.abc import Iterator
from typing import Any

import pytest

from connectors.http import HttpSession
from connectors.openmetadata.client import OpenMetadataClient as Client
from connectors.session import StaticToken
from mappers.canonical.columns import SchemaColumn
from mappers.openmetadata.columns import column_paths
from mappers.openmetadata.entity_requests import DatasetContent, dataset_requests
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping, locate_dataset
from tests.fuzz.hostile_names import HOSTILE
from tests.standins.openmetadata import OpenMetadata

MAPPED = ServiceLayout(
    (ServiceMapping("postgres://*", "pg"), ServiceMapping("kafka://*", "kafka"), ServiceMapping("https://*", "api"))
)
LOCATIONS = [
    (MAPPED, "postgres://h:1", "d.s.t"), (MAPPED, "kafka://h", "orders.v1"), (MAPPED, "https://api", "/v1/orders"),
    (ServiceLayout(), "s3://lake", "sales/daily"), (ServiceLayout(files_as="container"), "s3://lake", "sales/daily"),
    (ServiceLayout(), "kafka://h", "orders.v1"), (ServiceLayout(), "https://api", "/v1/orders"), (ServiceLayout(), "mlflow://h", "churn"),
    *((ServiceLayout(), "file", name) for name in HOSTILE.values()),
]  # fmt: skip
COLUMNS = (
    SchemaColumn("id", "bigint"), SchemaColumn("amount", "decimal(18,2)", "what = it costs"), SchemaColumn("s", "struct<x:int>"),
    SchemaColumn('odd"::name', "varchar(20)"),
)  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Client]:
    with OpenMetadata() as standin:
        client = Client(HttpSession(standin.url), StaticToken(standin.bot_token))
        yield client
        client.close()
        assert standin.invalid_bodies == []


def create_dataset(
    client: Client, layout: ServiceLayout, namespace: str, name: str, **content: Any
) -> tuple[dict[str, Any], Any]:
    """Create a dataset; returns the stored entity and the requests."""
    requests = dataset_requests(
        locate_dataset(layout, namespace, name), DatasetContent(name, columns=COLUMNS, **content)
    )
    for request in (*requests.parents, requests.entity):
        client.put(request.collection, request.body)
        assert client.get(request.collection, request.fqn) is not None, request.fqn
    entity = client.get(
        requests.entity.collection,
        requests.entity.fqn,
        *(["columns"] if requests.entity.collection == "tables" else []),
    )
    assert entity is not None
    return entity, requests


@pytest.mark.parametrize(("layout", "namespace", "name"), LOCATIONS)
def test_every_location_can_be_created(server: Client, layout: ServiceLayout, namespace: str, name: str) -> None:
    entity, requests = create_dataset(server, layout, namespace, name)
    assert entity["fullyQualifiedName"] == requests.entity.fqn


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("https://api.x:80/v1/orders?a=b", "https://api.x:80/v1/orders?a=b"),
        ("https://api.x/a b%20c%zz{id}#d", "https://api.x/a%20b%20c%25zz%7Bid%7D%23d"),
        ("/v1/orders", "api:/v1/orders"),
        ("GET /v1/{id}", "api:GET%20/v1/%7Bid%7D"),
        ("https://no host/x", "api:https%3A//no%20host/x"),
    ],
)
def test_endpoint_has_a_valid_url(name: str, url: str) -> None:
    request = dataset_requests(locate_dataset(ServiceLayout(), "https://api", name), DatasetContent(name)).entity
    assert request.body["endpointURL"] == url


@pytest.mark.parametrize(("namespace", "max_characters"), [("kafka://h", 128), ("s3://lake", 300)])
def test_column_names_have_the_maximum_length_of_their_entity(namespace: str, max_characters: int) -> None:
    column = SchemaColumn("k" * 500, f"struct<{'x' * 500}:int>")
    nested = dataset_requests(
        locate_dataset(ServiceLayout(), namespace, "n"), DatasetContent("n", columns=(column,))
    ).columns
    (path,) = nested.names.values()
    assert [len(name) for name in (*path, nested.columns[0]["children"][0]["name"])] == [
        max_characters,
        max_characters,
    ]


def test_table_is_stored_as_sent(server: Client) -> None:
    description = "array<string>, it's a=b & {{more}}\n\U0001f600"
    entity, requests = create_dataset(server, MAPPED, "postgres://h:1", "d.s.kept", description=description)
    assert entity["description"] == requests.entity.body["description"]
    assert list(column_paths(entity["columns"])) == list(column_paths(requests.columns.columns))
    assert entity["columns"][1]["description"] == "what = it costs"
    result = server.put(requests.entity.collection, requests.entity.body)
    assert (result.created, result.changed) == (False, False)
