"""Calls of an OpenMetadata server, each as the server really takes and answers it."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from connectors.errors import TargetRejected
from connectors.http import HttpSession
from connectors.openmetadata.auth import TokenProvider
from connectors.openmetadata.compatibility import ServerFeatures, basic_status, with_task_list
from connectors.openmetadata.session import OpenMetadataSession, decode_body
from connectors.session import RateLimiter
from mappers.canonical_json import JsonObject

_PATCH = "application/json-patch+json"
#: A bulk of changed tables takes the server half a second a table.
_BULK_SECONDS = 120.0
_PAGE = 500
_CREATED, _CONFLICT = 201, 409
_RESULTS = "/dataQuality/testCases/testCaseResults"

#: Tells what is wrong with a body for a collection, before it is sent.
BodyValidator = Callable[[str, JsonObject], str | None]


class WriteResult(NamedTuple):
    """What a write did, in the server's own word: what it answers repeats what was sent, not what it keeps."""

    entity: JsonObject
    created: bool
    changed: bool


class BulkRowResult(NamedTuple):
    """How one row of a bulk fared; the reason is the server's, and none means that it was taken."""

    place: int
    error: str | None = None


class ServerInfo(NamedTuple):
    """What a server says of itself: its version, and what time it is there."""

    version: str
    date: str | None


class OpenMetadataClient:
    """One server. Several threads may share it."""

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
        check: BodyValidator = lambda *_: None,
    ) -> None:
        self._check = check
        self._calls = OpenMetadataSession(
            session, token, on_request, on_failure, attempts=attempts, concurrency=concurrency, pace=pace, sleep=sleep
        )

    @property
    def url(self) -> str:
        """Name the server."""
        return self._calls.url

    def close(self) -> None:
        """Close the connections."""
        self._calls.close()

    def server_info(self) -> ServerInfo:
        """Ask the server for its version; it needs no token for that."""
        answer = self._calls.server_version()
        return ServerInfo(str(decode_body(answer, self.url).get("version", "")), answer.headers.get("date"))

    def version(self) -> str:
        """Give the version of the server."""
        return self.server_info().version

    def features(self) -> ServerFeatures:
        """Tell what the server can do."""
        return self._calls.features()

    def probe(self) -> None:
        """Ask once whether the server answers, and whether it takes the token; raises what is wrong."""
        self._calls.fetch_features()
        decode_body(self._calls.request("who", "GET", "/users/loggedInUser", retry=False), self.url)

    def current_user(self) -> JsonObject:
        """Give the user that the token stands for."""
        return self._calls.read("who", "/users/loggedInUser")

    def permissions(self) -> dict[str, dict[str, str]]:
        """Give what the user may do to entities of each kind: allow, deny, notAllow, or something conditional."""
        found = self._calls.read("permissions", "/permissions").get("data") or []
        return {
            str(one.get("resource")): {
                str(each.get("operation")): str(each.get("access")) for each in one.get("permissions") or []
            }
            for one in found
        }

    def put(self, collection: str, body: JsonObject) -> WriteResult:
        """Make an entity or bring it up to date; what is left out of the body may be wiped."""
        if wrong := self._validation_error(collection, body):
            raise TargetRejected(wrong, 0)
        answer = self._calls.request("put", "PUT", f"/{collection}", body=body)
        told = answer.headers.get("x-openmetadata-change", "")
        created = answer.status == _CREATED
        return WriteResult(decode_body(answer, self.url), created, created or told != "entityNoChange")

    def put_bulk(
        self, collection: str, bodies: Sequence[JsonObject], name: Callable[[JsonObject], str]
    ) -> list[BulkRowResult]:
        """Make or update many; an answer of 200 still tells row by row what was refused.

        Where the server takes one at a time, that is how they are sent. Without an answer it may still be at work on
        them, so they are not sent again by this call.
        """
        if not self.features().bulk:
            return [BulkRowResult(place, self._refused(collection, body)) for place, body in enumerate(bodies)]
        wrong = [self._validation_error(collection, body) for body in bodies]
        sent = [body for body, why in zip(bodies, wrong, strict=True) if why is None]
        failed = self._put_all(collection, sent, name) if sent else {}
        return [
            BulkRowResult(place, why or failed.get(name(body)))
            for place, (body, why) in enumerate(zip(bodies, wrong, strict=True))
        ]

    def _put_all(
        self, collection: str, bodies: Sequence[JsonObject], name: Callable[[JsonObject], str]
    ) -> dict[str, str]:
        """Send a bulk; gives the rows that were refused, by their names, with the reasons."""
        answer = self._calls.request(
            "bulk", "PUT", f"/{collection}/bulk", body=bodies, seconds=_BULK_SECONDS, retry_without_response=False
        )
        failed: dict[str, str] = {}
        for row in decode_body(answer, self.url).get("failedRequest") or []:
            request = row.get("request")
            failed[name(request) if isinstance(request, dict) else str(request)] = str(
                row.get("message") or "refused"
            )
        return failed

    def _validation_error(self, collection: str, body: JsonObject) -> str | None:
        why = self._check(collection, body)
        return why and f"not sent, for OpenMetadata's own models refuse it: {why}"

    def _refused(self, collection: str, body: JsonObject) -> str | None:
        try:
            self.put(collection, body)
        except TargetRejected as error:
            return str(error)
        return None

    def get(self, collection: str, fqn: str, *fields: str, deleted: bool = False) -> JsonObject | None:
        """Read an entity by its fully qualified name, case and all; None when there is none."""
        asked = {"fields": ",".join(fields)} if fields else {}
        asked |= {"include": "all"} if deleted else {}
        return self._calls.get_or_none("get", f"/{collection}/name/{quote(fqn, safe='')}", asked)

    def pages(self, collection: str, *fields: str, **filters: str) -> Iterator[list[JsonObject]]:
        """Read all entities, page by page."""
        after: str | None = None
        while True:
            asked = {"limit": str(_PAGE), **filters}
            asked |= {"fields": ",".join(fields)} if fields else {}
            asked |= {"after": after} if after else {}
            page = self._calls.read("list", f"/{collection}", asked)
            yield page.get("data") or []
            after = (page.get("paging") or {}).get("after")
            if not after:
                return

    def count(self, collection: str, **filters: str) -> int:
        """Count entities."""
        page = self._calls.read("list", f"/{collection}", {"limit": "0", **filters})
        return int((page.get("paging") or {}).get("total") or 0)

    def patch(
        self, collection: str, entity_id: str, operations: list[JsonObject], version: float | str
    ) -> JsonObject:
        """Change some of an entity, if nobody has changed it since it was read in this version."""
        headers = {"Content-Type": _PATCH, "If-Match": f'W/"{version}"'}
        path = f"/{collection}/{entity_id}"
        return decode_body(self._calls.request("patch", "PATCH", path, body=operations, headers=headers), self.url)

    def events(self, since: int, types: Sequence[str]) -> Iterator[list[JsonObject]]:
        """Read what was changed of entities of some types since a time in milliseconds, page by page."""
        kinds = dict.fromkeys(("entityUpdated", "entityRestored"), ",".join(types))
        asked = {**kinds, "timestamp": str(since), "limit": str(_PAGE)}
        after: str | None = None
        while True:
            page = self._calls.read("events", "/events", {**asked, "after": after} if after else asked)
            yield page.get("data") or []
            after = (page.get("paging") or {}).get("after")
            if not after:
                return

    def add_custom_property(self, type_id: str, body: JsonObject) -> None:
        """Let entities of a type have a custom property."""
        self._calls.request("define", "PUT", f"/metadata/types/{type_id}", body=body)

    def delete(self, collection: str, entity_id: str, *, recursive: bool = False) -> JsonObject | None:
        """Delete an entity so that it can be restored; gives it as it is then, None when it was not there."""
        asked = {"recursive": str(recursive).lower()}
        return self._calls.delete("delete", f"/{collection}/{entity_id}", asked)

    def put_edge(self, source: tuple[str, str], target: tuple[str, str], details: JsonObject) -> None:
        """Write the edge between two entities, each given by type and id; it replaces whatever edge there was."""
        ends = {"fromEntity": _reference(*source), "toEntity": _reference(*target)}
        body = {"edge": {**ends, "lineageDetails": details}}
        if wrong := self._validation_error("lineage", body):
            raise TargetRejected(wrong, 0)
        self._calls.request("put edge", "PUT", "/lineage", body=body)

    def get_edge(self, source_id: str, target_id: str) -> JsonObject | None:
        """Read what the server keeps of an edge; None when there is none."""
        found = self._calls.get_or_none("get edge", f"/lineage/getLineageEdge/{source_id}/{target_id}", {})
        return None if found is None else found.get("edge")

    def delete_edge(self, source: tuple[str, str], target: tuple[str, str]) -> bool:
        """Delete an edge; False when there was none."""
        return self._calls.delete("delete edge", f"/lineage/{'/'.join(source)}/{'/'.join(target)}") is not None

    def put_statuses(self, pipeline: str, statuses: Sequence[JsonObject]) -> None:
        """Write statuses of a pipeline, as much of them as the server keeps; one that is wrong refuses them all.

        Where the server takes one at a time, those before the wrong one are written.
        """
        for status in statuses:
            if wrong := self._validation_error("pipelineStatus", status):
                raise TargetRejected(wrong, 0)
        can = self.features()
        rows = [with_task_list(row if can.rich_statuses else basic_status(row)) for row in statuses]
        path = f"/pipelines/{quote(pipeline, safe='')}/status"
        sent: list[tuple[str, Any]] = [(f"{path}/bulk", rows)] if can.status_bulk else [(path, row) for row in rows]
        for at, body in sent:
            self._calls.request(
                "put statuses", "PUT", at, body=body, seconds=_BULK_SECONDS, retry_without_response=False
            )

    def post_result(self, case: str, body: JsonObject) -> bool:
        """Tell how a check ended at a time; False when something is told of that time already: it stays."""
        if wrong := self._validation_error("testCaseResult", body):
            raise TargetRejected(wrong, 0)
        try:
            self._calls.request("post result", "POST", f"{_RESULTS}/{quote(case, safe='')}", body=body, retry=False)
        except TargetRejected as error:
            if error.status != _CONFLICT:
                raise
            return False
        return True

    def delete_result(self, case: str, timestamp: int) -> bool:
        """Delete what was told of a check at a time; False when there was nothing."""
        return self._calls.delete("delete result", f"{_RESULTS}/{quote(case, safe='')}/{timestamp}") is not None

    def results(self, case: str, start: int, end: int) -> list[JsonObject] | None:
        """Read how a check ended at all times from one to another, in milliseconds; None when it is not there."""
        return self._read_range("get results", f"{_RESULTS}/{quote(case, safe='')}", start, end)

    def check_cases(self, table: str) -> list[JsonObject]:
        """Read the test cases of a table and of its columns."""
        asked = {"entityLink": f"<#E::table::{table}>", "includeAllTests": "true"}
        return [one for page in self.pages("dataQuality/testCases", **asked) for one in page]

    def put_profile(self, table_id: str, body: JsonObject) -> None:
        """Write figures of a table at a time; what was written of that time before is not replaced."""
        if wrong := self._validation_error("tableProfile", body):
            raise TargetRejected(wrong, 0)
        path = f"/tables/{table_id}/tableProfile"
        self._calls.request("put profile", "PUT", path, body=body, retry=False)

    def profiles(self, table: str, start: int, end: int) -> list[JsonObject] | None:
        """Read the figures of a table of all times from one to another; None when it is not there."""
        return self._read_range("get profile", f"/tables/{quote(table, safe='')}/tableProfile", start, end)

    def statuses(self, pipeline: str, start: int, end: int) -> list[JsonObject] | None:
        """Read the statuses of a pipeline of all times from one to another; None when it is not there."""
        return self._read_range("get statuses", f"/pipelines/{quote(pipeline, safe='')}/status", start, end)

    def delete_status(self, pipeline: str, timestamp: int) -> bool:
        """Delete the status of a pipeline at a time; False when there was none."""
        path = f"/pipelines/{quote(pipeline, safe='')}/status/{timestamp}"
        return self._calls.delete("delete status", path) is not None

    def _read_range(self, kind: str, path: str, start: int, end: int) -> list[JsonObject] | None:
        """Read what lies between two times, both of them included: the server gives all of it at once."""
        found = self._calls.get_or_none(kind, path, {"startTs": str(start), "endTs": str(end)})
        return None if found is None else list(found.get("data") or ())


def _reference(kind: str, entity_id: str) -> JsonObject:
    return {"id": entity_id, "type": kind}
