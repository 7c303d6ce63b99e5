"""OpenMetadata client, adapted to the actual behavior of the server."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from connectors.errors import TargetMisconfigured, TargetRejected, TargetUnavailable
from connectors.http import HttpSession
from connectors.openmetadata.compatibility import ServerFeatures, basic_status, with_task_list
from connectors.openmetadata.session import PROBE_SECONDS, OpenMetadataSession, decode_body
from connectors.session import RateLimiter, ThrottledSession, TokenProvider
from mappers.canonical_json import JsonObject

_PATCH = "application/json-patch+json"
#: Part of the 500 of a server that fails to read the header of a token.
_NULL_MESSAGE = "message [null]"
#: In a bulk request, the server needs half a second per changed table. The lease is renewed in the background.
_BULK_SECONDS = 120.0
_PAGE_SIZE = 500
_CREATED, _CONFLICT = 201, 409
_RESULTS = "/dataQuality/testCases/testCaseResults"

#: Validates a body before it is sent to a collection; returns the problem, or None if the body is valid.
BodyValidator = Callable[[str, JsonObject], str | None]


class WriteResult(NamedTuple):
    """Result of a write as the server reports it; `entity` repeats the request and is not the stored entity."""

    entity: JsonObject
    created: bool
    changed: bool


class BulkRowResult(NamedTuple):
    """Result of one row of a bulk request; `error` is the reason for a rejection, or None if the row was accepted."""

    position: int
    error: str | None = None


class ServerInfo(NamedTuple):
    """Version of the server, and its current time."""

    version: str
    date: str | None


class OpenMetadataClient:
    """Thread-safe client of one OpenMetadata server."""

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
        validate: BodyValidator = lambda *_: None,
    ) -> None:
        self._validate = validate
        throttled = ThrottledSession(
            session, on_request, on_failure, token=token, concurrency=concurrency, rate_limiter=rate_limiter
        )
        self._session = OpenMetadataSession(throttled, attempts, sleep)

    @property
    def url(self) -> str:
        return self._session.url

    def close(self) -> None:
        self._session.close()

    def server_info(self) -> ServerInfo:
        """Fetch the version of the server; this needs no token."""
        response = self._session.server_version()
        return ServerInfo(str(decode_body(response, self.url).get("version", "")), response.headers.get("date"))

    def version(self) -> str:
        return self.server_info().version

    def features(self) -> ServerFeatures:
        return self._session.features()

    def probe(self) -> None:
        """Check, without retries, that the server responds and accepts the token; raises an error otherwise."""
        self._session.fetch_features()
        self._fetch_current_user(retry=False)

    def current_user(self) -> JsonObject:
        """Fetch the user that the token belongs to."""
        return self._fetch_current_user(retry=True)

    def _fetch_current_user(self, *, retry: bool) -> JsonObject:
        """Fetch the user of the token; the server fails with a null message if the token's header has no key ID."""
        try:
            response = self._session.request("who", "GET", "/users/loggedInUser", retry=retry, seconds=PROBE_SECONDS)
        except TargetUnavailable as error:
            if _NULL_MESSAGE not in str(error):
                raise
            raise TargetMisconfigured(
                f"{str(error).rstrip('.')}: the server cannot process the token, which may lack a key ID"
            ) from error
        return decode_body(response, self.url)

    def permissions(self) -> dict[str, dict[str, str]]:
        """Fetch the user's permissions by resource and operation; values are allow, deny, notAllow or conditional."""
        permissions: dict[str, dict[str, str]] = {}
        for resource in self._session.read("permissions", "/permissions").get("data") or []:
            access = {
                str(rule.get("operation")): str(rule.get("access")) for rule in resource.get("permissions") or []
            }
            permissions[str(resource.get("resource"))] = access
        return permissions

    def put(self, collection: str, body: JsonObject) -> WriteResult:
        """Create or update an entity; the server may erase fields that the body omits."""
        if problem := self._validation_error(collection, body):
            raise TargetRejected(problem, 0)
        response = self._session.request("put", "PUT", f"/{collection}", body=body)
        change = response.headers.get("x-openmetadata-change", "")
        created = response.status == _CREATED
        return WriteResult(decode_body(response, self.url), created, created or change != "entityNoChange")

    def put_bulk(
        self,
        collection: str,
        bodies: Sequence[JsonObject],
        row_name: Callable[[JsonObject], str],
        *,
        override: bool = False,
    ) -> list[BulkRowResult]:
        """Create or update many entities; rows can be rejected even if the request succeeds.

        Servers without bulk requests get one request per entity. A bulk request without a response is not retried,
        because the server may still be working on the rows. With `override`, a row also replaces description,
        display name and owners, which the server otherwise keeps; it clears those that the row omits.
        """
        if not self.features().bulk:
            return [BulkRowResult(index, self._put_or_error(collection, body)) for index, body in enumerate(bodies)]
        problems = [self._validation_error(collection, body) for body in bodies]
        valid_bodies = [body for body, problem in zip(bodies, problems, strict=True) if problem is None]
        errors = self._send_bulk(collection, valid_bodies, row_name, override=override) if valid_bodies else {}
        return [
            BulkRowResult(index, problem or errors.get(row_name(body)))
            for index, (body, problem) in enumerate(zip(bodies, problems, strict=True))
        ]

    def _send_bulk(
        self,
        collection: str,
        bodies: Sequence[JsonObject],
        row_name: Callable[[JsonObject], str],
        *,
        override: bool,
    ) -> dict[str, str]:
        """Send a bulk request; returns the errors of the rejected rows by row name."""
        response = self._session.request(
            "bulk", "PUT", f"/{collection}/bulk", member="status", body=bodies,
            params={"overrideMetadata": "true"} if override else None, seconds=_BULK_SECONDS,
            retry_without_response=False,
        )  # fmt: skip
        errors: dict[str, str] = {}
        for row in decode_body(response, self.url).get("failedRequest") or []:
            request = row.get("request")
            name = row_name(request) if isinstance(request, dict) else str(request)
            errors[name] = str(row.get("message") or "rejected")
        return errors

    def _validation_error(self, collection: str, body: JsonObject) -> str | None:
        problem = self._validate(collection, body)
        return problem and f"not sent: OpenMetadata's models reject it: {problem}"

    def _put_or_error(self, collection: str, body: JsonObject) -> str | None:
        try:
            self.put(collection, body)
        except TargetRejected as error:
            return str(error)
        return None

    def get(self, collection: str, fqn: str, *fields: str, deleted: bool = False) -> JsonObject | None:
        """Fetch an entity by its case-sensitive fully qualified name, or return None if it does not exist."""
        params = {"fields": ",".join(fields)} if fields else {}
        if deleted:
            params["include"] = "all"
        return self._session.get_or_none("get", f"/{collection}/name/{quote(fqn, safe='')}", params)

    def pages(self, collection: str, *fields: str, **filters: str) -> Iterator[list[JsonObject]]:
        """Fetch all entities of a collection, page by page."""
        after: str | None = None
        while True:
            params = {"limit": str(_PAGE_SIZE), **filters}
            if fields:
                params["fields"] = ",".join(fields)
            if after:
                params["after"] = after
            page = self._session.read("list", f"/{collection}", params)
            yield page.get("data") or []
            after = (page.get("paging") or {}).get("after")
            if not after:
                return

    def count(self, collection: str, **filters: str) -> int:
        page = self._session.read("list", f"/{collection}", {"limit": "0", **filters})
        return int((page.get("paging") or {}).get("total") or 0)

    def patch(
        self, collection: str, entity_id: str, operations: list[JsonObject], version: float | str
    ) -> JsonObject:
        """Change parts of an entity, unless it has changed since `version` was read."""
        headers = {"Content-Type": _PATCH, "If-Match": f'W/"{version}"'}
        path = f"/{collection}/{entity_id}"
        return decode_body(self._session.request("patch", "PATCH", path, body=operations, headers=headers), self.url)

    def events(self, since_ms: int, types: Sequence[str]) -> Iterator[list[JsonObject]]:
        """Fetch the update and restore events of these entity types since a time, page by page."""
        event_filters = dict.fromkeys(("entityUpdated", "entityRestored"), ",".join(types))
        params = {**event_filters, "timestamp": str(since_ms), "limit": str(_PAGE_SIZE)}
        after: str | None = None
        while True:
            page = self._session.read("events", "/events", {**params, "after": after} if after else params)
            yield page.get("data") or []
            after = (page.get("paging") or {}).get("after")
            if not after:
                return

    def add_custom_property(self, type_id: str, body: JsonObject) -> None:
        """Define a custom property for the entities of a type."""
        self._session.request("define", "PUT", f"/metadata/types/{type_id}", body=body)

    def delete(self, collection: str, entity_id: str, *, recursive: bool = False) -> JsonObject | None:
        """Soft-delete an entity; returns its last state, or None if it did not exist."""
        params = {"recursive": str(recursive).lower()}
        return self._session.delete("delete", f"/{collection}/{entity_id}", params)

    def restore(self, collection: str, entity_id: str) -> None:
        """Restore a soft-deleted entity and its children; unlike a PUT, this keeps all their fields."""
        self._session.request("restore", "PUT", f"/{collection}/restore", body={"id": entity_id})

    def put_edge(self, source: tuple[str, str], target: tuple[str, str], details: JsonObject) -> None:
        """Write the edge between two entities, each given as (type, id); an existing edge is replaced."""
        endpoints = {"fromEntity": _reference(*source), "toEntity": _reference(*target)}
        body = {"edge": {**endpoints, "lineageDetails": details}}
        if problem := self._validation_error("lineage", body):
            raise TargetRejected(problem, 0)
        self._session.request("put edge", "PUT", "/lineage", member=None, body=body)

    def get_edge(self, source_id: str, target_id: str) -> JsonObject | None:
        """Fetch an edge as the server stores it, or return None if it does not exist."""
        response = self._session.get_or_none(
            "get edge", f"/lineage/getLineageEdge/{source_id}/{target_id}", {}, member="edge"
        )
        return None if response is None else response.get("edge")

    def upstream_edges(self, entity_type: str, entity_id: str) -> dict[str, JsonObject]:
        """Fetch all edges into an entity. Returns their details as the server stores them, keyed by source id."""
        graph = self.lineage_graph(entity_type, entity_id, downstream=False)
        return {edge["fromEntity"]: edge.get("lineageDetails") or {} for edge in graph.get("upstreamEdges") or ()}

    def lineage_graph(self, entity_type: str, entity_id: str, *, downstream: bool) -> JsonObject:
        """Fetch the edges into an entity, and optionally out of it, with the entities at their other ends."""
        path = f"/lineage/{entity_type}/{entity_id}"
        params = {"upstreamDepth": "1", "downstreamDepth": "1" if downstream else "0"}
        return self._session.get_or_none("get edges", path, params, member="upstreamEdges") or {}

    def delete_edge(self, source: tuple[str, str], target: tuple[str, str]) -> bool:
        """Delete an edge; returns False if the edge did not exist."""
        path = f"/lineage/{'/'.join(source)}/{'/'.join(target)}"
        return self._session.delete("delete edge", path, member=None) is not None

    def put_statuses(self, pipeline: str, statuses: Sequence[JsonObject]) -> None:
        """Write pipeline statuses with the fields that the server supports.

        All statuses are validated before the first is sent. Servers without bulk requests get one status per request;
        if such a server rejects a status, the statuses before it have been written.
        """
        for status in statuses:
            if problem := self._validation_error("pipelineStatus", status):
                raise TargetRejected(problem, 0)
        features = self.features()
        rows = [with_task_list(row if features.rich_statuses else basic_status(row)) for row in statuses]
        path = f"/pipelines/{quote(pipeline, safe='')}/status"
        requests: list[tuple[str, Any]] = [(path, row) for row in rows]
        if features.status_bulk:
            requests = [(f"{path}/bulk", rows)]
        for request_path, body in requests:
            self._session.request(
                "put statuses", "PUT", request_path, body=body, seconds=_BULK_SECONDS, retry_without_response=False
            )

    def post_result(self, case: str, body: JsonObject) -> bool:
        """Post the result of a test case; returns False if a result for the same time exists, which is kept."""
        if problem := self._validation_error("testCaseResult", body):
            raise TargetRejected(problem, 0)
        try:
            self._session.request("post result", "POST", f"{_RESULTS}/{quote(case, safe='')}", body=body, retry=False)
        except TargetRejected as error:
            if error.status != _CONFLICT:
                raise
            return False
        return True

    def delete_result(self, case: str, timestamp: int) -> bool:
        """Delete the result of a test case at a time; returns False if the result did not exist."""
        return self._session.delete("delete result", f"{_RESULTS}/{quote(case, safe='')}/{timestamp}") is not None

    def results(self, case: str, start: int, end: int) -> list[JsonObject] | None:
        """Fetch the results of a test case between two times, or return None if the test case does not exist."""
        return self._read_range("get results", f"{_RESULTS}/{quote(case, safe='')}", start, end)

    def test_cases(self, table: str) -> list[JsonObject]:
        """Fetch the test cases of a table and its columns, with their definitions."""
        filters = {"entityLink": f"<#E::table::{table}>", "includeAllTests": "true"}
        return [case for page in self.pages("dataQuality/testCases", "testDefinition", **filters) for case in page]

    def put_profile(self, table_id: str, body: JsonObject) -> None:
        """Write the profile of a table; an existing profile for the same time is not replaced."""
        if problem := self._validation_error("tableProfile", body):
            raise TargetRejected(problem, 0)
        path = f"/tables/{table_id}/tableProfile"
        self._session.request("put profile", "PUT", path, body=body, retry=False)

    def delete_profile(self, table: str, timestamp: int) -> None:
        """Delete the profile of a table at a time, and the operation in it; column profiles remain."""
        for part in ("system", "table"):
            path = f"/tables/{quote(table, safe='')}/{part}/{timestamp}/profile"
            self._session.delete("delete profile", path, member=None)

    def put_last_run(self, table_id: str, pipeline: str, body: JsonObject) -> None:
        """Write the last run of a pipeline that writes a table; runs of other pipelines are kept."""
        if problem := self._validation_error("pipelineObservability", body):
            raise TargetRejected(problem, 0)
        path = f"/tables/{table_id}/pipelineObservability/{quote(pipeline, safe='')}"
        self._session.request("put last run", "PUT", path, body=body)

    def entity_contract(self, entity_type: str, entity_id: str) -> JsonObject | None:
        """Fetch the data contract of an entity, or return None if it has none."""
        params = {"entityId": entity_id, "entityType": entity_type}
        return self._session.get_or_none("get contract", "/dataContracts/entity", params)

    def profiles(self, table: str, start: int, end: int) -> list[JsonObject] | None:
        """Fetch the profiles of a table between two times, or return None if the table does not exist."""
        return self._read_range("get profile", f"/tables/{quote(table, safe='')}/tableProfile", start, end)

    def statuses(self, pipeline: str, start: int, end: int) -> list[JsonObject] | None:
        """Fetch the statuses of a pipeline between two times, or return None if the pipeline does not exist."""
        return self._read_range("get statuses", f"/pipelines/{quote(pipeline, safe='')}/status", start, end)

    def delete_status(self, pipeline: str, timestamp: int) -> bool:
        """Delete the status of a pipeline at a time; returns False if the status did not exist."""
        path = f"/pipelines/{quote(pipeline, safe='')}/status/{timestamp}"
        return self._session.delete("delete status", path) is not None

    def _read_range(self, operation: str, path: str, start: int, end: int) -> list[JsonObject] | None:
        """Fetch all records between two times (inclusive, in milliseconds); the server does not paginate."""
        times = {"startTs": str(start), "endTs": str(end)}
        response = self._session.get_or_none(operation, path, times, member="data")
        return None if response is None else list(response.get("data") or ())


def _reference(entity_type: str, entity_id: str) -> JsonObject:
    return {"id": entity_id, "type": entity_type}
