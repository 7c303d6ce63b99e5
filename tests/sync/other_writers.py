"""Changes made in OpenMetadata by people and other connectors."""

from typing import Any

import httpx

from tests.standins.openmetadata import OpenMetadata as StandIn
from tests.standins.openmetadata.state import Entity

Json = dict[str, Any]

_PATHS = {
    "table": "tables",
    "pipeline": "pipelines",
    "databaseService": "services/databaseServices",
    "database": "databases",
    "databaseSchema": "databaseSchemas",
    "pipelineService": "services/pipelineServices",
}


class Person:
    """Writes with the token of an admin, not of the bot."""

    def __init__(self, standin: StandIn) -> None:
        self._standin = standin
        self._headers = {"Authorization": f"Bearer {standin.admin_token}"}

    def request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Json:
        headers = self._headers | {"Content-Type": content_type}
        response = httpx.request(method, f"{self._standin.url}/api/v1/{path}", json=body, headers=headers)
        assert response.is_success, response.text
        return response.json() if response.content else {}

    def find(self, type_: str, name: str) -> Entity:
        return self._standin.store.by_name[type_][name]

    def patch(self, type_: str, name: str, changes: Json) -> None:
        """Set values by JSON pointer."""
        operations = [{"op": "add", "path": path, "value": value} for path, value in changes.items()]
        self.request(
            "PATCH", f"{_PATHS[type_]}/{self.find(type_, name).id}", operations, "application/json-patch+json"
        )

    def put(self, type_: str, **body: Any) -> Json:
        return self.request("PUT", _PATHS[type_], body)

    def put_table(self, name: str, *columns: str, schema_fqn: str = "warehouse.d.s", **attributes: Any) -> Json:
        """Create a table and its service, database and schema, as a connector does."""
        service, database, schema = schema_fqn.split(".")
        self.put("databaseService", name=service, serviceType="CustomDatabase")
        self.put("database", name=database, service=service)
        self.put("databaseSchema", name=schema, database=f"{service}.{database}")
        column_bodies = [{"name": column, "dataType": "STRING"} for column in columns]
        return self.put("table", name=name, databaseSchema=schema_fqn, columns=column_bodies, **attributes)

    def put_pipeline(self, name: str, service: str = "airflow") -> Json:
        self.put("pipelineService", name=service, serviceType="Airflow")
        return self.put("pipeline", name=name, service=service)

    def put_edge(self, source: str, target: str, /, **details: Any) -> None:
        """Write an edge between two tables; `pipeline` is a name."""
        if "pipeline" in details:
            pipeline = self.find("pipeline", details["pipeline"])
            details["pipeline"] = {"id": pipeline.id, "type": "pipeline"}
        endpoints = {
            side: {"id": self.find("table", name).id, "type": "table"}
            for side, name in (("fromEntity", source), ("toEntity", target))
        }
        self.request("PUT", "lineage", {"edge": endpoints | {"lineageDetails": details}})
