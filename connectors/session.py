"""HTTP session with rate limit, concurrency limit, metrics and retries."""

import random
import time
from collections.abc import Callable, Mapping
from threading import BoundedSemaphore, Lock
from typing import Any

import msgspec
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from connectors.errors import NoResponse, TargetUnavailable, Unreachable
from connectors.http import HttpResponse, HttpSession
from mappers.errors import LineageBridgeError


class RateLimiter:
    """Limits calls per second and allows bursts of one second's worth of calls; without a rate, there is no limit."""

    def __init__(
        self,
        rate: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._lock = Lock()
        self._burst = self._available = max(1.0, rate or 0.0)
        self._updated_at = clock()

    def acquire(self) -> None:
        """Wait until a call is allowed; concurrent callers proceed one by one."""
        if self._rate is None:
            return
        with self._lock:
            now = self._clock()
            # Negative while callers wait, by the number of waiting calls.
            self._available = min(self._burst, self._available + (now - self._updated_at) * self._rate) - 1
            self._updated_at = now
            wait = max(0.0, -self._available / self._rate)
        if wait:
            self._sleep(wait)


_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.1, 0.4
#: If the server asks for a longer pause, the call fails instead of waiting.
_MAX_RETRY_AFTER_SECONDS = 2.0


def retry_policy(
    attempts: int, sleep: Callable[[float], None] = time.sleep, *, retry_without_response: bool = True
) -> Retrying:
    """Create the retry policy of a session.

    Without `retry_without_response`, a request that got no response is not retried, because the server may still be
    working on it.
    """

    def is_retryable(error: BaseException) -> bool:
        if isinstance(error, TargetUnavailable):
            return (error.retry_after or 0.0) <= _MAX_RETRY_AFTER_SECONDS
        return retry_without_response if isinstance(error, NoResponse) else isinstance(error, Unreachable)

    return Retrying(
        stop=stop_after_attempt(attempts),
        wait=_seconds_until_retry,
        retry=retry_if_exception(is_retryable),
        sleep=sleep,
        reraise=True,
    )


def _seconds_until_retry(state: RetryCallState) -> float:
    """Return the pause that the server asks for or a random pause (to spread out clients), whichever is longer."""
    error = state.outcome.exception() if state.outcome else None
    requested = error.retry_after if isinstance(error, TargetUnavailable) else None
    return max(requested or 0.0, random.uniform(_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS))  # noqa: S311 - not used for security


#: Returns the error that a response represents; None if the response is acceptable.
ResponseCheck = Callable[[HttpResponse], LineageBridgeError | None]
_JSON = {"Content-Type": "application/json"}


class ThrottledSession:
    """Sends requests without retries, within limits on rate and concurrency. Several threads may share it."""

    def __init__(
        self,
        session: HttpSession,
        on_request: Callable[[str], None] = lambda _: None,
        on_failure: Callable[[str], None] = lambda _: None,
        *,
        api_key: str | None = None,
        concurrency: int = 4,
        rate_limiter: RateLimiter | None = None,
    ) -> None:
        self.url = session.url
        self._session = session
        self._on_request = on_request
        self._on_failure = on_failure
        self._auth_headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._rate_limiter = rate_limiter or RateLimiter()
        self._slots = BoundedSemaphore(concurrency)

    def close(self) -> None:
        self._session.close()

    def request(
        self,
        operation: str,
        method: str,
        path: str,
        check_response: ResponseCheck,
        *,
        body: Any = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        read_seconds: float | None = None,
    ) -> HttpResponse:
        """Send a request; raises the error that `check_response` returns."""
        self._rate_limiter.acquire()
        with self._slots:
            self._on_request(operation)
            try:
                response = self._session.request(
                    method,
                    path,
                    body=None if body is None else msgspec.json.encode(body),
                    parameters=params,
                    headers={**({} if body is None else _JSON), **self._auth_headers, **(headers or {})},
                    read_seconds=read_seconds,
                )
                if error := check_response(response):
                    raise error
            except LineageBridgeError:
                self._on_failure(operation)
                raise
        return response
