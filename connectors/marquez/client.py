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
from connectors.session import ThrottledSession, retry_policy
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError

_PASSING = frozenset({408, 425, 429, 502, 503, 504})
_LOCKED = frozenset({401, 403, 407})


_MAX_CHARACTERS = 1_000
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL | re.IGNORECASE)


def response_error(answer: HttpResponse, asked: str) -> LineageBridgeError:
    """Say what an answer means that is no success.

    A 500 whose body says 400 is a mistake of ours, which will be one for ever. One with a page, or with an id of a
    log, is a write that others stood in the way of, or that can never be: who asks must count.
    """
    body = _body(answer)
    said = f"{asked}: {answer.status} {_words(body, answer)}".rstrip()
    if answer.status in _LOCKED:
        return TargetMisconfigured(said)
    inner = body.get("code")
    if answer.status in _PASSING or (answer.status == _SERVER_ERROR and (inner is None or inner == _SERVER_ERROR)):
        return TargetUnavailable(said, answer.status, retry_after_seconds(answer))
    return TargetRejected(said, answer.status)


def _body(answer: HttpResponse) -> dict[str, Any]:
    with suppress(msgspec.DecodeError):
        found = msgspec.json.decode(answer.body)
        return found if isinstance(found, dict) else {}
    return {}


def _words(body: dict[str, Any], answer: HttpResponse) -> str:
    errors = body.get("errors")
    if isinstance(errors, list):  # they come in any order
        return "; ".join(sorted(map(str, errors)))[:_MAX_CHARACTERS]
    title = _TITLE.search(answer.text)
    return str(body.get("message") or (title[1] if title else " ".join(answer.text.split())))[:_MAX_CHARACTERS]


#: Writing an event with thousands of columns takes seconds, and a graph of a large server takes longer.
_READ_SECONDS = 60.0
_NOT_FOUND, _SERVER_ERROR = 404, 500
#: How many things are listed in one answer.
_PAGE = 100


class MarquezClient:
    """One server. Several threads may share it."""

    def __init__(
        self, caller: ThrottledSession, *, attempts: int = 1, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.url = caller.url
        self._caller = caller
        self._tries = retry_policy(attempts, sleep)

    @property
    def source_name(self) -> str:
        """Name what events are from that are taken from the log of this server."""
        return f"marquez:{self.url}"

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()

    def probe(self) -> None:
        """Ask once whether the server answers; raises what is wrong."""
        found = self._decoded(self._once("probe", "GET", "/namespaces/default"))
        if found.get("name") != "default":
            raise TargetMisconfigured(f"{self.url} knows no namespace `default`: is it Marquez?")

    def send(self, event: JsonObject) -> None:
        """Tell the server of an event: it keeps each that it is sent, again and again.

        Once more only where another one may have stood in its way: who comes first of several makes what they share.
        """
        try:
            self._once("send", "POST", "/lineage", body=event)
        except TargetUnavailable as error:
            if error.status != _SERVER_ERROR:
                raise
            self._once("send", "POST", "/lineage", body=event)

    def list_events(self, after: str, before: str, limit: int) -> list[JsonObject]:
        """List events of runs of a time, whose end is not part of it; nothing orders those of one moment."""
        asked = {"after": after, "before": before, "sortDirection": "asc", "limit": str(limit)}
        found = self._decoded(self._ask("log", "GET", "/events/lineage", params=asked)).get("events")
        return list(found or ())

    def get_run(self, run_id: str) -> JsonObject | None:
        """Give a run."""
        return self._found("run", f"/jobs/runs/{_quoted(run_id)}")

    def get_job(self, namespace: str, name: str) -> JsonObject | None:
        """Give a job, by the name that Marquez has for it."""
        return self._found("job", f"/namespaces/{_quoted(namespace)}/jobs/{_quoted(name)}")

    def get_dataset(self, namespace: str, name: str) -> JsonObject | None:
        """Give a dataset with its facets and tags."""
        return self._found("dataset", _dataset(namespace, name))

    def is_written_by_run(self, namespace: str, name: str) -> bool:
        """Tell whether a run made the newest version of a dataset."""
        answer = self._ask(
            "dataset", "GET", f"{_dataset(namespace, name)}/versions", params={"limit": "1"}, allow_missing=True
        )
        versions = self._decoded(answer).get("versions") or ()
        return any(one.get("createdByRun") for one in versions)

    def add_tag(self, namespace: str, name: str, tag: str) -> None:
        """Give a dataset a tag; an unknown one is made."""
        self._ask("tag", "POST", f"{_dataset(namespace, name)}/tags/{_quoted(tag)}")

    def remove_tag(self, namespace: str, name: str, tag: str) -> None:
        """Take a tag off a dataset."""
        self._ask("tag", "DELETE", f"{_dataset(namespace, name)}/tags/{_quoted(tag)}", allow_missing=True)

    def add_field_tag(self, namespace: str, name: str, field: str, tag: str) -> None:
        """Give a column a tag."""
        self._ask("tag", "POST", f"{_dataset(namespace, name)}/fields/{_quoted(field)}/tags/{_quoted(tag)}")

    def remove_field_tag(self, namespace: str, name: str, field: str, tag: str) -> None:
        """Take a tag off a column."""
        path = f"{_dataset(namespace, name)}/fields/{_quoted(field)}/tags/{_quoted(tag)}"
        self._ask("tag", "DELETE", path, allow_missing=True)

    def list_namespaces(self) -> Iterator[JsonObject]:
        """List all namespaces."""
        return self._pages("namespaces", "/namespaces", "namespaces")

    def list_datasets(self, namespace: str) -> Iterator[JsonObject]:
        """List the datasets of a namespace with their facets."""
        return self._pages("datasets", f"/namespaces/{_quoted(namespace)}/datasets", "datasets")

    def list_jobs(self, namespace: str) -> Iterator[JsonObject]:
        """List the jobs of a namespace with their facets."""
        return self._pages("jobs", f"/namespaces/{_quoted(namespace)}/jobs", "jobs")

    def _pages(self, kind: str, path: str, key: str) -> Iterator[JsonObject]:
        """Read page by page until one is short: what the server counts is not what it lists."""
        offset = 0
        while True:
            asked = {"limit": str(_PAGE), "offset": str(offset)}
            found = self._decoded(self._ask(kind, "GET", path, params=asked, allow_missing=True)).get(key) or []
            yield from found
            offset += len(found)
            if len(found) < _PAGE:
                return

    def _found(self, kind: str, path: str) -> JsonObject | None:
        answer = self._ask(kind, "GET", path, allow_missing=True)
        return None if answer.status == _NOT_FOUND else self._decoded(answer)

    def _ask(
        self,
        kind: str,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        allow_missing: bool = False,
    ) -> HttpResponse:
        """Ask until the server does it, says that it will not, or was asked often enough."""
        return self._tries(lambda: self._once(kind, method, path, params=params, allow_missing=allow_missing))

    def _once(
        self,
        kind: str,
        method: str,
        path: str,
        *,
        body: JsonObject | None = None,
        params: Mapping[str, str] | None = None,
        allow_missing: bool = False,
    ) -> HttpResponse:
        def check_response(answer: HttpResponse) -> LineageBridgeError | None:
            if answer.success and answer.body.lstrip()[:1] == b"<":
                return self._strange(answer)  # it comes from something in between, however good its status is
            if answer.success or (allow_missing and answer.status == _NOT_FOUND and answer.body[:1] == b"{"):
                return None
            return response_error(answer, f"{self.url}: {method} /{path.split('/')[3]}")

        path = f"/api/v1{path}"
        return self._caller.request(
            kind, method, path, check_response, body=body, params=params, read_seconds=_READ_SECONDS
        )

    def _decoded(self, answer: HttpResponse) -> JsonObject:
        try:
            return msgspec.json.decode(answer.body, type=JsonObject) if answer.body else {}
        except msgspec.DecodeError as error:
            raise self._strange(answer) from error

    def _strange(self, answer: HttpResponse) -> TargetMisconfigured:
        said = " ".join(answer.text.split())[:100]
        return TargetMisconfigured(f"{self.url} answers {said!r} where JSON was expected: is it Marquez?")


def _dataset(namespace: str, name: str) -> str:
    return f"/namespaces/{_quoted(namespace)}/datasets/{_quoted(name)}"


def _quoted(name: str) -> str:
    return quote(name, safe="")
