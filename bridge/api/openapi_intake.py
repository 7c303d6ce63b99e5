"""OpenAPI descriptions of intake routes and problem responses."""

from typing import Any

from bridge.api.problem import PROBLEM_TYPE

OpenApiObject = dict[str, Any]

_STRING: OpenApiObject = {"type": "string"}
_NAME: OpenApiObject = {"type": "string", "minLength": 1}
_COUNT: OpenApiObject = {"type": "integer", "minimum": 0}
_FACETS: OpenApiObject = {
    "type": ["object", "null"],
    "description": "Facets by key; values that are not objects are ignored with a note.",
    "additionalProperties": True,
}


def _object_schema(required: list[str], **properties: OpenApiObject) -> OpenApiObject:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": True}


_DATASET = _object_schema(
    ["namespace", "name"], namespace=_NAME, name=_NAME, facets=_FACETS, inputFacets=_FACETS, outputFacets=_FACETS
)
_DATASETS: OpenApiObject = {"type": ["array", "null"], "items": _DATASET}
EVENT: OpenApiObject = {
    **_object_schema(
        ["eventTime"],
        eventTime=_STRING | {"format": "date-time", "description": "UTC if it has no time zone."},
        eventType=_STRING
        | {"description": "START, RUNNING, COMPLETE, FAIL or ABORT; anything else counts as OTHER."},
        producer=_STRING,
        schemaURL=_STRING,
        run=_object_schema(
            ["runId"], runId=_STRING | {"description": "Preferably a UUID; otherwise one is derived."}, facets=_FACETS
        ),
        job=_object_schema(["namespace", "name"], namespace=_NAME, name=_NAME, facets=_FACETS),
        dataset=_DATASET,
        inputs=_DATASETS,
        outputs=_DATASETS,
    ),
    "description": "A run with its job, a job, or a dataset.",
    "anyOf": [{"required": ["job"]}, {"required": ["dataset"], "not": {"required": ["run"]}}],
}
_EXAMPLE = {
    "eventTime": "2026-01-01T00:00:00Z",
    "eventType": "COMPLETE",
    "producer": "https://example.com/etl",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "01941f29-7c00-7000-8000-000000000001"},
    "job": {"namespace": "airflow", "name": "sales.daily"},
    "inputs": [{"namespace": "postgres://db.example.com:5432", "name": "shop.public.orders"}],
    "outputs": [{"namespace": "s3://lake", "name": "sales/daily"}],
}

PROBLEM = _object_schema(
    ["type", "title", "status", "detail"],
    type=_STRING,
    title=_STRING,
    status={"type": "integer"},
    detail=_STRING,
    field=_STRING | {"description": "Path of the invalid value in the request."},
    conflicts={"type": "array", "items": {"type": "object", "additionalProperties": {"type": ["string", "null"]}}},
    similar={"type": "array", "items": _STRING, "description": "Datasets with names similar to an unknown name."},
    candidates={
        "type": "array",
        "items": {"type": "object", "additionalProperties": _STRING},
        "description": "Id, namespace and name of the datasets that match an ambiguous name.",
    },
    rejected=_STRING | {"description": "The hash under which the input is stored: see `lineage-bridge rejected`."},
)
_PROBLEMS = {
    400: "Rejected; `field` names the invalid value, `rejected` the stored input.",
    401: "API key missing or unknown.",
    403: "The API key lacks the scope.",
    404: "Not found.",
    409: "Conflict; `conflicts` lists the datasets concerned, their current state and the reason.",
    413: "Larger than an intake limit.",
    415: "Not JSON, or in an encoding other than gzip.",
    500: "The store cannot be read.",
    503: "Temporarily unavailable, retry later.",
}
_INTAKE_STATUSES = (400, 401, 403, 413, 415, 503)


def problem_responses(*statuses: int) -> dict[int | str, OpenApiObject]:
    """Return the problem responses by status. Without statuses, return those of the intake routes."""
    content = {PROBLEM_TYPE: {"schema": PROBLEM}}
    return {status: {"description": _PROBLEMS[status], "content": content} for status in statuses or _INTAKE_STATUSES}


def _json_response(description: str, schema: OpenApiObject) -> OpenApiObject:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


_SUMMARY = _object_schema(["received", "successful", "failed"], received=_COUNT, successful=_COUNT, failed=_COUNT)
_FAILED: OpenApiObject = {
    "type": "array",
    "items": _object_schema(
        ["index", "reason", "retriable"], index=_COUNT, reason=_STRING, retriable={"const": False}
    ),
}
_STATUS: OpenApiObject = {"enum": ["success", "partial_success", "failure"]}
_PARTIAL_SUCCESS = _object_schema(
    ["status", "summary", "failed_events"], status=_STATUS, summary=_SUMMARY, failed_events=_FAILED
)
_OPENMETADATA_EVENT_RESULT = _object_schema(
    ["status", "message", "lineageEdgesCreated"], status=_STATUS, message=_STRING, lineageEdgesCreated=_COUNT
)
_OPENMETADATA_BATCH_RESULT = _object_schema(
    [*_OPENMETADATA_EVENT_RESULT["required"], "summary", "failedEvents"],
    **_OPENMETADATA_EVENT_RESULT["properties"],
    summary=_SUMMARY,
    failedEvents=_FAILED,
)
_ANY_EVENT: OpenApiObject = {
    "description": "An event. Invalid events are listed in the response; the others are ingested."
}


def _post_route(
    summary: str, schema: OpenApiObject, example: Any, successes: dict[int | str, OpenApiObject]
) -> OpenApiObject:
    responses = {str(status): response for status, response in (successes | problem_responses()).items()}
    content = {"application/json": {"schema": schema, "example": example}}
    return {
        "post": {"summary": summary, "requestBody": {"required": True, "content": content}, "responses": responses}
    }


LINEAGE_ROUTES: dict[str, OpenApiObject] = {
    "/api/v1/lineage": _post_route("Ingest an event", EVENT, _EXAMPLE, {201: {"description": "Stored durably."}}),
    "/api/v1/lineage/batch": _post_route(
        "Ingest a batch of events",
        {"type": "array", "items": _ANY_EVENT},
        [_EXAMPLE],
        {
            204: {"description": "All events are stored durably."},
            200: _json_response("Stored durably, except the events listed in the response.", _PARTIAL_SUCCESS),
        },
    ),
    "/api/v1/openlineage/lineage": _post_route(
        "Ingest an event (OpenMetadata format)",
        EVENT,
        _EXAMPLE,
        {200: _json_response("Stored durably.", _OPENMETADATA_EVENT_RESULT)},
    ),
    "/api/v1/openlineage/lineage/batch": _post_route(
        "Ingest a batch of events (OpenMetadata format)",
        _object_schema(["events"], events={"type": "array", "items": _ANY_EVENT}),
        {"events": [_EXAMPLE]},
        {
            200: _json_response(
                "Stored durably, except the events listed in the response.", _OPENMETADATA_BATCH_RESULT
            )
        },
    ),
}


def add_intake_routes(openapi: OpenApiObject) -> OpenApiObject:
    """Add the intake routes, which bypass the framework, to its OpenAPI document."""
    return {**openapi, "paths": LINEAGE_ROUTES | openapi["paths"]}
