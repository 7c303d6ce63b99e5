"""What an OpenMetadata server means when it does not do what it was asked for."""

from contextlib import suppress
from datetime import datetime

import msgspec

from connectors.http import HttpAnswer
from connectors.retry_after import wait_seconds
from mappers.errors import LineageBridgeError, TargetBusy, TargetLocked, TargetRefused

#: What passes by itself. A 500 is often a mistake of ours that will be answered so for ever: who asks must count.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_LOCKED = frozenset({401})
_MOST_CHARACTERS = 1_000


class _Body(msgspec.Struct):
    message: str = ""


def refusal(answer: HttpAnswer, asked: str, now: datetime | None = None) -> LineageBridgeError:
    """Say what an answer means that is no success: passing, a token that is not taken, or for ever."""
    said = f"{asked}: {answer.status} {_words(answer)}".rstrip()
    if answer.status in _LOCKED:
        return TargetLocked(said)
    if answer.status in _PASSING:
        return TargetBusy(said, answer.status, wait_seconds(answer, now))
    return TargetRefused(said, answer.status)


def _words(answer: HttpAnswer) -> str:
    """Give the server's words, which are not always JSON."""
    with suppress(msgspec.DecodeError):
        message = msgspec.json.decode(answer.body, type=_Body).message
        if message:
            return message[:_MOST_CHARACTERS]
    return " ".join(answer.text.split())[:_MOST_CHARACTERS]
