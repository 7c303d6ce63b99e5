"""The requests of a dataset, as a server takes them."""

from collections.abc import Iterator
from typing import Any

import pytest

from connectors.http import HttpSession
from connectors.openmetadata.client import OpenMetadata as Client
from connectors.openmetadata.token import FixedToken
from mappers.openmetadata.columns import ColumnRow, paths
from mappers.openmetadata.places import Layout, Mapping, place
from mappers.openmetadata.requests import Described, requests
from tests.fuzz.hostile_names import HOSTILE
from tests.standins.openmetadata import OpenMetadata

MAPPED = Layout((Mapping("postgres://*", "pg"), Mapping("kafka://*", "kafka"), Mapping("https://*", "api")))
PLACES = [
    (MAPPED, "postgres://h:1", "d.s.t"), (MAPPED, "kafka://h", "orders.v1"), (MAPPED, "https://api", "/v1/orders"),
    (Layout(), "s3://lake", "sales/daily"), (Layout(files_as="container"), "s3://lake", "sales/daily"),
    (Layout(), "kafka://h", "orders.v1"), (Layout(), "https://api", "/v1/orders"), (Layout(), "mlflow://h", "churn"),
    *((Layout(), "file", name) for name in HOSTILE.values()),
]  # fmt: skip
COLUMNS = (
    ColumnRow("id", "bigint"), ColumnRow("amount", "decimal(18,2)", "what = it costs"), ColumnRow("s", "struct<x:int>"),
    ColumnRow('odd"::name', "varchar(20)"),
)  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Client]:
    with OpenMetadata() as standin:
        client = Client(HttpSession(standin.url), FixedToken(standin.bot_token))
        yield client
        client.close()
        assert standin.disagreements == []


def made(client: Client, layout: Layout, namespace: str, name: str, **more: Any) -> tuple[dict[str, Any], Any]:
    """Make a dataset known; gives it as the server keeps it, and what was asked."""
    asked = requests(place(layout, namespace, name), Described(name, columns=COLUMNS, **more))
    for request in (*asked.parents, asked.own):
        client.put(request.collection, request.body)
        assert client.get(request.collection, request.fqn) is not None, request.fqn
    found = client.get(
        asked.own.collection, asked.own.fqn, *(["columns"] if asked.own.collection == "tables" else [])
    )
    assert found is not None
    return found, asked


@pytest.mark.parametrize(("layout", "namespace", "name"), PLACES)
def test_every_place_can_be_made_and_is_found_where_it_should_be(
    server: Client, layout: Layout, namespace: str, name: str
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
    own = requests(place(Layout(), "https://api", known), Described(known)).own
    assert own.body["endpointURL"] == address


@pytest.mark.parametrize(("namespace", "most"), [("kafka://h", 128), ("s3://lake", 300)])
def test_names_of_columns_are_as_long_as_their_kind_takes(namespace: str, most: int) -> None:
    column = ColumnRow("k" * 500, f"struct<{'x' * 500}:int>")
    made = requests(place(Layout(), namespace, "n"), Described("n", columns=(column,))).columns
    (path,) = made.names.values()
    assert [len(name) for name in (*path, made.columns[0]["children"][0]["name"])] == [most, most]


def test_a_table_is_kept_as_it_was_sent(server: Client) -> None:
    said = "array<string>, it's a=b & {{more}}\n\U0001f600"
    found, asked = made(server, MAPPED, "postgres://h:1", "d.s.kept", description=said)
    assert found["description"] == asked.own.body["description"]
    assert list(paths(found["columns"])) == list(paths(asked.columns.columns))
    assert found["columns"][1]["description"] == "what = it costs"
    done = server.put(asked.own.collection, asked.own.body)
    assert (done.created, done.changed) == (False, False)
