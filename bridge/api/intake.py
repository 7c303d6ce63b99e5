"""Authorizes, reads, decompresses and commits request bodies."""

import asyncio
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

from starlette.responses import Response
from starlette.types import Receive

from bridge.api.auth import Authorizer
from bridge.api.body_budget import BodyBudget, BodyMemory
from bridge.api.metrics import Metrics
from bridge.api.problem import problem
from bridge.errors import Overloaded, TooManyRequests
from bridge.intake.fair_turns import FairTurns
from bridge.intake.group_commit import GroupCommitter
from bridge.intake.large_events import MAX_WAITING_PER_KEY, AsyncEventReader
from bridge.settings.model import ApiScope, IntakeSettings
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.writer import MAX_GROUP_ROWS
from mappers.errors import InputTooLarge, InvalidInput, TransientError

_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS
_MAX_GZIP_MEMBERS = 64


async def decompress_gzip(body: bytes, limit: int) -> bytes:
    """Decompress gzip data with one or more members, and serve other requests meanwhile.

    Raises InputTooLarge as soon as the limit is exceeded.
    """
    parts: list[bytes] = []
    size = 0
    for _ in range(_MAX_GZIP_MEMBERS):
        member = zlib.decompressobj(_GZIP_WINDOW_BITS)
        while not member.eof:
            try:
                part = member.decompress(body, _PART_BYTES)
            except zlib.error as error:
                raise InvalidInput(f"the body is not gzip: {error}") from error
            body = member.unconsumed_tail
            if not part and not body and not member.eof:
                raise InvalidInput("the gzip body is truncated")
            parts.append(part)
            size += len(part)
            if size > limit:
                raise InputTooLarge(f"the decompressed body has more than {limit} bytes")
            if size > _PART_BYTES:
                await asyncio.sleep(0)
        body = member.unused_data
        if not body:
            return b"".join(parts)
    raise InvalidInput(f"the gzip body has more than {_MAX_GZIP_MEMBERS} members")


#: Source name of events that were sent over HTTP.
SOURCE = "http"
#: Larger gzip bodies are decompressed one at a time.
_SMALL_GZIP_BYTES = 16 << 10
#: Number of bytes that are decompressed in one turn of the event loop.
_PART_BYTES = 1 << 20
#: Reading a batch lets other requests run after this time.
_MAX_TURN_SECONDS = 0.01
_CLIENT_DISCONNECTED = Response(status_code=400)
#: Bodies without a content type are rejected as well: any web page can make a browser send one to loopback.
_JSON_TYPES = frozenset({"application/json", "application/x-ndjson"})
_MEGABYTE = 1 << 20
#: How long a request waits for a commit or a command, whatever is retried meanwhile.
COMMIT_SECONDS = 30.0
_MAX_LENGTH_DIGITS = 18
#: Maximum number of commas in a body. Real events have one value per 50 bytes, but a list of empty lists has one per
#: 3 bytes, and each value takes 20 times its size in memory.
_MAX_VALUES = 2_000_000


class RequestBody(NamedTuple):
    """A request body, as sent and decompressed. If the body cannot be processed, `error` holds the reason."""

    sent: bytes
    content: bytes
    error: InvalidInput | InputTooLarge | None = None
    #: Name of the API key that sent the body.
    key: str = ""


class Intake:
    """Reads request bodies up to the size limits and commits their events."""

    def __init__(
        self,
        reader: AsyncEventReader,
        committer: GroupCommitter,
        authorizer: Authorizer,
        metrics: Metrics,
        limits: IntakeSettings,
    ) -> None:
        self.reader = reader
        self._max_group = limits.max_group
        self._committer = committer
        self._authorizer = authorizer
        self._metrics = metrics
        self._bodies = BodyBudget()
        self._turns = FairTurns(MAX_WAITING_PER_KEY)
        self._max_body = int(limits.max_body_mb * _MEGABYTE)
        self._max_decompressed = int(limits.max_unpacked_mb * _MEGABYTE)

    def authorize(self, headers: Mapping[str, str], scope: ApiScope) -> Response | None:
        """Return a denial, or None if the request is allowed."""
        return self._authorizer.authorize(headers.get("authorization"), scope)

    def principal(self, headers: Mapping[str, str]) -> str | None:
        return self._authorizer.principal(headers.get("authorization"))

    def body_memory(self) -> BodyMemory:
        """Open a block in which one body may be read and kept."""
        return BodyMemory(self._bodies)

    async def read_body(
        self, headers: Mapping[str, str], receive: Receive, memory: BodyMemory, scope: ApiScope = "ingest"
    ) -> RequestBody | Response:
        """Read and decompress a body. If the request is rejected, return the response instead.

        The key is checked first: nothing is read for a request without permission.
        """
        denial = self.authorize(headers, scope) or _unsupported_media_response(headers)
        if denial is not None:
            return denial
        key = self.principal(headers) or ""
        try:
            sent_body = await self._receive_body(headers, receive, memory)
            if sent_body is None:
                return _CLIENT_DISCONNECTED
            content = await self._decompress(headers, sent_body, memory, key)
        except InputTooLarge as error:
            return RequestBody(b"", b"", error, key)
        except Overloaded as error:
            return self.unavailable_response(error)
        if isinstance(content, bytes):
            return RequestBody(sent_body, content, None, key)
        return RequestBody(sent_body, b"", content, key)

    async def _decompress(
        self, headers: Mapping[str, str], sent_body: bytes, memory: BodyMemory, key: str
    ) -> bytes | InvalidInput | InputTooLarge:
        """Decompress a body and check its size. An error is returned: raised, it would keep the content in memory."""
        try:
            content = sent_body
            if _content_encoding(headers) == "gzip":
                is_small = len(sent_body) <= _SMALL_GZIP_BYTES
                async with nullcontext() if is_small else self._turns.turn(key):
                    content = await decompress_gzip(sent_body, self._max_decompressed)
                memory.add(len(content))
            _check_value_count(content)
        except (InvalidInput, InputTooLarge) as error:
            return error.with_traceback(None)
        return content

    async def _receive_body(self, headers: Mapping[str, str], receive: Receive, memory: BodyMemory) -> bytes | None:
        """Receive a body up to the size limit. Return None if the client disconnects."""
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > _MAX_LENGTH_DIGITS or int(length) > self._max_body):
            raise InputTooLarge(f"the body has {length[:_MAX_LENGTH_DIGITS]} bytes; the limit is {self._max_body}")
        chunks: list[bytes] = []
        received_bytes = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunk = message.get("body", b"")
            chunks.append(chunk)
            memory.add(len(chunk))
            received_bytes += len(chunk)
            if received_bytes > self._max_body:
                raise InputTooLarge(f"the body has more than {self._max_body} bytes")
            if not message.get("more_body"):
                return b"".join(chunks)

    async def read_events(self, payloads: Iterable[bytes], key: str) -> list[IncomingEvent | RejectedInput]:
        """Read events until they are enough for one commit. Meanwhile, serve other requests."""
        items: list[IncomingEvent | RejectedInput] = []
        row_count = 0
        yielded_at = time.monotonic()
        for payload in payloads:
            item = await self.reader.read(payload, SOURCE, key)
            items.append(item)
            row_count += len(item.rows) if isinstance(item, IncomingEvent) else 0
            if row_count >= MAX_GROUP_ROWS or len(items) >= self._max_group:
                break
            if time.monotonic() - yielded_at > _MAX_TURN_SECONDS:
                await asyncio.sleep(0)
                yielded_at = time.monotonic()
        return items

    async def commit(self, items: Sequence[IncomingEvent | RejectedInput], key: str) -> Response | None:
        """Store items durably and count them. Return a response only if the intake is unavailable.

        Items that are not committed in time may still be stored later, which does no harm if they are sent again.
        """
        try:
            await self._committer.commit(items, key=key, max_seconds=COMMIT_SECONDS)
        except TransientError as error:
            return self.unavailable_response(error)
        for item in items:
            self._metrics.count_ingested(item)
        return None

    def unavailable_response(self, error: TransientError) -> Response:
        """Count a request that is to be sent again, and build its response."""
        self._metrics.count_rejected("unavailable")
        if isinstance(error, TooManyRequests):
            return problem(429, "Too many requests", f"{error}: retry the request")
        return problem(503, "Intake unavailable", f"{error}: retry the request")


def _check_value_count(body: bytes) -> None:
    """Raise InputTooLarge if a body could contain more values than fit into memory."""
    if len(body) < _MAX_VALUES:
        return
    commas = body.count(b",")  # commas in strings count too; the limit leaves room for them
    if commas >= _MAX_VALUES:
        raise InputTooLarge(f"the body may hold {commas + 1} values; the limit is {_MAX_VALUES}")


def _content_encoding(headers: Mapping[str, str]) -> str:
    return headers.get("content-encoding", "").strip().lower()


def _unsupported_media_response(headers: Mapping[str, str]) -> Response | None:
    """Reject a body that is not declared as JSON or has an unknown encoding. Return None for any other body."""
    if headers.get("content-type") == "application/json" and "content-encoding" not in headers:
        return None  # most requests
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in _JSON_TYPES and not (media_type.startswith("application/") and media_type.endswith("+json")):
        return problem(
            415, "Unsupported media type", f"send application/json, not {media_type or 'a body without a type'}"
        )
    if (encoding := _content_encoding(headers)) not in ("", "identity", "gzip"):
        return problem(415, "Unsupported encoding", f"send the body uncompressed or as gzip, not {encoding}")
    return None


def rejection_response(item: RejectedInput, title: str = "Invalid event") -> Response:
    """Build the problem for a rejected input: location, reason, and the hash under which the input is stored."""
    location = {"field": item.path} if item.path else {}
    status, title = (413, "Too large") if item.too_large else (400, title)
    return problem(status, title, item.reason, rejected=item.payload_hash.hex(), **location)
