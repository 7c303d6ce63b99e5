"""HTTP clients of the OpenMetadata stand-in, and basic entities."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.standins.openmetadata import OpenMetadata

PATCH = "application/json-patch+json"
COLUMN = {"name": "id", "dataType": "BIGINT"}
SERVICES = {
    "databaseServices": "CustomDatabase",
    "pipelineServices": "Spark",
    "storageServices": "CustomStorage",
    "messagingServices": "Kafka",
    "apiServices": "Rest",
    "mlmodelServices": "Mlflow",
}


def make_client(standin: OpenMetadata, token: str | None = None, timeout: float = 10.0) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token or standin.bot_token}"}
    return httpx.Client(base_url=f"{standin.url}/api/v1", headers=headers, timeout=timeout)


def patch(client: httpx.Client, path: str, *operations: Any, **headers: str) -> httpx.Response:
    return client.patch(path, json=list(operations), headers={"Content-Type": PATCH, **headers})


def put(client: httpx.Client, path: str, **body: Any) -> Any:
    """PUT a body that must be accepted, and return the response body."""
    response = client.put(path, json=body)
    assert response.status_code < 300, response.text
    return response.json()


def table(name: str, *columns: Any, **attributes: Any) -> dict[str, Any]:
    return {"name": name, "databaseSchema": "svc.d.s", "columns": list(columns or (COLUMN,)), **attributes}


@contextmanager
def running_standin() -> Iterator[tuple[OpenMetadata, httpx.Client]]:
    """Run a stand-in with a service `svc` of each kind and the schema `svc.d.s`."""
    with OpenMetadata() as standin, make_client(standin) as client:
        for path, type_ in SERVICES.items():
            put(client, f"/services/{path}", name="svc", serviceType=type_)
        put(client, "/databases", name="d", service="svc")
        put(client, "/databaseSchemas", name="s", database="svc.d")
        standin.journal.clear()
        yield standin, client
