"""Calls of an OpenMetadata server, each as the server really takes and answers it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from connectors.http import HttpAnswer, HttpSession
from connectors.openmetadata.refusal import refusal
from connectors.openmetadata.token import Token
from mappers.errors import TargetLocked, TargetRefused

Entity = dict[str, Any]

_JSON = {"Content-Type": "application/json"}
_PATCH = {"Content-Type": "application/json-patch+json"}
#: A bulk of changed tables takes the server half a second a table.
_BULK_SECONDS = 120.0
_READ_SECONDS = 30.0
_PAGE = 500
_UNAUTHORIZED, _NOT_FOUND = 401, 404


class Written(NamedTuple):
    """What a write did, in the server's own word: what it answers repeats what was sent, not what it keeps."""

    entity: Entity
    created: bool
    changed: bool


class Row(NamedTuple):
    """How one row of a bulk fared; the reason is the server's, and none means that it was taken."""

    place: int
    error: str | None = None


class OpenMetadata:
    """One server. Several threads may share it."""

    def __init__(self, session: HttpSession, token: Token, counted: Callable[[str], None] = lambda _: None) -> None:
        self._session = session
        self._token = token
        self._counted = counted

    @property
    def url(self) -> str:
        """Name the server."""
        return self._session.url

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def version(self) -> str:
        """Give the version of the server."""
        return str(self._read("version", "GET", "/system/version").get("version", ""))

    def who(self) -> Entity:
        """Give the user that the token stands for."""
        return self._read("who", "GET", "/users/loggedInUser")

    def put(self, collection: str, body: Entity) -> Written:
        """Make an entity or bring it up to date; what is left out of the body may be wiped."""
        answer = self._done("put", "PUT", f"/{collection}", _encoded(body))
        told = answer.headers.get("x-openmetadata-change", "")
        created = answer.status == 201
        return Written(self._decoded(answer), created, created or told != "entityNoChange")

    def put_bulk(self, collection: str, bodies: Sequence[Entity], name: Callable[[Entity], str]) -> list[Row]:
        """Make or update many; an answer of 200 still tells row by row what was refused."""
        answer = self._done("bulk", "PUT", f"/{collection}/bulk", _encoded(bodies), seconds=_BULK_SECONDS)
        failed: dict[str, str] = {}
        for row in self._decoded(answer).get("failedRequest") or []:
            request = row.get("request")
            failed[name(request) if isinstance(request, dict) else str(request)] = str(
                row.get("message") or "refused"
            )
        return [Row(place, failed.get(name(body))) for place, body in enumerate(bodies)]

    def get(self, collection: str, fqn: str, *fields: str, deleted: bool = False) -> Entity | None:
        """Read an entity by its fully qualified name, case and all; None when there is none."""
        asked = {"fields": ",".join(fields)} if fields else {}
        asked |= {"include": "all"} if deleted else {}
        return self._found("get", f"/{collection}/name/{quote(fqn, safe='')}", asked)

    def pages(self, collection: str, *fields: str, **filters: str) -> Iterator[list[Entity]]:
        """Read all entities, page by page."""
        after: str | None = None
        while True:
            asked = {"limit": str(_PAGE), **filters}
            asked |= {"fields": ",".join(fields)} if fields else {}
            asked |= {"after": after} if after else {}
            page = self._read("list", "GET", f"/{collection}", asked)
            yield page.get("data") or []
            after = (page.get("paging") or {}).get("after")
            if not after:
                return

    def patch(self, collection: str, entity_id: str, operations: list[Entity], version: float | str) -> Entity:
        """Change some of an entity, if nobody has changed it since it was read in this version."""
        headers = {**_PATCH, "If-Match": f'W/"{version}"'}
        return self._decoded(
            self._done("patch", "PATCH", f"/{collection}/{entity_id}", _encoded(operations), headers=headers)
        )

    def delete(self, collection: str, entity_id: str, *, recursive: bool = False) -> bool:
        """Delete an entity so that it can be restored; False when it was not there."""
        return self._gone("delete", f"/{collection}/{entity_id}", {"recursive": str(recursive).lower()})

    def put_edge(self, source: tuple[str, str], target: tuple[str, str], details: Entity) -> None:
        """Write the edge between two entities, each given by type and id; it replaces whatever edge there was."""
        ends = {"fromEntity": _reference(*source), "toEntity": _reference(*target)}
        self._done("put edge", "PUT", "/lineage", _encoded({"edge": {**ends, "lineageDetails": details}}))

    def get_edge(self, source_id: str, target_id: str) -> Entity | None:
        """Read what the server keeps of an edge; None when there is none."""
        found = self._found("get edge", f"/lineage/getLineageEdge/{source_id}/{target_id}", {})
        return None if found is None else found.get("edge")

    def delete_edge(self, source: tuple[str, str], target: tuple[str, str]) -> bool:
        """Delete an edge; False when there was none."""
        return self._gone("delete edge", f"/lineage/{'/'.join(source)}/{'/'.join(target)}", {})

    def put_statuses(self, pipeline: str, statuses: Sequence[Entity]) -> None:
        """Write statuses of a pipeline; one that is wrong refuses them all."""
        path = f"/pipelines/{quote(pipeline, safe='')}/status/bulk"
        self._done("put statuses", "PUT", path, _encoded(statuses), seconds=_BULK_SECONDS)

    def _found(self, kind: str, path: str, asked: Mapping[str, str]) -> Entity | None:
        answer = self._answer(kind, "GET", path, asked=asked)
        if answer.status == _NOT_FOUND:
            return None
        return self._decoded(self._checked(answer, f"GET {path}"))

    def _gone(self, kind: str, path: str, asked: Mapping[str, str]) -> bool:
        answer = self._answer(kind, "DELETE", path, asked=asked)
        if answer.status == _NOT_FOUND:
            return False
        self._checked(answer, f"DELETE {path}")
        return True

    def _read(self, kind: str, method: str, path: str, asked: Mapping[str, str] | None = None) -> Entity:
        return self._decoded(self._checked(self._answer(kind, method, path, asked=asked), f"{method} {path}"))

    def _done(
        self,
        kind: str,
        method: str,
        path: str,
        body: bytes,
        *,
        headers: Mapping[str, str] = _JSON,
        seconds: float = _READ_SECONDS,
    ) -> HttpAnswer:
        answer = self._answer(kind, method, path, body=body, headers=headers, seconds=seconds)
        return self._checked(answer, f"{method} {path}")

    def _answer(
        self,
        kind: str,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        asked: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = _READ_SECONDS,
    ) -> HttpAnswer:
        """Ask once; with a token that is refused, once more with another, if there is one."""
        while True:
            token = self._token.give()
            self._counted(kind)
            answer = self._session.request(
                method,
                f"/api/v1{path}",
                body=body,
                parameters=asked,
                headers={**(headers or {}), "Authorization": f"Bearer {token}"},
                read_seconds=seconds,
            )
            if answer.status != _UNAUTHORIZED or not self._token.renew(token):
                return answer

    def _checked(self, answer: HttpAnswer, asked: str) -> HttpAnswer:
        if not answer.success:
            raise refusal(answer, f"{self.url}: {asked}")
        return answer

    def _decoded(self, answer: HttpAnswer) -> Entity:
        """Read an answer; a page of HTML comes from something in between, however good its status is."""
        try:
            return msgspec.json.decode(answer.body, type=Entity) if answer.body else {}
        except msgspec.DecodeError as error:
            said = " ".join(answer.text.split())[:100]
            raise TargetLocked(f"{self.url} answers {said!r} where JSON was expected: is it OpenMetadata?") from error


def _reference(kind: str, entity_id: str) -> Entity:
    return {"id": entity_id, "type": kind}


def _encoded(body: Any) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (TypeError, UnicodeEncodeError) as error:
        raise TargetRefused(f"cannot be sent: {error}", 0) from error
