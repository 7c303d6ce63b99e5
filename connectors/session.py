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
    """Lets through so many calls a second, a second's worth of them at once; without a rate, all of them."""

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
        self._most = self._left = max(1.0, rate or 0.0)
        self._seen = clock()

    def acquire(self) -> None:
        """Wait until it is this call's turn: those that wait are let through one after the other."""
        if self._rate is None:
            return
        with self._lock:
            now = self._clock()
            self._left = min(self._most, self._left + (now - self._seen) * self._rate) - 1
            self._seen = now
            wait = max(0.0, -self._left / self._rate)
        if wait:
            self._sleep(wait)


_LEAST_SECONDS, _MAX_SECONDS = 0.1, 0.4
#: A server that wants to be left alone for longer is asked later, and not by the call that waits.
_PATIENCE_SECONDS = 2.0


def retry_policy(
    attempts: int, sleep: Callable[[float], None] = time.sleep, *, retry_without_response: bool = True
) -> Retrying:
    """Make what tries a call so often; one that nobody answered may be left alone, for its server may still work."""

    def passing(error: BaseException) -> bool:
        if isinstance(error, TargetUnavailable):
            return (error.retry_after or 0.0) <= _PATIENCE_SECONDS
        return retry_without_response if isinstance(error, NoResponse) else isinstance(error, Unreachable)

    return Retrying(
        stop=stop_after_attempt(attempts),
        wait=_pause,
        retry=retry_if_exception(passing),
        sleep=sleep,
        reraise=True,
    )


def _pause(state: RetryCallState) -> float:
    """Give the time to the next try: as long as the server wants, else a moment, another one for each client."""
    error = state.outcome.exception() if state.outcome else None
    wanted = error.retry_after if isinstance(error, TargetUnavailable) else None
    return max(wanted or 0.0, random.uniform(_LEAST_SECONDS, _MAX_SECONDS))  # noqa: S311 - nobody guesses it


#: Says what an answer means that is none that was hoped for; None when it is.
ResponseCheck = Callable[[HttpResponse], LineageBridgeError | None]
_JSON = {"Content-Type": "application/json"}


class ThrottledSession:
    """Asks once, whatever comes of it. Several threads may share it."""

    def __init__(
        self,
        session: HttpSession,
        on_request: Callable[[str], None] = lambda _: None,
        on_failure: Callable[[str], None] = lambda _: None,
        *,
        api_key: str | None = None,
        concurrency: int = 4,
        pace: RateLimiter | None = None,
    ) -> None:
        self.url = session.url
        self._session = session
        self._counted = on_request
        self._failed = on_failure
        self._proof = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._pace = pace or RateLimiter()
        self._free = BoundedSemaphore(concurrency)

    def close(self) -> None:
        """Close the connections."""
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
        """Ask; raises what the answer means, if it is none that was hoped for."""
        self._pace.acquire()
        with self._free:
            self._counted(operation)
            try:
                answer = self._session.request(
                    method,
                    path,
                    body=None if body is None else msgspec.json.encode(body),
                    parameters=params,
                    headers={**({} if body is None else _JSON), **self._proof, **(headers or {})},
                    read_seconds=read_seconds,
                )
                if error := check_response(answer):
                    raise error
            except LineageBridgeError:
                self._failed(operation)
                raise
        return answer
