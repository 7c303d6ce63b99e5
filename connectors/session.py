"""HTTP session of all targets: token, rate limit, concurrency limit, metrics and retries."""

import random
import time
from collections.abc import Callable, Mapping
from threading import BoundedSemaphore, Lock
from typing import Any, NamedTuple, Protocol

import msgspec
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from connectors.errors import NoResponse, TargetMisconfigured, TargetRejected, TargetUnavailable, Unreachable
from connectors.http import HttpResponse, HttpSession
from mappers.canonical_json import JsonObject
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
            # Negative while callers wait; the absolute value is the number of waiting calls.
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
        if isinstance(error, NoResponse):
            return retry_without_response
        return isinstance(error, Unreachable)

    return Retrying(
        stop=stop_after_attempt(attempts),
        wait=_seconds_until_retry,
        retry=retry_if_exception(is_retryable),
        sleep=sleep,
        reraise=True,
    )


def call_with_retries(retrying: Retrying, seconds: float, attempt: Callable[[float], HttpResponse]) -> HttpResponse:
    """Call `attempt` with the number of seconds it may take, and again after retryable errors while time is left."""
    ends_at = time.monotonic() + seconds

    def is_over(state: RetryCallState) -> bool:
        return bool(retrying.stop(state)) or time.monotonic() + _MAX_RETRY_AFTER_SECONDS > ends_at

    return retrying.copy(stop=is_over)(lambda: attempt(ends_at - time.monotonic()))


def _seconds_until_retry(state: RetryCallState) -> float:
    """Return the longer of the pause that the server asks for and a random pause, which spreads out clients."""
    error = state.outcome.exception() if state.outcome else None
    requested_seconds = error.retry_after if isinstance(error, TargetUnavailable) else None
    return max(requested_seconds or 0.0, random.uniform(_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS))  # noqa: S311 - not used for security


class TokenProvider(Protocol):
    """Provides the token for requests."""

    def get(self) -> str:
        """Return the current token."""

    def refresh(self, rejected_token: str) -> bool:
        """Replace a token that the server rejected; returns False if there is no replacement."""

    def close(self) -> None:
        """Close connections, if any."""


class StaticToken(NamedTuple):
    """A token from the configuration."""

    value: str

    def __repr__(self) -> str:
        return "StaticToken(***)"

    def get(self) -> str:
        return self.value

    def refresh(self, rejected_token: str) -> bool:  # noqa: ARG002 - the signature is the protocol's
        """Return False, because a static token has no replacement."""
        return False

    def close(self) -> None:
        """Do nothing: there is no connection."""


#: Returns the error that a response represents, or None if the response is acceptable.
ResponseCheck = Callable[[HttpResponse], LineageBridgeError | None]
_JSON = {"Content-Type": "application/json"}
_UNAUTHORIZED = 401


class ThrottledSession:
    """Thread-safe session that sends requests without retries, within limits on rate and concurrency."""

    def __init__(
        self,
        session: HttpSession,
        on_request: Callable[[str], None] = lambda _: None,
        on_failure: Callable[[str], None] = lambda _: None,
        *,
        token: TokenProvider | None = None,
        concurrency: int = 4,
        rate_limiter: RateLimiter | None = None,
    ) -> None:
        self.url = session.url
        self._session = session
        self._on_request = on_request
        self._on_failure = on_failure
        self._token = token
        self._rate_limiter = rate_limiter or RateLimiter()
        self._slots = BoundedSemaphore(concurrency)

    def close(self) -> None:
        self._session.close()
        if self._token:
            self._token.close()

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
        seconds: float | None = None,
        with_token: bool = True,
    ) -> HttpResponse:
        """Send a request; raises the error that `check_response` returns.

        If the token is rejected and a new token is available, the request is sent once more.
        """
        encoded_body = None if body is None else _encode_json(body)
        content_type = {} if body is None else _JSON
        provider = self._token if with_token else None

        def send(authorization: dict[str, str]) -> HttpResponse:
            self._rate_limiter.acquire()
            with self._slots:
                self._on_request(operation)
                return self._session.request(
                    method,
                    path,
                    body=encoded_body,
                    parameters=params,
                    headers={**content_type, **authorization, **(headers or {})},
                    seconds=seconds,
                )

        try:
            if provider is None:
                response = send({})
            else:
                token = provider.get()
                response = send(_bearer(token))
                if response.status == _UNAUTHORIZED and provider.refresh(token):
                    response = send(_bearer(provider.get()))
            if error := check_response(response):
                raise error
        except LineageBridgeError:
            self._on_failure(operation)
            raise
        return response


def _bearer(token: str) -> dict[str, str]:
    if not (token.isascii() and token.isprintable() and " " not in token):
        # The error of the HTTP library would contain the token.
        raise TargetMisconfigured("the token contains spaces, line breaks or invalid characters: copy it again")
    return {"Authorization": f"Bearer {token}"}


def _encode_json(body: Any) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (TypeError, UnicodeEncodeError) as error:
        raise TargetRejected(f"cannot be sent: {error}", 0) from error


def decode_object(response: HttpResponse, url: str, product: str) -> JsonObject:
    """Decode a response; raises TargetMisconfigured unless it is a JSON object."""
    try:
        return msgspec.json.decode(response.body, type=JsonObject)
    except msgspec.DecodeError as error:
        raise unexpected_response(response, url, product) from error


def unexpected_response(response: HttpResponse, url: str, product: str) -> TargetMisconfigured:
    """Report a response that the product does not document, which comes from another server, such as a proxy."""
    excerpt = " ".join(response.text.split())[:100]
    return TargetMisconfigured(f"{url} returned {excerpt!r} instead of the documented JSON: is it {product}?")
