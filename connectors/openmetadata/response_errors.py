"""Translates error responses of OpenMetadata."""

from contextlib import suppress
from datetime import datetime

import msgspec

from connectors.errors import TargetMisconfigured, TargetRejected, TargetUnavailable
from connectors.http import HttpResponse, retry_after_seconds
from mappers.errors import LineageBridgeError

#: What passes by itself. A 500 is often a mistake of ours that will be answered so for ever: who asks must count.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_LOCKED = frozenset({401})
_MAX_CHARACTERS = 1_000


class _Body(msgspec.Struct):
    message: str = ""


def response_error(answer: HttpResponse, asked: str, now: datetime | None = None) -> LineageBridgeError:
    """Say what an answer means that is no success: passing, a token that is not taken, or for ever."""
    said = f"{asked}: {answer.status} {_words(answer)}".rstrip()
    if answer.status in _LOCKED:
        return TargetMisconfigured(said)
    if answer.status in _PASSING:
        return TargetUnavailable(said, answer.status, retry_after_seconds(answer, now))
    return TargetRejected(said, answer.status)


def _words(answer: HttpResponse) -> str:
    """Give the server's words, which are not always JSON."""
    with suppress(msgspec.DecodeError):
        message = msgspec.json.decode(answer.body, type=_Body).message
        if message:
            return message[:_MAX_CHARACTERS]
    return " ".join(answer.text.split())[:_MAX_CHARACTERS]
