"""The changes behind the recorded events, in order."""

from tests.standins.replay import Json
from tests.standins.replay_requests import delete, patch, post, put, schema, service, table_body, tables

#: Time since which the recording reads events; also the time of the recorded result and run.
SINCE = 1795000051041
_A, _B, _P = "lb_evnt.d.s.a", "lb_evnt.d.s.b", "lb_evntp.p"
_EDGE = f"lineage/table/name/{_A}/table/name/{_B}"
_CASE = {"name": "tc", "entityLink": f"<#E::table::{_A}>", "testDefinition": "tableRowCountToBeBetween"}
_DEFINITION = {
    "name": "tableRowCountToBeBetween",
    "displayName": "Table Row Count To Be Between",
    "description": "This defines the test TableRowCountToBeBetween. Test the number of rows to between to two values.",
    "entityType": "TABLE",
    "testPlatforms": ["Other"],
}
#: The recorded id of the table b.
_B_ID = "59de64f9-4ae8-4ba6-966d-c306cdd4b394"


def _describe(value: str, *more: Json) -> list[Json]:
    return [{"op": "add", "path": "/description", "value": value}, *more]


def _rows(*names: str) -> list[Json]:
    return [table_body("lb_evnt.d.s", name) for name in names]


_SENSITIVE = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
BEFORE = [
    *schema("lb_evnt"),
    service("pipeline", "lb_evntp", "CustomPipeline"),
    put("dataQuality/testDefinitions", _DEFINITION),
]
CHANGES = [
    *tables("lb_evnt.d.s", "a", "b", "a"),
    patch(
        f"tables/name/{_A}", _describe("by a human", {"op": "add", "path": "/tags/-", "value": _SENSITIVE}), "admin"
    ),
    patch(f"tables/name/{_A}", _describe("by a human, second edit"), "admin"),
    patch(f"tables/name/{_B}", _describe("bot 1")),
    patch(f"tables/name/{_B}", _describe("bot 2")),
    put("pipelines", {"name": "p", "service": "lb_evntp", "tasks": [{"name": "t"}]}),
    put(f"pipelines/{_P}/status", {"timestamp": SINCE, "executionStatus": "Successful", "taskStatus": []}),
    *[put(_EDGE, {"source": "OpenLineage", "description": "x"})] * 2,
    patch(_EDGE, _describe("y")),
    delete(_EDGE),
    put("tables/bulk", _rows("k1", "k2")),
    post("dataQuality/testCases", _CASE),
    post(
        f"dataQuality/testCases/testCaseResults/{_A}.tc",
        {"timestamp": SINCE, "testCaseStatus": "Failed", "result": "x"},
    ),
    delete(f"tables/name/{_B}"),
    put("tables/restore", {"id": _B_ID}),
    delete(f"tables/name/{_B}?hardDelete=true"),
    delete("databaseSchemas/name/lb_evnt.d.s?recursive=true", "admin"),
]
