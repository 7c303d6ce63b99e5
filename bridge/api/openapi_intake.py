"""OpenAPI descriptions of intake routes and problem responses."""

from typing import Any

from bridge.api.problem import PROBLEM_TYPE

OpenApiObject = dict[str, Any]

_TEXT: OpenApiObject = {"type": "string"}
_NAME: OpenApiObject = {"type": "string", "minLength": 1}
_COUNT: OpenApiObject = {"type": "integer", "minimum": 0}
_FACETS: OpenApiObject = {
    "type": ["object", "null"],
    "description": "Facets by their keys; what is no object is ignored, with a note.",
    "additionalProperties": True,
}


def _object(required: list[str], **properties: OpenApiObject) -> OpenApiObject:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": True}


_DATASET = _object(
    ["namespace", "name"], namespace=_NAME, name=_NAME, facets=_FACETS, inputFacets=_FACETS, outputFacets=_FACETS
)
_DATASETS: OpenApiObject = {"type": ["array", "null"], "items": _DATASET}
EVENT: OpenApiObject = {
    **_object(
        ["eventTime"],
        eventTime=_TEXT | {"format": "date-time", "description": "Without a time zone it is read as UTC."},
        eventType=_TEXT | {"description": "START, RUNNING, COMPLETE, FAIL, ABORT, or read as OTHER."},
        producer=_TEXT,
        schemaURL=_TEXT,
        run=_object(["runId"], runId=_TEXT | {"description": "Best a UUID; else one is computed."}, facets=_FACETS),
        job=_object(["namespace", "name"], namespace=_NAME, name=_NAME, facets=_FACETS),
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

PROBLEM = _object(
    ["type", "title", "status", "detail"],
    type=_TEXT,
    title=_TEXT,
    status={"type": "integer"},
    detail=_TEXT,
    field=_TEXT | {"description": "What is wrong, as a path in what was sent."},
    conflicts={"type": "array", "items": {"type": "object", "additionalProperties": {"type": ["string", "null"]}}},
    rejected=_TEXT | {"description": "The hash under which it is kept: see `lineage-bridge rejected`."},
)
_REFUSALS = {
    400: "Refused: `field` names what is wrong. What was sent to be taken is kept: `rejected` is its hash.",
    401: "No API key, or an unknown one.",
    403: "The API key lacks the scope.",
    404: "Nothing in the store is called so.",
    409: "What is there forbids it: `conflicts` names each dataset in the way, what is there, and why.",
    413: "Over a limit of the intake.",
    415: "Not JSON, or in an encoding other than gzip.",
    500: "The store cannot be read.",
    503: "Not now: try again.",
}
_OF_INTAKE = (400, 401, 403, 413, 415, 503)


def problem_responses(*statuses: int) -> dict[int | str, OpenApiObject]:
    """Describe the answers of these statuses, those of the intake when none is named: each is a problem."""
    content = {PROBLEM_TYPE: {"schema": PROBLEM}}
    return {status: {"description": _REFUSALS[status], "content": content} for status in statuses or _OF_INTAKE}


def _json(description: str, schema: OpenApiObject) -> OpenApiObject:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


_SUMMARY = _object(["received", "successful", "failed"], received=_COUNT, successful=_COUNT, failed=_COUNT)
_FAILED: OpenApiObject = {
    "type": "array",
    "items": _object(["index", "reason", "retriable"], index=_COUNT, reason=_TEXT, retriable={"const": False}),
}
_STATUS: OpenApiObject = {"enum": ["success", "partial_success", "failure"]}
_SOME_FAILED = _object(
    ["status", "summary", "failed_events"], status=_STATUS, summary=_SUMMARY, failed_events=_FAILED
)
_TAKEN = _object(
    ["status", "message", "lineageEdgesCreated"], status=_STATUS, message=_TEXT, lineageEdgesCreated=_COUNT
)
_ALL_TAKEN = _object(
    [*_TAKEN["required"], "summary", "failedEvents"],
    **_TAKEN["properties"],
    summary=_SUMMARY,
    failedEvents=_FAILED,
)
_ANY: OpenApiObject = {"description": "An event; what is none is named in the answer, and the others are taken."}


def _route(
    summary: str, schema: OpenApiObject, example: Any, answers: dict[int | str, OpenApiObject]
) -> OpenApiObject:
    responses = {str(status): answer for status, answer in (answers | problem_responses()).items()}
    content = {"application/json": {"schema": schema, "example": example}}
    return {
        "post": {"summary": summary, "requestBody": {"required": True, "content": content}, "responses": responses}
    }


LINEAGE_ROUTES: dict[str, OpenApiObject] = {
    "/api/v1/lineage": _route("Take an event", EVENT, _EXAMPLE, {201: {"description": "On disk."}}),
    "/api/v1/lineage/batch": _route(
        "Take events",
        {"type": "array", "items": _ANY},
        [_EXAMPLE],
        {204: {"description": "All on disk."}, 200: _json("On disk, but for those that are named.", _SOME_FAILED)},
    ),
    "/api/v1/openlineage/lineage": _route(
        "Take an event, as OpenMetadata does", EVENT, _EXAMPLE, {200: _json("On disk.", _TAKEN)}
    ),
    "/api/v1/openlineage/lineage/batch": _route(
        "Take events, as OpenMetadata does",
        _object(["events"], events={"type": "array", "items": _ANY}),
        {"events": [_EXAMPLE]},
        {200: _json("On disk, but for those that are named.", _ALL_TAKEN)},
    ),
}


def add_intake_routes(openapi: OpenApiObject) -> OpenApiObject:
    """Add the routes that the framework does not know to its description of the others."""
    return {**openapi, "paths": LINEAGE_ROUTES | openapi["paths"]}
