"""An address that takes JSON."""

from collections.abc import Callable
from typing import Any

import msgspec

from connectors.http import HttpAnswer, HttpSession
from connectors.pace import Pace
from mappers.errors import LineageBridgeError, TargetBusy, TargetLocked, TargetRefused

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_UNAVAILABLE = frozenset({502, 503, 504})
_LOCKED = frozenset({401, 403})
_MOST_CHARACTERS = 200


class Webhook:
    """One address. Several threads may share it."""

    def __init__(
        self,
        session: HttpSession,
        counted: Callable[[str], None] = lambda _: None,
        failed: Callable[[str], None] = lambda _: None,
        *,
        api_key: str | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.url = session.url
        self._session = session
        self._counted = counted
        self._failed = failed
        self._proof = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._pace = pace or Pace()

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def probe(self) -> None:
        """Ask whether anybody is there: whatever is answered, somebody is."""
        answer = self._session.request("HEAD", "", headers=self._proof)
        if answer.status in _UNAVAILABLE:
            raise self._refusal(answer)

    def send(self, body: Any, key: str) -> None:
        """Tell something once; who hears the same key again has heard it before."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key, **self._proof}
        self._pace.take()
        self._counted("send")
        try:
            answer = self._session.request("POST", "", body=msgspec.json.encode(body), headers=headers)
            if not answer.success:
                raise self._refusal(answer)
        except LineageBridgeError:
            self._failed("send")
            raise

    def _refusal(self, answer: HttpAnswer) -> LineageBridgeError:
        said = f"{self.url}: {answer.status} {' '.join(answer.text.split())[:_MOST_CHARACTERS]}".rstrip()
        if answer.status in _LOCKED:
            return TargetLocked(said)
        if answer.status in _PASSING:
            wait = answer.headers.get("retry-after", "")
            return TargetBusy(said, answer.status, float(wait) if wait.isdecimal() else None)
        return TargetRefused(said, answer.status)
