"""The stand-in as an ASGI application: what HTTP itself decides, and the faults."""

import asyncio
import posixpath
import zlib
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.standins.fault_responses import abort_connection, delay, fault_response
from tests.standins.faults import Fault, Faults
from tests.standins.journal import Journal, RecordedRequest
from tests.standins.openmetadata.access import ADMIN, Access, Principal, check_method
from tests.standins.openmetadata.errors import ApiError, no_route, unhandled
from tests.standins.openmetadata.etag import strong_etag
from tests.standins.openmetadata.exchange import ApiResponse, BrokenJson, Call
from tests.standins.openmetadata.invalid_bodies import Check, InvalidBody, find_invalid_bodies
from tests.standins.openmetadata.races import Races
from tests.standins.openmetadata.routes import WrongMethod, find
from tests.standins.openmetadata.state import Store

_LONGEST_TARGET = 8192
_PATCH_TYPE = "application/json-patch+json"
_PAGE = """<html>
<head>
<meta http-equiv="Content-Type" content="text/html;charset=ISO-8859-1"/>
<title>Error {status} {reason}</title>
</head>
<body>
<h2>HTTP ERROR {status} {reason}</h2>
<table>
<tr><th>URI:</th><td>/badMessage</td></tr>
<tr><th>STATUS:</th><td>{status}</td></tr>
<tr><th>MESSAGE:</th><td>{reason}</td></tr>
</table>

</body>
</html>
"""


class App:
    """Answers requests from the store."""

    def __init__(
        self, store: Store, access: Access, faults: Faults, journal: Journal, base: str, version: str
    ) -> None:
        self.store = store
        self.access = access
        self.faults = faults
        self.journal = journal
        self.base = base
        self.version = version
        self.races = Races()
        self.logins: dict[tuple[str, str], str] = {}
        self.check: Check | None = None
        self.invalid_bodies: list[InvalidBody] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        raw_path = scope.get("raw_path", scope["path"].encode()).decode("latin-1").partition("?")[0]
        query = scope["query_string"].decode("latin-1")
        seen = self.journal.begin(scope["method"], raw_path, query)
        seen.body = await request.body()
        fault = self.faults.fault_for(seen.number, seen.method, raw_path)
        await delay(fault)
        response = None
        if fault.applied or not (fault.reset or fault.status):
            response = await self._raced(seen, dict(request.headers), fault)
        if fault.reset:
            seen.status = 0
            await abort_connection(scope, receive)
            return
        if fault.status is not None:
            response = fault_response(fault)
        assert response is not None
        seen.status = response.status_code
        await response(scope, receive, send)

    async def _raced(self, seen: RecordedRequest, headers: dict[str, str], fault: Fault) -> Response:
        """Let PUTs that came at the same time meet."""
        if seen.method != "PUT" or seen.path.endswith("/bulk"):
            return self._answer(seen, headers, fault)
        key = self.races.enter(seen.path, seen.body)
        await asyncio.sleep(0)
        if self.races.lost(key):
            error = ApiError(409, "Entity already exists")
            response = _json(error.status, error.body(), {})
        else:
            response = self._answer(seen, headers, fault)
        self.races.leave(key, created=response.status_code == 201)
        return response

    def _answer(self, seen: RecordedRequest, headers: dict[str, str], fault: Fault) -> Response:
        try:
            return self._handled(seen, headers, fault)
        except BrokenJson as broken:
            return Response(str(broken), 400, media_type=None, headers={"Content-Type": "text/plain"})
        except WrongMethod as wrong:
            return _json(wrong.status, wrong.body(), {"Allow": wrong.allow})
        except ApiError as error:
            more = {"WWW-Authenticate": "om-auth"} if error.status == 401 else {}
            return _json(error.status, error.body(), more)

    def _handled(self, seen: RecordedRequest, headers: dict[str, str], fault: Fault) -> Response:
        if page := _unparsable(seen):
            return page
        if not posixpath.normpath(seen.path).startswith("/api/"):
            return Response(status_code=404)
        reading = seen.method == "HEAD"
        route, args = find(seen.path, "GET" if reading else seen.method)
        seen.route = route.template
        if route.template.endswith("/bulk") and not _has_bulk(self.version):
            raise no_route()
        who = ADMIN if route.open else self._who(headers, fault)
        check_method(who, seen.method)
        if refusal := _wrong_media(seen, headers):
            return refusal
        if any(value.startswith("../") for value in args.values()):
            raise unhandled("null")
        call = Call(self.store, self.base, args, seen.query, headers, _plain_body(seen, headers), who)
        call.failing = fault.rows
        call.logins = self.logins
        call.version = self.version
        with self.store.lock:
            answer = route.handlers["GET" if reading else seen.method](call)
            if self.check:
                self.invalid_bodies += find_invalid_bodies(self.check, seen.method, route.template, call, answer)
        return _written(answer, headers, reading)

    def _who(self, headers: dict[str, str], fault: Fault) -> Principal:
        given = headers.get("authorization")
        if fault.expire and given:
            self.access.expire(given.partition(" ")[2])
        return self.access.who(given)


def _has_bulk(version: str) -> bool:
    return [int(number) for number in version.split(".")[:2]] >= [1, 11]


def _unparsable(seen: RecordedRequest) -> Response | None:
    """Refuse what the server's HTTP parser refuses, with a page."""
    if len(seen.path) + len(seen.query) > _LONGEST_TARGET:
        return _page(414, "URI Too Long")
    bare = seen.path.replace("%25", "")
    if "%00" in bare or any(not _is_escape(part) for part in bare.split("%")[1:]):
        return _page(400, "Bad Request")
    return None


def _is_escape(after: str) -> bool:
    return len(unquote_to_bytes("%" + after[:2])) == 1


def _page(status: int, reason: str) -> Response:
    headers = {"Cache-Control": "must-revalidate,no-cache,no-store", "Content-Type": "text/html;charset=iso-8859-1"}
    return Response(_PAGE.format(status=status, reason=reason), status, headers=headers)


def _wrong_media(seen: RecordedRequest, headers: dict[str, str]) -> Response | None:
    accept = headers.get("accept", "*/*")
    if not any(kind in accept for kind in ("*/*", "application/json", "application/*")):
        raise ApiError(406, "HTTP 406 Not Acceptable")
    if seen.method not in ("PUT", "POST", "PATCH"):
        return None
    given = headers.get("content-type")
    if given == "":
        return Response(status_code=400)
    wanted = _PATCH_TYPE if seen.method == "PATCH" else "application/json"
    if given is None or given.partition(";")[0].strip().lower() != wanted:
        raise ApiError(415, "HTTP 415 Unsupported Media Type")
    return None


def _plain_body(seen: RecordedRequest, headers: dict[str, str]) -> bytes:
    if headers.get("content-encoding") == "gzip":
        return zlib.decompress(seen.body, wbits=31)
    return seen.body


def _written(answer: ApiResponse, headers: dict[str, str], head: bool) -> Response:
    if answer.body is None:
        return Response(status_code=answer.status, headers=answer.headers)
    raw = msgspec.json.encode(answer.body)
    more = dict(answer.headers)
    if answer.etag:
        more |= {"ETag": strong_etag(raw), "Cache-Control": "no-store"}
        if headers.get("if-none-match") == more["ETag"]:
            return Response(status_code=304, headers=more)
    return _json(answer.status, b"" if head else raw, more)


def _json(status: int, body: Any, headers: dict[str, str]) -> Response:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Response(raw, status, headers=headers, media_type="application/json")
