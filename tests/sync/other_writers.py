"""What others do in OpenMetadata: people, and connectors of theirs."""

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
    """Somebody with the rights of an admin: what is written so is not written by a bot."""

    def __init__(self, standin: StandIn) -> None:
        self._standin = standin
        self._headers = {"Authorization": f"Bearer {standin.admin_token}"}

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Json:
        headers = self._headers | {"Content-Type": kind}
        answer = httpx.request(method, f"{self._standin.url}/api/v1/{path}", json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else {}

    def find(self, type_: str, name: str) -> Entity:
        return self._standin.store.by_name[type_][name]

    def patch(self, type_: str, name: str, changes: Json) -> None:
        """Set what these JSON pointers name."""
        operations = [{"op": "add", "path": path, "value": value} for path, value in changes.items()]
        self.ask("PATCH", f"{_PATHS[type_]}/{self.find(type_, name).id}", operations, "application/json-patch+json")

    def put(self, type_: str, **body: Any) -> Json:
        return self.ask("PUT", _PATHS[type_], body)

    def put_table(self, name: str, *columns: str, place: str = "warehouse.d.s", **more: Any) -> Json:
        """Make a table as a connector does, with all that it lies in."""
        service, database, schema = place.split(".")
        self.put("databaseService", name=service, serviceType="CustomDatabase")
        self.put("database", name=database, service=service)
        self.put("databaseSchema", name=schema, database=f"{service}.{database}")
        made = [{"name": column, "dataType": "STRING"} for column in columns]
        return self.put("table", name=name, databaseSchema=place, columns=made, **more)

    def put_pipeline(self, name: str, service: str = "airflow") -> Json:
        self.put("pipelineService", name=service, serviceType="Airflow")
        return self.put("pipeline", name=name, service=service)

    def put_edge(self, source: str, target: str, /, **details: Any) -> None:
        """Write the edge between two tables; a pipeline is given by its name."""
        if "pipeline" in details:
            pipeline = self.find("pipeline", details["pipeline"])
            details["pipeline"] = {"id": pipeline.id, "type": "pipeline"}
        ends = {
            side: {"id": self.find("table", name).id, "type": "table"}
            for side, name in (("fromEntity", source), ("toEntity", target))
        }
        self.ask("PUT", "lineage", {"edge": ends | {"lineageDetails": details}})
