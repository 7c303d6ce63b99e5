"""An address that takes JSON."""

from typing import Any

from connectors.errors import TargetMisconfigured, TargetRejected, TargetUnavailable
from connectors.http import HttpResponse, retry_after_seconds
from connectors.session import ThrottledSession
from mappers.errors import LineageBridgeError

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_UNAVAILABLE = frozenset({502, 503, 504})
_LOCKED = frozenset({401, 403})
_MAX_CHARACTERS = 200


class WebhookClient:
    """One address. Several threads may share it."""

    def __init__(self, caller: ThrottledSession) -> None:
        self.url = caller.url
        self._caller = caller

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()

    def probe(self) -> None:
        """Ask whether anybody is there: whatever is answered, somebody is."""
        self._caller.request(
            "probe", "HEAD", "", lambda one: self._response_error(one) if one.status in _UNAVAILABLE else None
        )

    def send(self, body: Any, key: str) -> None:
        """Tell something once; who hears the same key again has heard it before."""
        self._caller.request("send", "POST", "", self._response_error, body=body, headers={"Idempotency-Key": key})

    def _response_error(self, answer: HttpResponse) -> LineageBridgeError | None:
        if answer.success:
            return None
        said = f"{self.url}: {answer.status} {' '.join(answer.text.split())[:_MAX_CHARACTERS]}".rstrip()
        if answer.status in _LOCKED:
            return TargetMisconfigured(said)
        if answer.status in _PASSING:
            return TargetUnavailable(said, answer.status, retry_after_seconds(answer))
        return TargetRejected(said, answer.status)
