"""An address that takes JSON."""

from typing import Any

from connectors.caller import Caller
from connectors.http import HttpAnswer
from connectors.retry_after import wait_seconds
from mappers.errors import LineageBridgeError, TargetBusy, TargetLocked, TargetRefused

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_UNAVAILABLE = frozenset({502, 503, 504})
_LOCKED = frozenset({401, 403})
_MOST_CHARACTERS = 200


class Webhook:
    """One address. Several threads may share it."""

    def __init__(self, caller: Caller) -> None:
        self.url = caller.url
        self._caller = caller

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()

    def probe(self) -> None:
        """Ask whether anybody is there: whatever is answered, somebody is."""
        self._caller.ask("probe", "HEAD", "", lambda one: self._refusal(one) if one.status in _UNAVAILABLE else None)

    def send(self, body: Any, key: str) -> None:
        """Tell something once; who hears the same key again has heard it before."""
        self._caller.ask("send", "POST", "", self._refusal, body=body, headers={"Idempotency-Key": key})

    def _refusal(self, answer: HttpAnswer) -> LineageBridgeError | None:
        if answer.success:
            return None
        said = f"{self.url}: {answer.status} {' '.join(answer.text.split())[:_MOST_CHARACTERS]}".rstrip()
        if answer.status in _LOCKED:
            return TargetLocked(said)
        if answer.status in _PASSING:
            return TargetBusy(said, answer.status, wait_seconds(answer))
        return TargetRefused(said, answer.status)
