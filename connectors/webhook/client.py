"""Posts JSON to a webhook."""

from typing import Any

from connectors.errors import TargetMisconfigured, TargetRejected, TargetUnavailable
from connectors.http import HttpResponse, retry_after_seconds
from connectors.session import ThrottledSession
from mappers.errors import LineageBridgeError

_TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_UNAVAILABLE_STATUSES = frozenset({502, 503, 504})
_UNAUTHORIZED_STATUSES = frozenset({401, 403})
#: Statuses of a wrong URL, because all messages have the same URL.
_WRONG_PATH_STATUSES = frozenset({404, 405, 410})
_MAX_CHARACTERS = 200
_PROBE_SECONDS = 10.0


class WebhookClient:
    """Thread-safe client of one webhook URL."""

    def __init__(self, session: ThrottledSession) -> None:
        self.url = session.url
        self._session = session

    def close(self) -> None:
        self._session.close()

    def probe(self) -> None:
        """Check that a server responds with any status except 502, 503 and 504."""

        def check_available(response: HttpResponse) -> LineageBridgeError | None:
            return self._response_error(response) if response.status in _UNAVAILABLE_STATUSES else None

        self._session.request("probe", "HEAD", "", check_available, seconds=_PROBE_SECONDS)

    def send(self, body: Any, key: str) -> None:
        """Post a message; the receiver can recognize duplicates by the idempotency key."""
        self._session.request("send", "POST", "", self._response_error, body=body, headers={"Idempotency-Key": key})

    def _response_error(self, response: HttpResponse) -> LineageBridgeError | None:
        if response.success:
            return None
        message = f"{self.url}: {response.status} {' '.join(response.text.split())[:_MAX_CHARACTERS]}".rstrip()
        if response.status in _UNAUTHORIZED_STATUSES | _WRONG_PATH_STATUSES or response.is_redirect:
            return TargetMisconfigured(message)
        if response.status in _TRANSIENT_STATUSES:
            return TargetUnavailable(message, response.status, retry_after_seconds(response))
        return TargetRejected(message, response.status)
