"""Authenticated session with OpenMetadata: token, limits, retries, errors."""

import time
from collections.abc import Callable, Iterator, Mapping
from threading import BoundedSemaphore, Lock
from typing import Any

import msgspec

from connectors.errors import TargetMisconfigured, TargetRejected, Unreachable
from connectors.http import HttpResponse, HttpSession
from connectors.openmetadata.auth import TokenProvider
from connectors.openmetadata.compatibility import ServerFeatures, server_features
from connectors.openmetadata.response_errors import response_error
from connectors.session import RateLimiter, retry_policy
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError

JSON = {"Content-Type": "application/json"}
_READ_SECONDS = 30.0
_UNAUTHORIZED, _NOT_FOUND = 401, 404


class OpenMetadataSession:
    """Asks one server, no more at once than it may be, and again when that can help. Several threads may share it."""

    def __init__(
        self,
        session: HttpSession,
        token: TokenProvider,
        on_request: Callable[[str], None] = lambda _: None,
        on_failure: Callable[[str], None] = lambda _: None,
        *,
        attempts: int = 1,
        concurrency: int = 8,
        pace: RateLimiter | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = session.url
        self._session = session
        self._token = token
        self._counted = on_request
        self._failed = on_failure
        self._pace = pace or RateLimiter()
        self._free = BoundedSemaphore(concurrency)
        self._tries = retry_policy(attempts, sleep)
        self._tries_of_writes = retry_policy(attempts, sleep, retry_without_response=False)
        self._features: ServerFeatures | None = None
        self._learning = Lock()

    def close(self) -> None:
        """Close the connections."""
        self._session.close()
        self._token.close()

    def server_version(self, *, retry: bool = True) -> HttpResponse:
        """Ask for the version, for which no token is needed."""
        return self.request("version", "GET", "/system/version", with_token=False, retry=retry)

    def features(self) -> ServerFeatures:
        """Tell what the server can do: asked once, and again after it was away, when it may be another one."""
        with self._learning:
            return self._features or self.fetch_features(retry=True)

    def fetch_features(self, *, retry: bool = False) -> ServerFeatures:
        """Ask what the server can do; something that has no version is no OpenMetadata."""
        try:
            answer = self.server_version(retry=retry)
        except TargetRejected as error:
            raise TargetMisconfigured(f"{error}: is it OpenMetadata?") from error
        found = self._features = server_features(str(decode_body(answer, self.url).get("version", "")))
        return found

    def read(self, operation: str, path: str, params: Mapping[str, str] | None = None) -> JsonObject:
        """Read what must be there."""
        return decode_body(self.request(operation, "GET", path, params=params), self.url)

    def get_or_none(self, operation: str, path: str, params: Mapping[str, str]) -> JsonObject | None:
        """Read what may be there; whoever says that it is not must be OpenMetadata."""
        self.features()
        answer = self.request(operation, "GET", path, params=params, allow_missing=True)
        return None if answer.status == _NOT_FOUND else decode_body(answer, self.url)

    def delete(self, operation: str, path: str, params: Mapping[str, str] | None = None) -> JsonObject | None:
        """Delete what may be there; gives what the server says of it then, None when it was not there."""
        answer = self.request(operation, "DELETE", path, params=params, allow_missing=True)
        return None if answer.status == _NOT_FOUND else decode_body(answer, self.url)

    def request(
        self,
        operation: str,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = _READ_SECONDS,
        with_token: bool = True,
        allow_missing: bool = False,
        retry: bool = True,
        retry_without_response: bool = True,
    ) -> HttpResponse:
        """Ask until the server does it, says that it will not, or was asked often enough."""
        sent = None if body is None else _encoded(body)
        more = {**(headers or JSON if sent is not None else {})}

        def once() -> HttpResponse:
            try:
                return tried()
            except LineageBridgeError:
                self._failed(operation)
                raise

        def tried() -> HttpResponse:
            answer = self._once(operation, method, path, sent, params, more, seconds, with_token)
            if answer.success or (allow_missing and answer.status == _NOT_FOUND):
                return _reject_html(answer, self.url)
            raise response_error(answer, f"{self.url}: {method} {_without_names(path)}")

        trying = self._tries if retry_without_response else self._tries_of_writes
        try:
            return trying(once) if retry else once()
        except Unreachable:
            self._features = None
            raise

    def _once(
        self,
        operation: str,
        method: str,
        path: str,
        body: bytes | None,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
        seconds: float,
        with_token: bool,
    ) -> HttpResponse:
        """Ask once; with a token that is refused, once more with another, if there is one."""
        for token in self._tokens() if with_token else [""]:
            proof = {"Authorization": f"Bearer {_sendable(token)}"} if with_token else {}
            self._pace.acquire()
            with self._free:
                self._counted(operation)
                answer = self._session.request(
                    method,
                    f"/api/v1{path}",
                    body=body,
                    parameters=params,
                    headers={**headers, **proof},
                    read_seconds=seconds,
                )
            if answer.status != _UNAUTHORIZED:
                break
        return answer

    def _tokens(self) -> Iterator[str]:
        """Give the token, and another one once if this is not taken and there is another."""
        token = self._token.get()
        yield token
        if self._token.refresh(token):
            yield self._token.get()


def decode_body(answer: HttpResponse, url: str) -> JsonObject:
    """Read an answer."""
    try:
        return msgspec.json.decode(answer.body, type=JsonObject) if answer.body else {}
    except msgspec.DecodeError as error:
        raise _unexpected_response(answer, url) from error


def _reject_html(answer: HttpResponse, url: str) -> HttpResponse:
    """Refuse a page of HTML: it comes from something in between, however good its status is."""
    if answer.body.lstrip()[:1] == b"<":
        raise _unexpected_response(answer, url)
    return answer


def _unexpected_response(answer: HttpResponse, url: str) -> TargetMisconfigured:
    said = " ".join(answer.text.split())[:100]
    return TargetMisconfigured(f"{url} answers {said!r} where JSON was expected: is it OpenMetadata?")


def _without_names(path: str) -> str:
    """Cut a path to the kind of thing that it asks for: what is called how is not for logs."""
    return "/".join(path.split("/")[: 3 if path.startswith("/services/") else 2])


def _sendable(token: str) -> str:
    """Refuse a token that no request can carry, before a message repeats it."""
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise TargetMisconfigured("the token holds spaces, line ends or letters that no token has: copy it again")
    return token


def _encoded(body: Any) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (TypeError, UnicodeEncodeError) as error:
        raise TargetRejected(f"cannot be sent: {error}", 0) from error
