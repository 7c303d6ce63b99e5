"""Client of the Marquez API."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import msgspec

from connectors.errors import TargetMisconfigured, TargetRejected, TargetUnavailable
from connectors.http import HttpResponse, retry_after_seconds
from connectors.session import ThrottledSession, call_with_retries, decode_object, retry_policy, unexpected_response
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.marquez.events import restore_exponents

_PRODUCT = "Marquez"
_TRANSIENT_STATUSES = frozenset({408, 425, 429, 502, 503, 504})
_UNAUTHORIZED_STATUSES = frozenset({401, 403, 407})
_WRONG_PATH_STATUSES = frozenset({404, 405, 410})
_CREATED, _NOT_FOUND, _SERVER_ERROR = 201, 404, 500
#: Seconds for a request and its retries; shorter than the lease of the items that are pushed. Writing an event with
#: thousands of columns takes seconds, and reading a page of a large server takes longer.
_CALL_SECONDS, _PAGE_SECONDS, _PROBE_SECONDS = 25.0, 120.0, 10.0
#: Entries per page. Pages are large, because the server needs the same time for a page of any size.
_PAGE_SIZE = 1_000
_MAX_CHARACTERS = 1_000
_HTML_TITLE = re.compile(r"<title>([^<]*+)</title>", re.IGNORECASE)


def response_error(response: HttpResponse, request: str) -> LineageBridgeError:
    """Translate an error response.

    A 500 with code 400 in its body means an invalid request, which is permanent. A 500 with an HTML page or a log id
    means that a write collided with another one or will never succeed, so callers must limit the attempts.
    """
    body = _decode_error_body(response)
    message = f"{request}: {response.status} {_error_text(body, response)}".rstrip()
    if response.status in _UNAUTHORIZED_STATUSES or response.is_redirect:
        return TargetMisconfigured(message)
    if response.status in _WRONG_PATH_STATUSES and not body:  # Marquez describes what is missing
        return TargetMisconfigured(f"{message}: is it Marquez?")
    body_code = body.get("code")
    if response.status in _TRANSIENT_STATUSES or (
        response.status == _SERVER_ERROR and (body_code is None or body_code == _SERVER_ERROR)
    ):
        return TargetUnavailable(message, response.status, retry_after_seconds(response))
    return TargetRejected(message, response.status)


def _decode_error_body(response: HttpResponse) -> dict[str, Any]:
    with suppress(msgspec.DecodeError):
        decoded_body = msgspec.json.decode(response.body)
        return decoded_body if isinstance(decoded_body, dict) else {}
    return {}


def _error_text(body: dict[str, Any], response: HttpResponse) -> str:
    errors = body.get("errors")
    if isinstance(errors, list):  # sorted, because their order varies
        return "; ".join(sorted(map(str, errors)))[:_MAX_CHARACTERS]
    title = _HTML_TITLE.search(response.text)
    fallback = title[1] if title else " ".join(response.text.split())
    return str(body.get("message") or fallback)[:_MAX_CHARACTERS]


class MarquezClient:
    """Thread-safe client of one Marquez server."""

    def __init__(
        self, session: ThrottledSession, *, attempts: int = 1, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.url = session.url
        self._session = session
        self._retrying = retry_policy(attempts, sleep)

    @property
    def source_name(self) -> str:
        """Source name of events imported from the log of this server."""
        return f"marquez:{self.url}"

    def close(self) -> None:
        self._session.close()

    def probe(self) -> None:
        """Check, without retries, that the server responds and is Marquez; raises an error otherwise."""
        namespace = self._decode_object(
            self._request_once("probe", "GET", "/namespaces/default", member="name", seconds=_PROBE_SECONDS)
        )
        if namespace.get("name") != "default":
            raise TargetMisconfigured(f"{self.url} has no namespace `default`: is it Marquez?")

    def send(self, event: JsonObject) -> None:
        """Send an event, and retry once after a 500, because writers of the same object may have collided.

        There are no further retries, because the server stores every copy of an event.
        """
        ends_at = time.monotonic() + _CALL_SECONDS
        try:
            self._request_once("send", "POST", "/lineage", member=None, body=event)
        except TargetUnavailable as error:
            seconds_left = ends_at - time.monotonic()
            if error.status != _SERVER_ERROR or seconds_left <= 0:
                raise
            self._request_once("send", "POST", "/lineage", member=None, body=event, seconds=seconds_left)

    def complete_run(self, run_id: str, at: str) -> None:
        """Complete a run again, which makes its job version the current one; adds no event to the log."""
        self._request("complete", "POST", f"/jobs/runs/{_quote(run_id)}/complete", member="id", params={"at": at})

    def list_events(self, after: str, before: str, limit: int) -> list[JsonObject]:
        """List run events from `after` to `before` (exclusive) by time; simultaneous events are unordered."""
        params = {"after": after, "before": before, "sortDirection": "asc", "limit": str(limit)}
        response = self._request(
            "log", "GET", "/events/lineage", params=params, member="events", seconds=_PAGE_SECONDS
        )
        return [restore_exponents(event) for event in self._decode_entries(response, "events")]

    def get_run(self, run_id: str) -> JsonObject | None:
        return self._get_or_none("run", f"/jobs/runs/{_quote(run_id)}", member="id")

    def get_job(self, namespace: str, name: str) -> JsonObject | None:
        """Fetch a job by its name in Marquez, or return None if it does not exist."""
        return self._get_or_none("job", f"/namespaces/{_quote(namespace)}/jobs/{_quote(name)}")

    def get_dataset(self, namespace: str, name: str) -> JsonObject | None:
        """Fetch a dataset with its facets and tags, or return None if it does not exist."""
        return self._get_or_none("dataset", _dataset_path(namespace, name))

    def is_created_by_hand(self, namespace: str, name: str) -> bool:
        """Return whether the latest version of a dataset was written without a run; an alias has no versions."""
        response = self._request(
            "dataset", "GET", f"{_dataset_path(namespace, name)}/versions", params={"limit": "1"}, member="versions",
            allow_missing=True,
        )  # fmt: skip
        versions = [] if response.status == _NOT_FOUND else self._decode_entries(response, "versions")
        return bool(versions) and not any(version.get("createdByRun") for version in versions)

    def add_tag(self, namespace: str, name: str, tag: str) -> None:
        """Tag a dataset; the server creates the tag if necessary."""
        self._request("tag", "POST", f"{_dataset_path(namespace, name)}/tags/{_quote(tag)}")

    def remove_tag(self, namespace: str, name: str, tag: str) -> None:
        self._request("tag", "DELETE", f"{_dataset_path(namespace, name)}/tags/{_quote(tag)}", allow_missing=True)

    def add_field_tag(self, namespace: str, name: str, field: str, tag: str) -> None:
        self._request("tag", "POST", f"{_dataset_path(namespace, name)}/fields/{_quote(field)}/tags/{_quote(tag)}")

    def remove_field_tag(self, namespace: str, name: str, field: str, tag: str) -> None:
        path = f"{_dataset_path(namespace, name)}/fields/{_quote(field)}/tags/{_quote(tag)}"
        self._request("tag", "DELETE", path, allow_missing=True)

    def list_namespaces(self) -> Iterator[JsonObject]:
        return self._read_all_pages("namespaces", "/namespaces", "namespaces")

    def list_datasets(self, namespace: str) -> Iterator[JsonObject]:
        """List the datasets of a namespace, with their facets."""
        return self._read_all_pages("datasets", f"/namespaces/{_quote(namespace)}/datasets", "datasets")

    def list_jobs(self, namespace: str) -> Iterator[JsonObject]:
        """List the jobs of a namespace, with their facets."""
        return self._read_all_pages("jobs", f"/namespaces/{_quote(namespace)}/jobs", "jobs")

    def _read_all_pages(self, operation: str, path: str, key: str) -> Iterator[JsonObject]:
        """Read pages up to the first incomplete page, because the reported total differs from the number of items."""
        offset = 0
        while True:
            params = {"limit": str(_PAGE_SIZE), "offset": str(offset)}
            response = self._request(
                operation, "GET", path, params=params, member=key, allow_missing=True, seconds=_PAGE_SECONDS
            )
            entries = [] if response.status == _NOT_FOUND else self._decode_entries(response, key)
            yield from entries
            offset += len(entries)
            if len(entries) < _PAGE_SIZE:
                return

    def _get_or_none(self, operation: str, path: str, *, member: str = "name") -> JsonObject | None:
        response = self._request(operation, "GET", path, member=member, allow_missing=True)
        return None if response.status == _NOT_FOUND else self._decode_object(response)

    def _request(
        self,
        operation: str,
        method: str,
        path: str,
        *,
        member: str = "name",
        params: Mapping[str, str] | None = None,
        allow_missing: bool = False,
        seconds: float = _CALL_SECONDS,
    ) -> HttpResponse:
        def attempt(seconds: float) -> HttpResponse:
            return self._request_once(
                operation, method, path, member=member, params=params, allow_missing=allow_missing, seconds=seconds
            )

        return call_with_retries(self._retrying, seconds, attempt)

    def _request_once(
        self,
        operation: str,
        method: str,
        path: str,
        *,
        member: str | None,
        body: JsonObject | None = None,
        params: Mapping[str, str] | None = None,
        allow_missing: bool = False,
        seconds: float = _CALL_SECONDS,
    ) -> HttpResponse:
        """Send a request once.

        The response must be a JSON object that contains `member`, or 201 without a body if `member` is None. Any
        other successful response comes from another server, such as a proxy, and does not count as success.
        """

        def check_response(response: HttpResponse) -> LineageBridgeError | None:
            if response.success and not _is_documented(response, member):
                return unexpected_response(response, self.url, _PRODUCT)
            if response.success or (allow_missing and response.status == _NOT_FOUND and response.body[:1] == b"{"):
                return None
            return response_error(response, f"{self.url}: {method} /{collection}")

        _, collection, *_ = path.split("/")
        return self._session.request(
            operation,
            method,
            f"/api/v1{path}",
            check_response,
            body=body,
            params=params,
            seconds=seconds,
        )

    def _decode_object(self, response: HttpResponse) -> JsonObject:
        return decode_object(response, self.url, _PRODUCT)

    def _decode_entries(self, response: HttpResponse, key: str) -> list[JsonObject]:
        entries = self._decode_object(response)[key]
        if not isinstance(entries, list):
            raise unexpected_response(response, self.url, _PRODUCT)
        return entries


def _is_documented(response: HttpResponse, member: str | None) -> bool:
    if member is None:
        return response.status == _CREATED and not response.body
    return response.has_member(member)


def _dataset_path(namespace: str, name: str) -> str:
    return f"/namespaces/{_quote(namespace)}/datasets/{_quote(name)}"


def _quote(name: str) -> str:
    return quote(name, safe="")
