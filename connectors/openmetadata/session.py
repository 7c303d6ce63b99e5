"""Session with OpenMetadata: retries, features and errors of the server."""

import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from connectors.errors import TargetMisconfigured, TargetRejected, Unreachable
from connectors.http import HttpResponse
from connectors.openmetadata.compatibility import ServerFeatures, server_features
from connectors.openmetadata.response_errors import response_error
from connectors.session import ThrottledSession, call_with_retries, decode_object, retry_policy, unexpected_response
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError

_PRODUCT = "OpenMetadata"
#: Seconds for a request and its retries; shorter than the lease of the items that are pushed.
_CALL_SECONDS = 25.0
PROBE_SECONDS = 10.0
_OK, _NOT_FOUND = 200, 404


class OpenMetadataSession:
    """Thread-safe session with one OpenMetadata server."""

    def __init__(
        self, session: ThrottledSession, attempts: int = 1, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.url = session.url
        self._session = session
        self._retrying = retry_policy(attempts, sleep)
        self._retrying_writes = retry_policy(attempts, sleep, retry_without_response=False)
        self._features: ServerFeatures | None = None
        self._features_lock = Lock()

    def close(self) -> None:
        self._session.close()

    def server_version(self, *, retry: bool = True) -> HttpResponse:
        """Fetch the version of the server; this needs no token."""
        return self.request(
            "version",
            "GET",
            "/system/version",
            member="version",
            with_token=False,
            retry=retry,
            seconds=PROBE_SECONDS,
        )

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
        version = str(decode_body(response, self.url).get("version", ""))
        features = self._features = server_features(version)
        return features

    def read(
        self, operation: str, path: str, params: Mapping[str, str] | None = None, *, member: str = "data"
    ) -> JsonObject:
        """Fetch an object that must exist."""
        return decode_body(self.request(operation, "GET", path, params=params, member=member), self.url)

    def get_or_none(
        self, operation: str, path: str, params: Mapping[str, str], *, member: str = "id"
    ) -> JsonObject | None:
        """Fetch an object, or return None if it does not exist.

        A 404 is only trusted from an OpenMetadata server, so the version of the server is checked first.
        """
        self.features()
        response = self.request(operation, "GET", path, params=params, member=member, allow_missing=True)
        return None if response.status == _NOT_FOUND else decode_body(response, self.url)

    def delete(
        self, operation: str, path: str, params: Mapping[str, str] | None = None, *, member: str | None = "id"
    ) -> JsonObject | None:
        """Delete an object; returns the server's response, or None if the object did not exist."""
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
        seconds: float = _CALL_SECONDS,
        with_token: bool = True,
        allow_missing: bool = False,
        retry: bool = True,
        retry_without_response: bool = True,
    ) -> HttpResponse:
        """Send a request, with retries.

        The response must be a JSON object that contains `member`, or 200 without a body if `member` is None. Any
        other successful response comes from another server, such as a proxy, and does not count as success.
        """

        def check_response(response: HttpResponse) -> LineageBridgeError | None:
            if response.success:
                return None if _is_documented(response, member) else unexpected_response(response, self.url, _PRODUCT)
            if allow_missing and response.status == _NOT_FOUND:
                is_html = response.body.lstrip()[:1] == b"<"  # from a proxy or a login page
                return unexpected_response(response, self.url, _PRODUCT) if is_html else None
            return response_error(response, f"{self.url}: {method} {_collection_path(path)}")

        def attempt(seconds: float) -> HttpResponse:
            return self._session.request(
                operation,
                method,
                f"/api/v1{path}",
                check_response,
                body=body,
                params=params,
                headers=headers,
                seconds=seconds,
                with_token=with_token,
            )

        retrying = self._retrying if retry_without_response else self._retrying_writes
        try:
            return call_with_retries(retrying, seconds, attempt) if retry else attempt(seconds)
        except Unreachable:
            self._features = None
            raise


def _is_documented(response: HttpResponse, member: str | None) -> bool:
    if member is None:
        return response.status == _OK and not response.body
    return response.has_member(member)


def decode_body(response: HttpResponse, url: str) -> JsonObject:
    """Decode a response; raises TargetMisconfigured unless it is a JSON object."""
    return decode_object(response, url, _PRODUCT)


def _collection_path(path: str) -> str:
    """Cut a path after the collection, because names must not appear in logs."""
    return "/".join(path.split("/")[: 3 if path.startswith("/services/") else 2])
