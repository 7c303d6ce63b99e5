"""The stand-in as an ASGI application: HTTP errors and faults."""

import zlib

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.standins.fault_responses import abort_connection, delay, fault_response
from tests.standins.faults import Fault, Faults
from tests.standins.journal import Journal, RecordedRequest
from tests.standins.marquez.errors import ApiError, InvalidName, html_error, internal_error, standard_error
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.routes import find
from tests.standins.marquez.store import Store

_READ_METHODS = ("GET", "HEAD")


class App:
    """Handles requests."""

    def __init__(self, store: Store, faults: Faults, journal: Journal) -> None:
        self.store = store
        self.faults = faults
        self.journal = journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        raw_path = scope.get("raw_path", scope["path"].encode()).decode("latin-1").partition("?")[0]
        recorded = self.journal.begin(scope["method"], raw_path, scope["query_string"].decode("latin-1"))
        recorded.body = await request.body()
        fault = self.faults.fault_for(recorded.number, recorded.method, raw_path)
        await delay(fault)
        response = None
        if fault.applied or not (fault.reset or fault.status):
            response = self._respond(recorded, dict(request.headers), fault)
        if fault.reset:
            recorded.status = 0
            await abort_connection(scope, receive)
            return
        if fault.status is not None:
            response = fault_response(fault)
        assert response is not None
        recorded.status = response.status_code
        await response(scope, receive, send)

    def _respond(self, recorded: RecordedRequest, headers: dict[str, str], fault: Fault) -> Response:
        if "%00" in recorded.path:
            return Response("<h1>Bad Message 400</h1><pre>reason: Bad Request</pre>", 400, media_type="text/html")
        try:
            result = self._handle(recorded, headers, fault)
        except InvalidName:
            return _error_response(internal_error())
        except ApiError as error:
            return _error_response(error)
        if result.body is None:
            return Response(status_code=result.status)
        raw = b"" if recorded.method == "HEAD" else msgspec.json.encode(result.body)
        return Response(raw, result.status, media_type="application/json")

    def _handle(self, recorded: RecordedRequest, headers: dict[str, str], fault: Fault) -> ApiResponse:
        route, args = find(recorded.path)
        recorded.route = route.template
        handler = route.handlers.get("GET" if recorded.method in _READ_METHODS else recorded.method)
        if handler is None:
            raise standard_error(405)
        _check_media(recorded, headers)
        call = Call(self.store, args, recorded.query, _plain_body(recorded, headers), fault.log_only)
        with self.store.lock:
            return handler(call)


def _error_response(error: ApiError) -> Response:
    if isinstance(error.body, str):
        return Response(error.body, error.status, headers={"Content-Type": "text/html;charset=iso-8859-1"})
    return Response(msgspec.json.encode(error.body), error.status, media_type="application/json")


def _check_media(recorded: RecordedRequest, headers: dict[str, str]) -> None:
    accept = headers.get("accept", "*/*")
    if not any(kind in accept for kind in ("*/*", "application/json", "application/*")):
        raise standard_error(406)
    if recorded.method in ("PUT", "POST") and recorded.body:
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type and "/" not in media_type:
            raise html_error(400, recorded.path)
        if media_type != "application/json":
            raise standard_error(415)


def _plain_body(recorded: RecordedRequest, headers: dict[str, str]) -> bytes:
    if headers.get("content-encoding") != "gzip":
        return recorded.body
    try:
        return zlib.decompress(recorded.body, wbits=31)
    except zlib.error:
        raise internal_error() from None
