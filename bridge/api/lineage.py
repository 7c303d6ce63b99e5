"""POST /api/v1/lineage: one event in, 201 once it is on disk."""

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bridge.api.auth import Authorizer
from bridge.api.body import Bodies
from bridge.api.metrics import Metrics
from bridge.api.problem import problem, refused
from bridge.intake.gate import Gate
from bridge.intake.reading import Reader
from bridge.settings import IntakeSettings
from bridge.store.writer import Incoming, Rejected
from mappers.errors import RefusedEvent, TooLarge, TransientError

_CREATED = Response(status_code=201)
_GONE = Response(status_code=400)


class LineageEndpoint:
    """Takes OpenLineage events. A bare ASGI application: this is the path that every event walks."""

    def __init__(
        self, reader: Reader, gate: Gate, authorizer: Authorizer, metrics: Metrics, limits: IntakeSettings
    ) -> None:
        self._reader = reader
        self._gate = gate
        self._authorizer = authorizer
        self._metrics = metrics
        self._bodies = Bodies(limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        answer = await self._answer(Headers(scope=scope), receive)
        await answer(scope, receive, send)

    async def _answer(self, headers: Headers, receive: Receive) -> Response:
        refusal = self._authorizer.refusal(headers.get("authorization"), "ingest") or self._bodies.refusal(headers)
        if refusal is not None:
            return refusal
        try:
            body = await self._bodies.receive(headers, receive)
        except TooLarge as error:
            return await self._commit(self._reader.refuse(b"", "http", error))
        if body is None:
            return _GONE
        return await self._commit(self._read(headers, body))

    def _read(self, headers: Headers, body: bytes) -> Incoming | Rejected:
        try:
            return self._reader.read(self._bodies.unpack(headers, body), "http")
        except (RefusedEvent, TooLarge) as error:
            return self._reader.refuse(body, "http", error)

    async def _commit(self, item: Incoming | Rejected) -> Response:
        try:
            await self._gate.commit([item])
        except TransientError as error:
            self._metrics.refused("unavailable")
            return problem(503, "Cannot take events now", f"{error}: send it again")
        if isinstance(item, Rejected):
            self._metrics.refused("too_large" if item.too_large else "rejected")
            return refused(item, "Not a lineage event")
        self._metrics.accepted(unmerged=item.failure is not None)
        return _CREATED
