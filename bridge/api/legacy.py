"""The routes of jobs that do not speak OpenLineage: their bodies become events, and go the way of all events."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

from bridge.api.description import refusals
from bridge.api.intake import Intake, refused
from bridge.api.legacy_examples import DESCRIBED, HISTORICAL, REGISTERED, Route
from bridge.api.problem import problem
from bridge.intake.legacy import Delivery, LegacyReader
from bridge.intake.reading import now_micros
from bridge.store.writer import Incoming, Rejected
from mappers.canonical.facts import DatasetRegistration
from mappers.legacy.contracts import Contract

_FLAG = {"true": True, "1": True, "yes": True, "": True, "false": False, "0": False, "no": False}


async def take_legacy(intake: Intake, legacy: LegacyReader, contract: Contract, request: Request) -> Response:
    """Take one legacy body: 201 once the events it became are on disk."""
    body = await intake.body(request.headers, request.receive)
    if isinstance(body, Response):
        return body
    flag = request.query_params.get("historical", "false")
    historical = _FLAG.get(flag.lower())
    if historical is None:
        return problem(400, "Not a flag", f"historical is true or false, not {flag[:32]!r}", field="historical")
    delivery = Delivery(contract, historical)
    if body.error is None:
        found = legacy.read(body.unpacked, delivery, now_micros())
    else:
        found = legacy.refuse(body.sent, delivery, body.error)
    unavailable = await intake.commit([found] if isinstance(found, Rejected) else found)
    if unavailable is not None:
        return unavailable
    if isinstance(found, Rejected):
        return refused(found, "Not what this route takes")
    return _registered(found) if contract is Contract.REQUEST else Response(status_code=201)


def _registered(items: Sequence[Incoming]) -> Response:
    """Tell the id of a request; it has none yet when its event is kept but could not be merged."""
    rows = (row for item in items for row in item.rows if isinstance(row, DatasetRegistration))
    row = next(rows, None)
    return JSONResponse({"registration": row.reg_id.hex() if row else None, "status": "PENDING"}, 201)


def add_legacy_routes(app: FastAPI, running: Callable[[], Intake | None], legacy: LegacyReader) -> None:
    """Add the routes of all legacy contracts to an application."""
    for route in DESCRIBED:
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
    contract: Contract, running: Callable[[], Intake | None], legacy: LegacyReader
) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        intake = running()
        if intake is None:
            return problem(503, "Starting", "the service is starting")
        return await take_legacy(intake, legacy, contract, request)

    return handle


def _answers(contract: Contract) -> dict[int | str, dict[str, Any]]:
    taken: dict[str, Any] = {"description": "On disk, and merged or kept with the reason why not."}
    if contract is Contract.REQUEST:
        taken["content"] = {"application/json": {"schema": REGISTERED}}
    return {201: taken, **refusals()}


def _described(route: Route) -> dict[str, Any]:
    schema = {"type": "object", "required": list(route.required), "additionalProperties": True}
    content = {"application/json": {"schema": schema, "example": route.example}}
    return {"parameters": [HISTORICAL], "requestBody": {"required": True, "content": content}}
