"""The requests of a dataset, as a server takes them."""

from collections.abc import Iterator
from typing import Any

import pytest

from connectors.http import HttpSession
from connectors.openmetadata.auth import StaticToken
from connectors.openmetadata.client import OpenMetadataClient as Client
from mappers.canonical.columns import SchemaColumn
from mappers.openmetadata.columns import column_paths
from mappers.openmetadata.entity_requests import DatasetContent, dataset_requests
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping, locate_dataset
from tests.fuzz.hostile_names import HOSTILE
from tests.standins.openmetadata import OpenMetadata

MAPPED = ServiceLayout(
    (ServiceMapping("postgres://*", "pg"), ServiceMapping("kafka://*", "kafka"), ServiceMapping("https://*", "api"))
)
PLACES = [
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
        assert standin.disagreements == []


def made(client: Client, layout: ServiceLayout, namespace: str, name: str, **more: Any) -> tuple[dict[str, Any], Any]:
    """Make a dataset known; gives it as the server keeps it, and what was asked."""
    asked = dataset_requests(locate_dataset(layout, namespace, name), DatasetContent(name, columns=COLUMNS, **more))
    for request in (*asked.parents, asked.entity):
        client.put(request.collection, request.body)
        assert client.get(request.collection, request.fqn) is not None, request.fqn
    found = client.get(
        asked.entity.collection, asked.entity.fqn, *(["columns"] if asked.entity.collection == "tables" else [])
    )
    assert found is not None
    return found, asked


@pytest.mark.parametrize(("layout", "namespace", "name"), PLACES)
def test_every_place_can_be_made_and_is_found_where_it_should_be(
    server: Client, layout: ServiceLayout, namespace: str, name: str
) -> None:
    found, asked = made(server, layout, namespace, name)
    assert found["fullyQualifiedName"] == asked.own.fqn


@pytest.mark.parametrize(
    ("known", "address"),
    [
        ("https://api.x:80/v1/orders?a=b", "https://api.x:80/v1/orders?a=b"),
        ("https://api.x/a b%20c%zz{id}#d", "https://api.x/a%20b%20c%25zz%7Bid%7D%23d"),
        ("/v1/orders", "api:/v1/orders"),
        ("GET /v1/{id}", "api:GET%20/v1/%7Bid%7D"),
        ("https://no host/x", "api:https%3A//no%20host/x"),
    ],
)
def test_an_endpoint_has_an_address_that_can_be_read(known: str, address: str) -> None:
    own = dataset_requests(locate_dataset(ServiceLayout(), "https://api", known), DatasetContent(known)).entity
    assert own.body["endpointURL"] == address


@pytest.mark.parametrize(("namespace", "most"), [("kafka://h", 128), ("s3://lake", 300)])
def test_names_of_columns_are_as_long_as_their_kind_takes(namespace: str, most: int) -> None:
    column = SchemaColumn("k" * 500, f"struct<{'x' * 500}:int>")
    made = dataset_requests(
        locate_dataset(ServiceLayout(), namespace, "n"), DatasetContent("n", columns=(column,))
    ).columns
    (path,) = made.names.values()
    assert [len(name) for name in (*path, made.columns[0]["children"][0]["name"])] == [most, most]


def test_a_table_is_kept_as_it_was_sent(server: Client) -> None:
    said = "array<string>, it's a=b & {{more}}\n\U0001f600"
    found, asked = made(server, MAPPED, "postgres://h:1", "d.s.kept", description=said)
    assert found["description"] == asked.own.body["description"]
    assert list(column_paths(found["columns"])) == list(column_paths(asked.columns.columns))
    assert found["columns"][1]["description"] == "what = it costs"
    done = server.put(asked.own.collection, asked.own.body)
    assert (done.created, done.changed) == (False, False)
