"""What every route that takes events shares: who may send, how a body is read, and that it is on disk."""

from collections.abc import Sequence
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive

from bridge.api.auth import Authorizer
from bridge.api.metrics import Metrics
from bridge.api.problem import problem
from bridge.intake.gate import Gate
from bridge.intake.reading import Reader
from bridge.intake.unpacking import unpack_gzip
from bridge.settings import IntakeSettings, Scope
from bridge.store.writer import Incoming, Rejected
from mappers.errors import RefusedEvent, TooLarge, TransientError

_GONE = Response(status_code=400)
#: A body without a type is refused too: browsers send such bodies to loopback on any page's behalf.
_JSON_TYPES = frozenset({"application/json", "application/x-ndjson"})
_MEGABYTE = 1 << 20
_LENGTH_DIGITS = 18
#: Real events have one value in fifty bytes; a list of empty lists has one in three, and each takes twenty in memory.
_MOST_VALUES = 2_000_000


class Body(NamedTuple):
    """A body as it was sent, unpacked, and why it cannot be read on, if so."""

    sent: bytes
    unpacked: bytes
    error: RefusedEvent | TooLarge | None = None


class Intake:
    """Reads bodies within the limits, and commits what they hold."""

    def __init__(
        self, reader: Reader, gate: Gate, authorizer: Authorizer, metrics: Metrics, limits: IntakeSettings
    ) -> None:
        self.reader = reader
        self.max_group = limits.max_group
        self._gate = gate
        self._authorizer = authorizer
        self._metrics = metrics
        self._max_body = int(limits.max_body_mb * _MEGABYTE)
        self._max_unpacked = int(limits.max_unpacked_mb * _MEGABYTE)

    def refusal(self, headers: Headers, scope: Scope) -> Response | None:
        """Give the answer that refuses a request, None when it may pass."""
        return self._authorizer.refusal(headers.get("authorization"), scope)

    def signer(self, headers: Headers) -> str | None:
        """Say who sends a request, as far as they have shown it."""
        return self._authorizer.signer(headers.get("authorization"))

    async def body(self, headers: Headers, receive: Receive, scope: Scope = "ingest") -> Body | Response:
        """Read a body, or give the answer that refuses to."""
        refusal = self.refusal(headers, scope) or _unreadable(headers)
        if refusal is not None:
            return refusal
        try:
            sent = await self._sent(headers, receive)
        except TooLarge as error:
            return Body(b"", b"", error)
        if sent is None:
            return _GONE
        try:
            packed = _encoding(headers) == "gzip"
            return Body(sent, _sparse(unpack_gzip(sent, self._max_unpacked) if packed else sent))
        except (RefusedEvent, TooLarge) as error:
            return Body(sent, b"", error.with_traceback(None))  # which holds what was unpacked so far

    async def _sent(self, headers: Headers, receive: Receive) -> bytes | None:
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

    async def commit(self, items: Sequence[Incoming | Rejected]) -> Response | None:
        """Return when the items are on disk and counted; gives the answer when they cannot be taken now."""
        try:
            await self._gate.commit(items)
        except TransientError as error:
            self._metrics.refused("unavailable")
            return problem(503, "Cannot take events now", f"{error}: send it again")
        for item in items:
            self._metrics.taken(item)
        return None


def _sparse(body: bytes) -> bytes:
    """Give a body back; raises TooLarge when it could hold more values than may be in memory at once."""
    commas = body.count(b",")  # those in texts are counted too: the limit leaves room for them
    if commas >= _MOST_VALUES:
        raise TooLarge(f"the body holds {commas + 1} values; the limit is {_MOST_VALUES}")
    return body


def _encoding(headers: Headers) -> str:
    return headers.get("content-encoding", "").strip().lower()


def _unreadable(headers: Headers) -> Response | None:
    """Refuse bodies that do not say that they are JSON, or are packed in an unknown way."""
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in _JSON_TYPES and not media.endswith("+json"):
        return problem(
            415, "Unsupported media type", f"send application/json, not {media or 'a body without a type'}"
        )
    if (encoding := _encoding(headers)) not in ("", "identity", "gzip"):
        return problem(415, "Unsupported encoding", f"send the body plain or as gzip, not {encoding}")
    return None


def refused(item: Rejected, title: str = "Not a lineage event") -> Response:
    """Answer that an input is refused: where, why, and the hash it is kept under."""
    where = {"field": item.path} if item.path else {}
    status, title = (413, "Too large") if item.too_large else (400, title)
    return problem(status, title, item.reason, rejected=item.payload_hash.hex(), **where)
