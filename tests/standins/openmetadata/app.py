"""The stand-in as an ASGI application: HTTP errors and faults."""

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
from tests.standins.openmetadata.errors import ApiError, no_route, unhandled_exception
from tests.standins.openmetadata.etag import strong_etag
from tests.standins.openmetadata.exchange import ApiResponse, BrokenJson, Call
from tests.standins.openmetadata.invalid_bodies import Check, InvalidBody, find_invalid_bodies
from tests.standins.openmetadata.races import Races
from tests.standins.openmetadata.routes import WrongMethod, find
from tests.standins.openmetadata.state import Store

_MAX_TARGET_LENGTH = 8192
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
    """Handles requests."""

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
        recorded = self.journal.begin(scope["method"], raw_path, query)
        recorded.body = await request.body()
        fault = self.faults.fault_for(recorded.number, recorded.method, raw_path)
        await delay(fault)
        response = None
        if fault.applied or not (fault.reset or fault.status):
            response = await self._respond_to_race(recorded, dict(request.headers), fault)
        if fault.reset:
            recorded.status = 0
            await abort_connection(scope, receive)
            return
        if fault.status is not None:
            response = fault_response(fault)
        assert response is not None
        recorded.status = response.status_code
        await response(scope, receive, send)

    async def _respond_to_race(self, recorded: RecordedRequest, headers: dict[str, str], fault: Fault) -> Response:
        """Reject all but one of several equal PUTs that arrive concurrently."""
        if recorded.method != "PUT" or recorded.path.endswith("/bulk"):
            return self._respond(recorded, headers, fault)
        key = self.races.enter(recorded.path, recorded.body)
        await asyncio.sleep(0)
        if self.races.is_lost(key):
            error = ApiError(409, "Entity already exists")
            response = _json(error.status, error.body(), {})
        else:
            response = self._respond(recorded, headers, fault)
        self.races.leave(key, created=response.status_code == 201)
        return response

    def _respond(self, recorded: RecordedRequest, headers: dict[str, str], fault: Fault) -> Response:
        try:
            return self._handle(recorded, headers, fault)
        except BrokenJson as broken:
            return Response(str(broken), 400, media_type=None, headers={"Content-Type": "text/plain"})
        except WrongMethod as wrong:
            return _json(wrong.status, wrong.body(), {"Allow": wrong.allow})
        except ApiError as error:
            response_headers = {"WWW-Authenticate": "om-auth"} if error.status == 401 else {}
            return _json(error.status, error.body(), response_headers)

    def _handle(self, recorded: RecordedRequest, headers: dict[str, str], fault: Fault) -> Response:
        if page := _reject_unparsable(recorded):
            return page
        if not posixpath.normpath(recorded.path).startswith("/api/"):
            return Response(status_code=404)
        is_head = recorded.method == "HEAD"
        route, args = find(recorded.path, "GET" if is_head else recorded.method)
        recorded.route = route.template
        if route.template.endswith("/bulk") and not _has_bulk(self.version):
            raise no_route()
        principal = ADMIN if route.open else self._authenticate(headers, fault)
        check_method(principal, recorded.method)
        if rejection := _reject_media_type(recorded, headers):
            return rejection
        if any(value.startswith("../") for value in args.values()):
            raise unhandled_exception("null")
        call = Call(self.store, self.base, args, recorded.query, headers, _plain_body(recorded, headers), principal)
        call.failing = fault.rows
        call.logins = self.logins
        call.version = self.version
        with self.store.lock:
            result = route.handlers["GET" if is_head else recorded.method](call)
            if self.check:
                self.invalid_bodies += find_invalid_bodies(self.check, recorded.method, route.template, call, result)
        return _build_response(result, headers, is_head)

    def _authenticate(self, headers: dict[str, str], fault: Fault) -> Principal:
        header = headers.get("authorization")
        if fault.expire and header:
            self.access.expire(header.partition(" ")[2])
        return self.access.authenticate(header)


def _has_bulk(version: str) -> bool:
    return [int(number) for number in version.split(".")[:2]] >= [1, 11]


def _reject_unparsable(recorded: RecordedRequest) -> Response | None:
    """Return the HTML error page for targets that the server's HTTP parser rejects."""
    if len(recorded.path) + len(recorded.query) > _MAX_TARGET_LENGTH:
        return _page(414, "URI Too Long")
    bare = recorded.path.replace("%25", "")
    if "%00" in bare or any(not _is_escape(part) for part in bare.split("%")[1:]):
        return _page(400, "Bad Request")
    return None


def _is_escape(hex_digits: str) -> bool:
    return len(unquote_to_bytes("%" + hex_digits[:2])) == 1


def _page(status: int, reason: str) -> Response:
    headers = {"Cache-Control": "must-revalidate,no-cache,no-store", "Content-Type": "text/html;charset=iso-8859-1"}
    return Response(_PAGE.format(status=status, reason=reason), status, headers=headers)


def _reject_media_type(recorded: RecordedRequest, headers: dict[str, str]) -> Response | None:
    accept = headers.get("accept", "*/*")
    if not any(kind in accept for kind in ("*/*", "application/json", "application/*")):
        raise ApiError(406, "HTTP 406 Not Acceptable")
    if recorded.method not in ("PUT", "POST", "PATCH"):
        return None
    media_type = headers.get("content-type")
    if media_type == "":
        return Response(status_code=400)
    expected = _PATCH_TYPE if recorded.method == "PATCH" else "application/json"
    if media_type is None or media_type.partition(";")[0].strip().lower() != expected:
        raise ApiError(415, "HTTP 415 Unsupported Media Type")
    return None


def _plain_body(recorded: RecordedRequest, headers: dict[str, str]) -> bytes:
    if headers.get("content-encoding") == "gzip":
        return zlib.decompress(recorded.body, wbits=31)
    return recorded.body


def _build_response(result: ApiResponse, headers: dict[str, str], head: bool) -> Response:
    if result.body is None:
        return Response(status_code=result.status, headers=result.headers)
    body = msgspec.json.encode(result.body)
    response_headers = dict(result.headers)
    if result.etag:
        response_headers |= {"ETag": strong_etag(body), "Cache-Control": "no-store"}
        if headers.get("if-none-match") == response_headers["ETag"]:
            return Response(status_code=304, headers=response_headers)
    return _json(result.status, b"" if head else body, response_headers)


def _json(status: int, body: Any, headers: dict[str, str]) -> Response:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Response(raw, status, headers=headers, media_type="application/json")
