"""The routes of jobs that do not speak OpenLineage: their bodies become events, and go the way of all events."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

from bridge.api.examples import HISTORICAL_PARAMETER, LEGACY_ROUTES, REGISTRATION_SCHEMA, LegacyRoute
from bridge.api.intake import Intake, rejection_response
from bridge.api.openapi_intake import problem_responses
from bridge.api.problem import problem
from bridge.clock import now_micros
from bridge.intake.legacy import LegacyInputKind, LegacyReader
from bridge.store.event_log import IncomingEvent, RejectedInput
from mappers.canonical.rows import DatasetRegistrationRow
from mappers.legacy.formats import LegacyFormat

_FLAG = {"true": True, "1": True, "yes": True, "": True, "false": False, "0": False, "no": False}


async def ingest_legacy(intake: Intake, legacy: LegacyReader, contract: LegacyFormat, request: Request) -> Response:
    """Take one legacy body: 201 once the events it became are on disk."""
    body = await intake.read_body(request.headers, request.receive)
    if isinstance(body, Response):
        return body
    flag = request.query_params.get("historical", "false")
    historical = _FLAG.get(flag.lower())
    if historical is None:
        return problem(400, "Not a flag", f"historical is true or false, not {flag[:32]!r}", field="historical")
    delivery = LegacyInputKind(contract, historical)
    if body.error is None:
        found = legacy.read(body.unpacked, delivery, now_micros())
    else:
        found = legacy.reject(body.sent, delivery, body.error)
    unavailable = await intake.commit([found] if isinstance(found, RejectedInput) else found)
    if unavailable is not None:
        return unavailable
    if isinstance(found, RejectedInput):
        return rejection_response(found, "Not what this route takes")
    return _registered(found) if contract is LegacyFormat.REQUEST else Response(status_code=201)


def _registered(items: Sequence[IncomingEvent]) -> Response:
    """Tell the id of a request; it has none yet when its event is kept but could not be merged."""
    rows = (row for item in items for row in item.rows if isinstance(row, DatasetRegistrationRow))
    row = next(rows, None)
    return JSONResponse({"registration": row.reg_id.hex() if row else None, "status": "PENDING"}, 201)


def add_legacy_routes(app: FastAPI, running: Callable[[], Intake | None], legacy: LegacyReader) -> None:
    """Add the routes of all legacy contracts to an application."""
    for route in LEGACY_ROUTES:
        app.post(
            route.path,
            status_code=201,
            summary=route.summary,
            name=str(route.contract),
            response_class=Response,
            responses=_answers(route.contract),
            openapi_extra=_described(route),
        )(_handler(route.contract, running, legacy))


def _handler(
    contract: LegacyFormat, running: Callable[[], Intake | None], legacy: LegacyReader
) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        intake = running()
        if intake is None:
            return problem(503, "Starting", "the service is starting")
        return await ingest_legacy(intake, legacy, contract, request)

    return handle


def _answers(contract: LegacyFormat) -> dict[int | str, dict[str, Any]]:
    taken: dict[str, Any] = {"description": "On disk, and merged or kept with the reason why not."}
    if contract is LegacyFormat.REQUEST:
        taken["content"] = {"application/json": {"schema": REGISTRATION_SCHEMA}}
    return {201: taken, **problem_responses()}


def _described(route: LegacyRoute) -> dict[str, Any]:
    schema = {"type": "object", "required": list(route.required), "additionalProperties": True}
    content = {"application/json": {"schema": schema, "example": route.example}}
    return {"parameters": [HISTORICAL_PARAMETER], "requestBody": {"required": True, "content": content}}
