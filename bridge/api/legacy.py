"""The routes of jobs that do not speak OpenLineage: their bodies become events, and go the way of all events."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

from bridge.api.body import Bodies
from bridge.api.legacy_examples import DESCRIBED, HISTORICAL, Route
from bridge.api.metrics import Metrics
from bridge.api.problem import problem, refused
from bridge.intake.gate import Gate
from bridge.intake.legacy import Delivery, LegacyReader
from bridge.intake.reading import now_micros
from bridge.settings import IntakeSettings
from bridge.store.writer import Incoming, Rejected
from mappers.canonical.facts import DatasetRegistration
from mappers.errors import RefusedEvent, TooLarge, TransientError
from mappers.legacy.contracts import Contract

_FLAG = {"true": True, "1": True, "yes": True, "": True, "false": False, "0": False, "no": False}


class LegacyEndpoint:
    """Takes legacy bodies: one in, 201 once the events it became are on disk."""

    def __init__(
        self,
        legacy: LegacyReader,
        gate: Gate,
        metrics: Metrics,
        limits: IntakeSettings,
        clock: Callable[[], int] = now_micros,
    ) -> None:
        self._legacy = legacy
        self._gate = gate
        self._metrics = metrics
        self._bodies = Bodies(limits)
        self._clock = clock

    async def answer(self, contract: Contract, request: Request) -> Response:
        """Answer one request."""
        refusal = self._bodies.refusal(request.headers)
        if refusal is not None:
            return refusal
        flag = request.query_params.get("historical", "false")
        historical = _FLAG.get(flag.lower())
        if historical is None:
            return problem(400, "Not a flag", f"historical is true or false, not {flag[:32]!r}", field="historical")
        delivery = Delivery(contract, historical)
        try:
            body = await self._bodies.receive(request.headers, request.receive)
        except TooLarge as error:
            return await self._commit(self._legacy.refuse(b"", delivery, error), contract)
        if body is None:
            return Response(status_code=400)
        return await self._commit(self._read(request, body, delivery), contract)

    def _read(self, request: Request, body: bytes, delivery: Delivery) -> list[Incoming] | Rejected:
        try:
            unpacked = self._bodies.unpack(request.headers, body)
        except (RefusedEvent, TooLarge) as error:
            return self._legacy.refuse(body, delivery, error)
        return self._legacy.read(unpacked, delivery, self._clock())

    async def _commit(self, found: list[Incoming] | Rejected, contract: Contract) -> Response:
        try:
            await self._gate.commit([found] if isinstance(found, Rejected) else found)
        except TransientError as error:
            self._metrics.refused("unavailable")
            return problem(503, "Cannot take events now", f"{error}: send it again")
        if isinstance(found, Rejected):
            self._metrics.refused("too_large" if found.too_large else "rejected")
            return refused(found, "Not what this route takes")
        for item in found:
            self._metrics.accepted(unmerged=item.failure is not None)
        return _registered(found) if contract is Contract.REQUEST else Response(status_code=201)


def _registered(items: Sequence[Incoming]) -> Response:
    """Tell the id of a request; it has none yet when its event is kept but could not be merged."""
    rows = (row for item in items for row in item.rows if isinstance(row, DatasetRegistration))
    row = next(rows, None)
    return JSONResponse({"registration": row.reg_id.hex() if row else None, "status": "PENDING"}, 201)


def add_legacy_routes(
    app: FastAPI,
    endpoint: Callable[[], LegacyEndpoint | None],
    refusal: Callable[[Request], Response | None],
) -> None:
    """Add the routes of all legacy contracts to an application."""
    for route in DESCRIBED:
        app.post(
            route.path,
            status_code=201,
            summary=route.summary,
            name=str(route.contract),
            response_class=Response,
            responses=_answers(),
            openapi_extra=_described(route),
        )(_handler(route.contract, endpoint, refusal))


def _handler(
    contract: Contract,
    endpoint: Callable[[], LegacyEndpoint | None],
    refusal: Callable[[Request], Response | None],
) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        refused_ = refusal(request)
        if refused_ is not None:
            return refused_
        running = endpoint()
        if running is None:
            return problem(503, "Starting", "the service is starting")
        return await running.answer(contract, request)

    return handle


def _answers() -> dict[int | str, dict[str, Any]]:
    return {
        201: {"description": "On disk, and merged or kept with the reason why not."},
        400: {"description": "Refused, and kept: `field` names what is wrong, `rejected` is its hash."},
        413: {"description": "Over a limit of the intake."},
        415: {"description": "Not JSON, or in an encoding other than gzip."},
        503: {"description": "Not on disk: send it again."},
    }


def _described(route: Route) -> dict[str, Any]:
    schema = {"type": "object", "required": list(route.required), "additionalProperties": True}
    content = {"application/json": {"schema": schema, "example": route.example}}
    return {"parameters": [HISTORICAL], "requestBody": {"required": True, "content": content}}
