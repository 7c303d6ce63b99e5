"""What a Marquez server means when it does not do what it was asked for."""

import re
from contextlib import suppress
from typing import Any

import msgspec

from connectors.http import HttpAnswer
from connectors.retry_after import wait_seconds
from mappers.errors import LineageBridgeError, TargetBusy, TargetLocked, TargetRefused

_PASSING = frozenset({408, 425, 429, 502, 503, 504})
_LOCKED = frozenset({401, 403, 407})
_FAILED = 500
_MOST_CHARACTERS = 1_000
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL | re.IGNORECASE)


def refusal(answer: HttpAnswer, asked: str) -> LineageBridgeError:
    """Say what an answer means that is no success.

    A 500 whose body says 400 is a mistake of ours, which will be one for ever. One with a page, or with an id of a
    log, is a write that others stood in the way of, or that can never be: who asks must count.
    """
    body = _body(answer)
    said = f"{asked}: {answer.status} {_words(body, answer)}".rstrip()
    if answer.status in _LOCKED:
        return TargetLocked(said)
    inner = body.get("code")
    if answer.status in _PASSING or (answer.status == _FAILED and (inner is None or inner == _FAILED)):
        return TargetBusy(said, answer.status, wait_seconds(answer))
    return TargetRefused(said, answer.status)


def _body(answer: HttpAnswer) -> dict[str, Any]:
    with suppress(msgspec.DecodeError):
        found = msgspec.json.decode(answer.body)
        return found if isinstance(found, dict) else {}
    return {}


def _words(body: dict[str, Any], answer: HttpAnswer) -> str:
    errors = body.get("errors")
    if isinstance(errors, list):  # they come in any order
        return "; ".join(sorted(map(str, errors)))[:_MOST_CHARACTERS]
    title = _TITLE.search(answer.text)
    return str(body.get("message") or (title[1] if title else " ".join(answer.text.split())))[:_MOST_CHARACTERS]
