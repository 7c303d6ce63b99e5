"""Setup of replays: entities that the recordings expect, and steps between exchanges."""

from itertools import count
from typing import Any

from tests.standins.replay import Json, Replay
from tests.standins.replay_events import BEFORE, CHANGES, SINCE
from tests.standins.replay_governance import STEPS as GOVERNANCE_STEPS
from tests.standins.replay_requests import COLUMN, delete, patch, put, schema, service, tables

_QUALITY_COLUMNS = [COLUMN, {"name": "a.b", "dataType": "STRING"}]
_LINEAGE_COLUMNS = [
    COLUMN,
    {"name": "amt", "dataType": "DOUBLE"},
    {"name": "st", "dataType": "STRUCT", "children": [{"name": "x", "dataType": "INT"}]},
]


def status(timestamp: int, state: str, run: str | None, **attributes: Any) -> Json:
    execution = {"executionId": run} if run else {}
    return {"timestamp": timestamp, "executionStatus": state, "taskStatus": [], **execution, **attributes}


_RICH = {
    "taskStatus": [
        {
            "name": "extract",
            "executionStatus": "Failed",
            "startTime": 1793000000000,
            "endTime": 1793000001000,
            "logLink": "https://logs.example.com/1",
        },
        {"name": "load", "executionStatus": "Failed", "startTime": 1793000001000},
    ],
    "endTime": 1793003605000,
    "version": "1.2",
    "parameters": {"n": 1, "date": "2026-10-26"},
    "inputs": [{"datasetFQN": "lb_nope.a.b.c", "columns": ["id"], "rowCount": 10, "sizeBytes": 100, "version": "7"}],
    "outputs": [{"datasetFQN": "lb_nope.a.b.d", "rowCount": 9, "sizeBytes": 90, "mode": "overwrite"}],
    "metrics": {"totalRowsProcessed": 9},
    "error": {
        "errorType": "AnalysisException",
        "errorMessage": "boom",
        "stackTrace": "at x\nat y",
        "failedTask": "load",
    },
}
#: Statuses from an earlier run of the recorder.
_EARLIER = [
    status(1792996400000, "Successful", "run-0"),
    status(1793000000000, "Failed", "run-1"),
    status(1793003600000, "Failed", "run-2", **_RICH),
    status(1793007200000, "Skipped", None),
    status(1793000000, "Successful", None),
    {"timestamp": 1793028800000, "executionStatus": "Successful"},
]
_SENSITIVE = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
#: Requests to send before the exchange of this name; "" is the beginning of the file.
STEPS: dict[str, dict[str, list[Json]]] = {
    "03-tables": {
        "": [service("database", "lb_meta", "CustomDatabase"), service("pipeline", "lb_txtp", "CustomPipeline")]
    },
    "04-bulk": {
        "": [*schema("lb_bulk"), service("pipeline", "lb_bulkp", "Spark"), service("storage", "lb_bulks", "S3")],
        "bot_does_not_overwrite": [
            patch(
                "tables/name/lb_bulk.d.s.t1",
                [
                    {"op": "add", "path": "/description", "value": "by a human"},
                    {"op": "add", "path": "/tags/-", "value": _SENSITIVE},
                ],
                "admin",
            )
        ],
        "bulk_restores": [delete("tables/name/lb_bulk.d.s.t2")],
    },
    "05-containers-topics": {
        "": [service("storage", "lb_store", "CustomStorage"), service("messaging", "lb_msg", "Kafka")]
    },
    "06-pipelines-status": {
        "": [service("pipeline", "lb_sched", "CustomPipeline")],
        "status_pending": [put("pipelines/lb_sched.%22daily.load%22/status/bulk", _EARLIER)],
    },
    "07-lineage": {
        "": [
            *schema("lb_lin"),
            *tables("lb_lin.d.s", "a", "b", "x1", "y1", columns=_LINEAGE_COLUMNS),
            *tables("lb_lin.d.s", "c", "d.dot", columns=_LINEAGE_COLUMNS),
            service("pipeline", "lb_linp", "CustomPipeline"),
            put("pipelines", {"name": "p1", "service": "lb_linp"}),
            put("pipelines", {"name": "p2", "service": "lb_linp"}),
            service("storage", "lb_lins", "CustomStorage"),
            put("containers", {"name": "k", "service": "lb_lins", "dataModel": {"columns": [COLUMN]}}),
            service("messaging", "lb_linm", "Kafka"),
            put(
                "topics",
                {
                    "name": "o",
                    "service": "lb_linm",
                    "partitions": 1,
                    "messageSchema": {
                        "schemaType": "Avro",
                        "schemaFields": [
                            {"name": "rec", "dataType": "RECORD", "children": [{"name": "id", "dataType": "LONG"}]}
                        ],
                    },
                },
            ),
        ]
    },
    "08-quality": {
        "": [
            *schema("lb_qual"),
            *tables("lb_qual.d.s", "t", columns=_QUALITY_COLUMNS),
            service("storage", "lb_quals", "CustomStorage"),
            put("containers", {"name": "c", "service": "lb_quals"}),
            put(
                "dataQuality/testDefinitions", {"name": "lbNoDesc", "entityType": "TABLE", "testPlatforms": ["Other"]}
            ),
        ],
        "case_recreated": tables("lb_qual.d.s", "t", columns=_QUALITY_COLUMNS),
    },
    "09-profile": {
        "": [
            *schema("lb_prof"),
            *tables(
                "lb_prof.d.s",
                "t",
                columns=[
                    COLUMN,
                    {"name": "st", "dataType": "STRUCT", "children": [{"name": "x", "dataType": "INT"}]},
                ],
            ),
        ]
    },
    "10-governance": {"": GOVERNANCE_STEPS},
    "11-events": {"": BEFORE, "events_all": CHANGES},
    "12-errors": {
        "": schema("lb_err"),
        "concurrent_status_0": [put("pipelines", {"name": "p", "service": "lb_race"})],
    },
    "13-search-listing": {
        "": [
            *schema("lb_list"),
            *tables("lb_list.d.s", *(f"t{n}" for n in range(7)), columns=[{"name": "id", "dataType": "INT"}]),
            delete("tables/name/lb_list.d.s.t6"),
            service("database", "lb dotted.name", "CustomDatabase"),
        ]
    },
}

#: Recorded ids of tables that appear in no recorded response.
_UNSHOWN = {
    "3e5e76cc-f6a3-4bc3-88ff-cc570a3a8990": "lb_err.d.s.rb0",
    "7b33f771-2452-4714-94f2-aa997825a53f": "lb_err.d.s.rb1",
}


#: Clock settings by file and by the exchange before which they apply.
CLOCKS = {"11-events": {"": SINCE - 50_000, "events_all": SINCE + 8}}


def begin(replay: Replay, file: str) -> None:
    """Prepare a stand-in for the start of a recorded file."""
    add_governance(replay, file)
    prepare(replay, file, "")


def prepare(replay: Replay, file: str, exchange: str) -> None:
    """Send the steps before an exchange."""
    if exchange in CLOCKS.get(file, {}):
        replay.standin.store.clock = count(CLOCKS[file][exchange]).__next__
    for step in STEPS.get(file, {}).get(exchange, []):
        status, _, body = replay.send(step)
        assert status < 300, (step, body)


def add_governance(replay: Replay, file: str) -> None:
    """Add labels and references that a recorded file uses without creating them."""
    replay.names |= _UNSHOWN
    if file == "10-governance":
        return
    governance = replay.standin.governance
    for name in ("Raw", "v1.2"):
        governance.add_tag("lbClass", name)
    for name in ("A", "B"):
        governance.add_tag("lbExcl", name, exclusive=True)
    governance.add_tag("lbGlossary", "Customer", source="Glossary")
    for type_, name in [("user", "lb_alice"), ("user", "lb_bob"), ("team", "lbTeam")]:
        governance.add(type_, name)
    governance.add("domain", "lbDomain", "sales")
    governance.add("domain", "lbDomain2", "x")
    governance.add("dataProduct", "lbProduct", "orders mart", domain="lbDomain")
