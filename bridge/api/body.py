"""Request bodies within bounds: JSON, plain or gzipped."""

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive

from bridge.api.problem import problem
from bridge.intake.unpacking import unpack_gzip
from bridge.settings import IntakeSettings
from mappers.errors import TooLarge

#: A body without a type is refused too: browsers send such bodies to loopback on any page's behalf.
_JSON_TYPES = frozenset({"application/json", "application/x-ndjson"})
_MEGABYTE = 1 << 20
_LENGTH_DIGITS = 18


class Bodies:
    """Reads the bodies of requests that carry events."""

    def __init__(self, limits: IntakeSettings) -> None:
        self._max_body = int(limits.max_body_mb * _MEGABYTE)
        self._max_unpacked = int(limits.max_unpacked_mb * _MEGABYTE)

    def refusal(self, headers: Headers) -> Response | None:
        """Give the answer to a body of a kind that is not read, None when it may be received."""
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media not in _JSON_TYPES and not media.endswith("+json"):
            return problem(
                415, "Unsupported media type", f"send application/json, not {media or 'a body without a type'}"
            )
        encoding = _encoding(headers)
        if encoding not in ("", "identity", "gzip"):
            return problem(415, "Unsupported encoding", f"send the body plain or as gzip, not {encoding}")
        return None

    async def receive(self, headers: Headers, receive: Receive) -> bytes | None:
        """Receive a body as it is sent; None when the client is gone. Raises TooLarge."""
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

    def unpack(self, headers: Headers, body: bytes) -> bytes:
        """Unpack a body that is sent as gzip. Raises RefusedEvent or TooLarge."""
        return unpack_gzip(body, self._max_unpacked) if _encoding(headers) == "gzip" else body


def _encoding(headers: Headers) -> str:
    return headers.get("content-encoding", "").strip().lower()
