"""Translates error responses of OpenMetadata."""

from contextlib import suppress
from datetime import datetime

import msgspec

from connectors.errors import TargetMisconfigured, TargetRejected, TargetUnavailable
from connectors.http import HttpResponse, retry_after_seconds
from mappers.errors import LineageBridgeError

#: Statuses worth a retry. Callers must limit the attempts, because a 500 often means an invalid request.
_TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_UNAUTHORIZED_STATUSES = frozenset({401})
_MAX_CHARACTERS = 1_000


class _ErrorBody(msgspec.Struct):
    message: str = ""


def response_error(response: HttpResponse, request: str, now: datetime | None = None) -> LineageBridgeError:
    """Translate an error response to TargetUnavailable, TargetMisconfigured or TargetRejected."""
    message = f"{request}: {response.status} {_error_text(response)}".rstrip()
    if response.status in _UNAUTHORIZED_STATUSES or response.is_redirect:
        return TargetMisconfigured(message)
    if response.status in _TRANSIENT_STATUSES:
        return TargetUnavailable(message, response.status, retry_after_seconds(response, now))
    return TargetRejected(message, response.status)


def _error_text(response: HttpResponse) -> str:
    """Return the server's message, or the whole body if it contains no message."""
    with suppress(msgspec.DecodeError):
        message = msgspec.json.decode(response.body, type=_ErrorBody).message
        if message:
            return message[:_MAX_CHARACTERS]
    return " ".join(response.text.split())[:_MAX_CHARACTERS]
