"""Routes for legacy job formats (run_event, dataset and process registration)."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

from bridge.api.examples import HISTORICAL_PARAMETER, LEGACY_ROUTES, REGISTRATION_SCHEMA, LegacyRoute
from bridge.api.intake import Intake, RequestBody, rejection_response
from bridge.api.openapi_intake import problem_responses
from bridge.api.problem import problem
from bridge.clock import now_micros
from bridge.intake.legacy import LegacyInputKind
from bridge.store.event_log import IncomingEvent, RejectedInput
from mappers.canonical.rows import DatasetRegistrationRow
from mappers.errors import TransientError
from mappers.legacy.formats import LegacyFormat

_BOOLEAN_VALUES = {"true": True, "1": True, "yes": True, "": True, "false": False, "0": False, "no": False}


async def ingest_legacy(intake: Intake, legacy_format: LegacyFormat, request: Request) -> Response:
    """Ingest one legacy body, and respond with 201 once its events are stored durably."""
    with intake.body_memory() as memory:
        body = await intake.read_body(request.headers, request.receive, memory)
        if isinstance(body, Response):
            return body
        try:
            return await _ingest_body(intake, legacy_format, request, body)
        except TransientError as error:
            return intake.unavailable_response(error)


async def _ingest_body(intake: Intake, legacy_format: LegacyFormat, request: Request, body: RequestBody) -> Response:
    historical_text = request.query_params.get("historical", "false")
    historical = _BOOLEAN_VALUES.get(historical_text.lower())
    if historical is None:
        return problem(
            400,
            "Bad parameter",
            f"historical must be true or false, not {historical_text[:32]!r}",
            field="historical",
        )
    input_kind = LegacyInputKind(legacy_format, historical)
    if body.error is None:
        result = await intake.reader.read_legacy(body.content, input_kind, now_micros(), body.key)
    else:
        result = intake.reader.reject_legacy(body.sent, input_kind, body.error)
    unavailable_response = await intake.commit([result] if isinstance(result, RejectedInput) else result, body.key)
    if unavailable_response is not None:
        return unavailable_response
    if isinstance(result, RejectedInput):
        return rejection_response(result, "Invalid body")
    return _registration_response(result) if legacy_format is LegacyFormat.REQUEST else Response(status_code=201)


def _registration_response(items: Sequence[IncomingEvent]) -> Response:
    """Respond with the registration id, or with null if the event is stored but could not be merged."""
    rows = (row for item in items for row in item.rows if isinstance(row, DatasetRegistrationRow))
    row = next(rows, None)
    return JSONResponse({"registration": row.reg_id.hex() if row else None, "status": "PENDING"}, 201)


def add_legacy_routes(app: FastAPI, get_intake: Callable[[], Intake | None]) -> None:
    for route in LEGACY_ROUTES:
        app.post(
            route.path,
            status_code=201,
            summary=route.summary,
            name=str(route.legacy_format),
            response_class=Response,
            responses=_openapi_responses(route.legacy_format),
            openapi_extra=_openapi_operation(route),
        )(_make_handler(route.legacy_format, get_intake))


def _make_handler(legacy_format: LegacyFormat, get_intake: Callable[[], Intake | None]) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        intake = get_intake()
        if intake is None:
            return problem(503, "Starting", "the service is starting")
        return await ingest_legacy(intake, legacy_format, request)

    return handle


def _openapi_responses(legacy_format: LegacyFormat) -> dict[int | str, dict[str, Any]]:
    created_response: dict[str, Any] = {
        "description": "Stored durably. If an event could not be merged, the reason is stored with it."
    }
    if legacy_format is LegacyFormat.REQUEST:
        created_response["content"] = {"application/json": {"schema": REGISTRATION_SCHEMA}}
    return {201: created_response, **problem_responses()}


def _openapi_operation(route: LegacyRoute) -> dict[str, Any]:
    schema = {"type": "object", "required": list(route.required), "additionalProperties": True}
    content = {"application/json": {"schema": schema, "example": route.example}}
    return {"parameters": [HISTORICAL_PARAMETER], "requestBody": {"required": True, "content": content}}
