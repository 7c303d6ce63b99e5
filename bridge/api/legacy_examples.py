"""What the legacy routes take, as the description of the API shows it."""

from typing import Any, NamedTuple

from mappers.legacy.contracts import Contract


class Route(NamedTuple):
    """One route and a body it takes."""

    path: str
    contract: Contract
    summary: str
    required: tuple[str, ...]
    example: dict[str, Any]


HISTORICAL = {
    "name": "historical",
    "in": "query",
    "required": False,
    "schema": {"type": "boolean", "default": False},
    "description": "The event is history: it is marked as such, and merged like any other.",
}

REGISTERED = {
    "type": "object",
    "required": ["registration", "status"],
    "properties": {
        "registration": {"type": ["string", "null"], "description": "The id, once the request could be merged."},
        "status": {"const": "PENDING"},
    },
}

_RUN_EVENT = {
    "eventType": "COMPLETE",
    "run": {
        "runId": "1261419/1",
        "startTime": "2025-09-08T07:00:00Z",
        "endTime": "2025-09-08T07:30:00Z",
        "facets": {"exitCode": 0},
    },
    "job": {"namespace": "AUTOSYS", "name": "BOX/JobA"},
    "inputs": [
        {
            "namespace": "db2://db2.example.com:50000",
            "name": "PROD.SCHEMA.TABLE_A",
            "facets": {"version": "2025-09-08T07:30"},
        }
    ],
    "outputs": [
        {"namespace": "S3", "name": "s3://bucket/out/v1", "facets": {"path": "s3://bucket/out/v1", "rows": 12345}}
    ],
}
_REQUEST = {
    "namespace": "S3",
    "name": "s3://bucket/out/v1",
    "submitted_by": "ann@example.com",
    "submitted_at": "2025-09-08T09:00:00Z",
    "description": "What the nightly load leaves",
    "schema": [{"name": "id", "type": "long"}],
    "owner": "team sales",
}
_DATASET = {
    "name": "s3://bucket/out/v1",
    "version": "2025-09-08",
    "status": "SUCCESS",
    "rows": 12345,
    "time": "2025-09-08T07:30:00Z",
}
_PROCESS = {
    "name": "BOX/JobA",
    "status": "SUCCESS",
    "runId": "1261419/1",
    "startTime": "2025-09-08T07:00:00Z",
    "endTime": "2025-09-08T07:30:00Z",
}

DESCRIBED = (
    Route(
        "/api/v1/run_event",
        Contract.RUN_EVENT,
        "A run event of a legacy job",
        ("eventType", "run", "job"),
        _RUN_EVENT,
    ),
    Route(
        "/api/v1/dataset/register",
        Contract.REQUEST,
        "A request to register a dataset, to be approved",
        ("name", "submitted_by"),
        _REQUEST,
    ),
    Route(
        "/api/v1/legacy/register_dataset",
        Contract.DATASET,
        "A version of a dataset that was made",
        ("name", "version", "time"),
        _DATASET,
    ),
    Route(
        "/api/v1/legacy/register_process",
        Contract.PROCESS,
        "A run of a process that happened",
        ("name", "status"),
        _PROCESS,
    ),
)
