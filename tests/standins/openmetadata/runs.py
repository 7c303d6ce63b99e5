"""Handlers of pipeline statuses."""

from typing import Any

from tests.standins.openmetadata import pipelines
from tests.standins.openmetadata.changes import Change
from tests.standins.openmetadata.errors import Unreadable, invalid_format, no_route, not_found, validation_error
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.kinds import BY_NAME
from tests.standins.openmetadata.shapes import list_of
from tests.standins.openmetadata.state import Data, Entity
from tests.standins.openmetadata.views import View, render

_KIND = BY_NAME["pipeline"]
_WRITTEN = View(href=False, reference_href=False)
_DELETED = View(href=False)


def _pipeline(call: Call) -> Entity:
    found = call.store.find(_KIND, call.args["fqn"])
    if found is None or found.deleted:
        raise not_found(_KIND.name, call.args["fqn"])
    return found


def put(call: Call) -> ApiResponse:
    row: Data = call.read(pipelines.STATUS)
    pipeline = _pipeline(call)
    return _respond(call, pipeline, pipelines.put_status(call.store, pipeline, row))


def put_bulk(call: Call) -> ApiResponse:
    """Store many statuses of a pipeline; one invalid row rejects all."""
    violations: list[str] = []
    try:
        rows: list[Any] = list_of(pipelines.STATUS)(call.json(), violations, "")
    except Unreadable:
        raise invalid_format() from None
    if len(rows) > pipelines.MAX_ROWS:
        violations.append(f"arg3 Bulk pipeline status list cannot exceed {pipelines.MAX_ROWS} items")
    if violations:
        raise validation_error(*sorted(set(violations)))
    pipeline = _pipeline(call)
    return _respond(call, pipeline, pipelines.put_statuses(call.store, pipeline, rows))


def _respond(call: Call, pipeline: Entity, change: Change | None) -> ApiResponse:
    body = render(call.base, pipeline, _WRITTEN)
    if change is None:
        return ApiResponse(body=body, headers={"X-OpenMetadata-Change": "entityNoChange"}, etag=True)
    description = change.describe(pipeline.data["version"], None)
    body["pipelineStatus"] = change.updated[0]["newValue"]
    now = call.store.now()
    body |= {"changeDescription": description, "incrementalChangeDescription": description, "updatedAt": now}
    call.store.events.record("entityUpdated", _KIND.name, body, call.principal.name, description)
    return ApiResponse(body=body, headers={"X-OpenMetadata-Change": "entityUpdated"}, etag=True)


def read(call: Call) -> ApiResponse:
    missing = [name for name in ("startTs", "endTs") if name not in call.query]
    if missing:
        raise validation_error(*(f"{name} must not be null" for name in missing))
    start, end = call.number("startTs"), call.number("endTs")
    rows = pipelines.between(call.store, _pipeline(call), start, end)
    return ApiResponse(body={"data": rows, "paging": {"total": len(rows)}})


def delete(call: Call) -> ApiResponse:
    pipeline = _pipeline(call)
    if not call.args["timestamp"].isdecimal():
        raise no_route()
    row = pipelines.delete_status(call.store, pipeline, int(call.args["timestamp"]))
    return ApiResponse(body={**render(call.base, pipeline, _DELETED), "pipelineStatus": row})
