"""POST /api/v1/lineage: one event in, 201 once it is on disk."""

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bridge.api.auth import Authorizer
from bridge.api.metrics import Metrics
from bridge.api.problem import problem
from bridge.intake.gate import Gate
from bridge.intake.reading import Reader
from bridge.intake.unpacking import unpack_gzip
from bridge.settings import IntakeSettings
from bridge.store.writer import Incoming, Rejected
from mappers.errors import RefusedEvent, TooLarge, TransientError

_CREATED = Response(status_code=201)
_GONE = Response(status_code=400)
#: A body without a type is refused too: browsers send such bodies to loopback on any page's behalf.
_JSON_TYPES = frozenset({"application/json", "application/x-ndjson"})
_MEGABYTE = 1 << 20
_LENGTH_DIGITS = 18


class LineageEndpoint:
    """Takes OpenLineage events. A bare ASGI application: this is the path that every event walks."""

    def __init__(
        self, reader: Reader, gate: Gate, authorizer: Authorizer, metrics: Metrics, limits: IntakeSettings
    ) -> None:
        self._reader = reader
        self._gate = gate
        self._authorizer = authorizer
        self._metrics = metrics
        self._max_body = int(limits.max_body_mb * _MEGABYTE)
        self._max_unpacked = int(limits.max_unpacked_mb * _MEGABYTE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        answer = await self._answer(Headers(scope=scope), receive)
        await answer(scope, receive, send)

    async def _answer(self, headers: Headers, receive: Receive) -> Response:
        refusal = self._authorizer.refusal(headers.get("authorization"), "ingest")
        if refusal is not None:
            return refusal
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media not in _JSON_TYPES and not media.endswith("+json"):
            return problem(
                415, "Unsupported media type", f"send application/json, not {media or 'a body without a type'}"
            )
        encoding = headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity", "gzip"):
            return problem(415, "Unsupported encoding", f"send the body plain or as gzip, not {encoding}")
        try:
            body = await self._body(headers, receive)
        except TooLarge as error:
            return await self._commit(self._reader.refuse(b"", "http", error))
        if body is None:
            return _GONE
        return await self._commit(self._read(body, unpack=encoding == "gzip"))

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > _LENGTH_DIGITS or int(length) > self._max_body):
            raise TooLarge(f"the body has {length[:_LENGTH_DIGITS]} bytes; the limit is {self._max_body}")
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._max_body:
                raise TooLarge(f"the body has more than {self._max_body} bytes")
            if not message.get("more_body"):
                return b"".join(parts)

    def _read(self, body: bytes, *, unpack: bool) -> Incoming | Rejected:
        try:
            return self._reader.read(unpack_gzip(body, self._max_unpacked) if unpack else body, "http")
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
            where = {"field": item.path} if item.path else {}
            status, title = (413, "Too large") if item.too_large else (400, "Not a lineage event")
            return problem(status, title, item.reason, rejected=item.payload_hash.hex(), **where)
        self._metrics.accepted(unmerged=item.failure is not None)
        return _CREATED
