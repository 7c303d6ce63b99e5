"""Request examples of command and legacy routes, shown in the OpenAPI document."""

from typing import Any, NamedTuple

from bridge.versions.command import Command
from bridge.versions.metadata_commands import PatchMetadataCommand, RegisterDefinitionCommand
from bridge.versions.publish_commands import PublishCommand, RollBackCommand
from bridge.versions.version_commands import (
    DiscardCommand,
    InvalidateCommand,
    PinCommand,
    ResolveCommand,
    UnpinCommand,
)
from mappers.legacy.formats import LegacyFormat

_DAILY, _WEEKLY = ({"namespace": "s3://lake", "name": f"sales/{name}"} for name in ("daily", "weekly"))
_AUTHOR = {"by": "ann", "why": "January rates corrected"}

EXAMPLES: dict[type[Command[Any]], dict[str, Any]] = {
    PublishCommand: {
        "datasets": [
            _DAILY | {"version": "v2", "expected": "v1"},
            _WEEKLY | {"version": "latest"},
        ],
        **_AUTHOR,
    },
    ResolveCommand: {"datasets": [_DAILY, _WEEKLY | {"pin": "latest"}]},
    RollBackCommand: {"datasets": [_DAILY | {"expected": "v2"}], "by": "bob", "why": "rows are missing"},
    PinCommand: {
        "pin": "january",
        "until": "2099-12-31T00:00:00Z",
        "datasets": [_DAILY | {"version": "v1"}, _WEEKLY | {"version": "v2"}],
        **_AUTHOR,
    },
    UnpinCommand: {"pin": "january", **_WEEKLY},
    InvalidateCommand: _DAILY | {"version": "v2", "reason": "rows are missing", "by": "bob"},
    DiscardCommand: _DAILY | {"versions": ["v1", "v2"], "reason": "older than 90 days", "by": "bob"},
    PatchMetadataCommand: _DAILY
    | {"version": "v1", "metadata": {"reviewed": {"by": "ann"}}, "checksum": "sha256:9f2c"},
    RegisterDefinitionCommand: {
        "namespace": "lineage-bridge",
        "name": "sales.daily",
        "definition": {"outputs": [{"dataset": "sales/daily"}]},
        "by": "ann",
    },
}


class LegacyRoute(NamedTuple):
    """A route for a legacy format, described for the OpenAPI document."""

    path: str
    legacy_format: LegacyFormat
    summary: str
    required: tuple[str, ...]
    example: dict[str, Any]


HISTORICAL_PARAMETER = {
    "name": "historical",
    "in": "query",
    "required": False,
    "schema": {"type": "boolean", "default": False},
    "description": "Marks the event as historical; it is merged like any other.",
}

REGISTRATION_SCHEMA = {
    "type": "object",
    "required": ["registration", "status"],
    "properties": {
        "registration": {
            "type": ["string", "null"],
            "description": "The id; null if the request is stored but could not be merged.",
        },
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
    "description": "Output of the nightly load",
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

LEGACY_ROUTES = (
    LegacyRoute(
        "/api/v1/run_event",
        LegacyFormat.RUN_EVENT,
        "Ingest a run event of a legacy job",
        ("eventType", "run", "job"),
        _RUN_EVENT,
    ),
    LegacyRoute(
        "/api/v1/dataset/register",
        LegacyFormat.REQUEST,
        "Request approval of a dataset",
        ("name", "submitted_by"),
        _REQUEST,
    ),
    LegacyRoute(
        "/api/v1/legacy/register_dataset",
        LegacyFormat.DATASET,
        "Register a dataset version",
        ("name", "version", "time"),
        _DATASET,
    ),
    LegacyRoute(
        "/api/v1/legacy/register_process",
        LegacyFormat.PROCESS,
        "Register a process run",
        ("name", "status"),
        _PROCESS,
    ),
)
