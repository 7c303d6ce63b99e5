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
    """Session with one server, with retries and limits on rate and concurrency. Several threads may share it."""

    def __init__(
        self,
        session: HttpSession,
        token: TokenProvider,
        on_request: Callable[[str], None] = lambda _: None,
        on_failure: Callable[[str], None] = lambda _: None,
        *,
        attempts: int = 1,
        concurrency: int = 8,
        rate_limiter: RateLimiter | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = session.url
        self._session = session
        self._token = token
        self._on_request = on_request
        self._on_failure = on_failure
        self._rate_limiter = rate_limiter or RateLimiter()
        self._slots = BoundedSemaphore(concurrency)
        self._retrying = retry_policy(attempts, sleep)
        self._retrying_writes = retry_policy(attempts, sleep, retry_without_response=False)
        self._features: ServerFeatures | None = None
        self._features_lock = Lock()

    def close(self) -> None:
        self._session.close()
        self._token.close()

    def server_version(self, *, retry: bool = True) -> HttpResponse:
        """Fetch the version; this needs no token."""
        return self.request("version", "GET", "/system/version", member="version", with_token=False, retry=retry)

    def features(self) -> ServerFeatures:
        """Return the features of the server.

        The features are cached until the server becomes unreachable, which may mean that it is being upgraded.
        """
        with self._features_lock:
            return self._features or self.fetch_features(retry=True)

    def fetch_features(self, *, retry: bool = False) -> ServerFeatures:
        """Fetch the features of the server; raises TargetMisconfigured if the server is not OpenMetadata."""
        try:
            response = self.server_version(retry=retry)
        except TargetRejected as error:
            raise TargetMisconfigured(f"{error}: is it OpenMetadata?") from error
        features = self._features = server_features(str(decode_body(response, self.url).get("version", "")))
        return features

    def read(
        self, operation: str, path: str, params: Mapping[str, str] | None = None, *, member: str = "data"
    ) -> JsonObject:
        """Fetch an object that must exist."""
        return decode_body(self.request(operation, "GET", path, params=params, member=member), self.url)

    def get_or_none(
        self, operation: str, path: str, params: Mapping[str, str], *, member: str = "id"
    ) -> JsonObject | None:
        """Fetch an object; None if it does not exist.

        A 404 is only trusted from an OpenMetadata server, so the version of the server is checked first.
        """
        self.features()
        response = self.request(operation, "GET", path, params=params, member=member, allow_missing=True)
        return None if response.status == _NOT_FOUND else decode_body(response, self.url)

    def delete(
        self, operation: str, path: str, params: Mapping[str, str] | None = None, *, member: str | None = "id"
    ) -> JsonObject | None:
        """Delete an object; returns the server's response, None if the object did not exist."""
        response = self.request(operation, "DELETE", path, params=params, member=member, allow_missing=True)
        if response.status == _NOT_FOUND:
            return None
        return {} if member is None else decode_body(response, self.url)

    def request(
        self,
        operation: str,
        method: str,
        path: str,
        *,
        member: str | None = "id",
        body: Any = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = _READ_SECONDS,
        with_token: bool = True,
        allow_missing: bool = False,
        retry: bool = True,
        retry_without_response: bool = True,
    ) -> HttpResponse:
        """Send a request, with retries.

        The server must return a JSON object that has the member `member`, or no body if `member` is None. Any other
        response comes from another server, such as a proxy, and must not count as success.
        """
        encoded = None if body is None else _encode_json(body)
        request_headers = {**(headers or JSON if encoded is not None else {})}

        def attempt_counting_failures() -> HttpResponse:
            try:
                return attempt()
            except LineageBridgeError:
                self._on_failure(operation)
                raise

        def attempt() -> HttpResponse:
            response = self._send(operation, method, path, encoded, params, request_headers, seconds, with_token)
            if response.success:
                return _expect_member(response, self.url, member)
            if allow_missing and response.status == _NOT_FOUND:
                return _reject_html(response, self.url)
            raise response_error(response, f"{self.url}: {method} {_collection_path(path)}")

        retrying = self._retrying if retry_without_response else self._retrying_writes
        try:
            return retrying(attempt_counting_failures) if retry else attempt_counting_failures()
        except Unreachable:
            self._features = None
            raise

    def _send(
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
        """Send a request; if the token is rejected and a new token is available, send the request once more."""
        for token in self._tokens_to_try() if with_token else [""]:
            auth_header = {"Authorization": f"Bearer {_validated_token(token)}"} if with_token else {}
            self._rate_limiter.acquire()
            with self._slots:
                self._on_request(operation)
                response = self._session.request(
                    method,
                    f"/api/v1{path}",
                    body=body,
                    parameters=params,
                    headers={**headers, **auth_header},
                    read_seconds=seconds,
                )
            if response.status != _UNAUTHORIZED:
                break
        return response

    def _tokens_to_try(self) -> Iterator[str]:
        """Yield the current token; if the caller continues after a rejection, yield a new token, if any."""
        token = self._token.get()
        yield token
        if self._token.refresh(token):
            yield self._token.get()


def decode_body(response: HttpResponse, url: str) -> JsonObject:
    """Decode a response; raises TargetMisconfigured unless it is a JSON object."""
    try:
        return msgspec.json.decode(response.body, type=JsonObject)
    except msgspec.DecodeError as error:
        raise _unexpected_response(response, url) from error


def _expect_member(response: HttpResponse, url: str, member: str | None) -> HttpResponse:
    """Reject a response that lacks the expected JSON member, or that has a body if no member is expected."""
    if response.body if member is None else not response.has_member(member):
        raise _unexpected_response(response, url)
    return response


def _reject_html(response: HttpResponse, url: str) -> HttpResponse:
    """Reject HTML with any status, because it comes from a proxy or a login page."""
    if response.body.lstrip()[:1] == b"<":
        raise _unexpected_response(response, url)
    return response


def _unexpected_response(response: HttpResponse, url: str) -> TargetMisconfigured:
    excerpt = " ".join(response.text.split())[:100]
    return TargetMisconfigured(f"{url} returned {excerpt!r} instead of the documented JSON: is it OpenMetadata?")


def _collection_path(path: str) -> str:
    """Cut a path after the collection, because names must not appear in logs."""
    return "/".join(path.split("/")[: 3 if path.startswith("/services/") else 2])


def _validated_token(token: str) -> str:
    """Return the token if it is valid in a header; otherwise the error of the HTTP library would contain it."""
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise TargetMisconfigured("the token contains spaces, line breaks or invalid characters: copy it again")
    return token


def _encode_json(body: Any) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (TypeError, UnicodeEncodeError) as error:
        raise TargetRejected(f"cannot be sent: {error}", 0) from error
