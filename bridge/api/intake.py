"""Authorizes, reads, decompresses and commits request bodies."""

import zlib
from collections.abc import Sequence
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive

from bridge.api.auth import Authorizer
from bridge.api.metrics import Metrics
from bridge.api.problem import problem
from bridge.intake.event_reader import EventReader
from bridge.intake.group_commit import GroupCommitter
from bridge.settings.model import ApiScope, IntakeSettings
from bridge.store.event_log import IncomingEvent, RejectedInput
from mappers.errors import InputTooLarge, InvalidInput, TransientError

_GZIP = 16 + zlib.MAX_WBITS
_MAX_MEMBERS = 64


def decompress_gzip(body: bytes, limit: int) -> bytes:
    """Unpack gzip of one or several members; raises TooLarge as soon as the limit is passed."""
    unpacked = b""
    for _ in range(_MAX_MEMBERS):
        member = zlib.decompressobj(_GZIP)
        try:
            unpacked += member.decompress(body, limit + 1 - len(unpacked))
        except zlib.error as error:
            raise InvalidInput(f"the body is not gzip: {error}") from error
        if len(unpacked) > limit:
            raise InputTooLarge(f"the body unpacks to more than {limit} bytes")
        if not member.eof:
            raise InvalidInput("the gzip body ends too early")
        body = member.unused_data
        if not body:
            return unpacked
    raise InvalidInput(f"the gzip body has more than {_MAX_MEMBERS} members")


_CLIENT_DISCONNECTED = Response(status_code=400)
#: A body without a type is refused too: browsers send such bodies to loopback on any page's behalf.
_JSON_TYPES = frozenset({"application/json", "application/x-ndjson"})
_MEGABYTE = 1 << 20
_LENGTH_DIGITS = 18
#: Real events have one value in fifty bytes; a list of empty lists has one in three, and each takes twenty in memory.
_MAX_VALUES = 2_000_000


class RequestBody(NamedTuple):
    """A body as it was sent, unpacked, and why it cannot be read on, if so."""

    sent: bytes
    unpacked: bytes
    error: InvalidInput | InputTooLarge | None = None


class Intake:
    """Reads bodies within the limits, and commits what they hold."""

    def __init__(
        self,
        reader: EventReader,
        gate: GroupCommitter,
        authorizer: Authorizer,
        metrics: Metrics,
        limits: IntakeSettings,
    ) -> None:
        self.reader = reader
        self.max_group = limits.max_group
        self._gate = gate
        self._authorizer = authorizer
        self._metrics = metrics
        self._max_body = int(limits.max_body_mb * _MEGABYTE)
        self._max_unpacked = int(limits.max_unpacked_mb * _MEGABYTE)

    def authorize(self, headers: Headers, scope: ApiScope) -> Response | None:
        """Give the answer that refuses a request, None when it may pass."""
        return self._authorizer.authorize(headers.get("authorization"), scope)

    def principal(self, headers: Headers) -> str | None:
        """Say who sends a request, as far as they have shown it."""
        return self._authorizer.principal(headers.get("authorization"))

    async def read_body(
        self, headers: Headers, receive: Receive, scope: ApiScope = "ingest"
    ) -> RequestBody | Response:
        """Read a body, or give the answer that refuses to."""
        refusal = self.authorize(headers, scope) or _check_media_type(headers)
        if refusal is not None:
            return refusal
        try:
            sent = await self._receive(headers, receive)
        except InputTooLarge as error:
            return RequestBody(b"", b"", error)
        if sent is None:
            return _CLIENT_DISCONNECTED
        try:
            packed = _content_encoding(headers) == "gzip"
            return RequestBody(
                sent, _check_value_count(decompress_gzip(sent, self._max_unpacked) if packed else sent)
            )
        except (InvalidInput, InputTooLarge) as error:
            return RequestBody(sent, b"", error.with_traceback(None))  # which holds what was unpacked so far

    async def _receive(self, headers: Headers, receive: Receive) -> bytes | None:
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > _LENGTH_DIGITS or int(length) > self._max_body):
            raise InputTooLarge(f"the body has {length[:_LENGTH_DIGITS]} bytes; the limit is {self._max_body}")
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._max_body:
                raise InputTooLarge(f"the body has more than {self._max_body} bytes")
            if not message.get("more_body"):
                return b"".join(parts)

    async def commit(self, items: Sequence[IncomingEvent | RejectedInput]) -> Response | None:
        """Return when the items are on disk and counted; gives the answer when they cannot be taken now."""
        try:
            await self._gate.commit(items)
        except TransientError as error:
            self._metrics.count_rejected("unavailable")
            return problem(503, "Cannot take events now", f"{error}: send it again")
        for item in items:
            self._metrics.count_ingested(item)
        return None


def _check_value_count(body: bytes) -> bytes:
    """Give a body back; raises TooLarge when it could hold more values than may be in memory at once."""
    commas = body.count(b",")  # those in texts are counted too: the limit leaves room for them
    if commas >= _MAX_VALUES:
        raise InputTooLarge(f"the body holds {commas + 1} values; the limit is {_MAX_VALUES}")
    return body


def _content_encoding(headers: Headers) -> str:
    return headers.get("content-encoding", "").strip().lower()


def _check_media_type(headers: Headers) -> Response | None:
    """Refuse bodies that do not say that they are JSON, or are packed in an unknown way."""
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in _JSON_TYPES and not media.endswith("+json"):
        return problem(
            415, "Unsupported media type", f"send application/json, not {media or 'a body without a type'}"
        )
    if (encoding := _content_encoding(headers)) not in ("", "identity", "gzip"):
        return problem(415, "Unsupported encoding", f"send the body plain or as gzip, not {encoding}")
    return None


def rejection_response(item: RejectedInput, title: str = "Not a lineage event") -> Response:
    """Answer that an input is refused: where, why, and the hash it is kept under."""
    where = {"field": item.path} if item.path else {}
    status, title = (413, "Too large") if item.too_large else (400, title)
    return problem(status, title, item.reason, rejected=item.payload_hash.hex(), **where)
