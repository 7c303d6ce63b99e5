"""The stand-in as an ASGI application: what HTTP itself decides, and the faults."""

import zlib

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.standins.faults import Fault, Faults
from tests.standins.journal import Journal, Seen
from tests.standins.marquez.errors import Illegal, Refused, failed, page, plain
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.routes import find
from tests.standins.marquez.store import Store
from tests.standins.trouble import close, faulty, wait

_READING = ("GET", "HEAD")


class App:
    """Answers requests from the store."""

    def __init__(self, store: Store, faults: Faults, journal: Journal) -> None:
        self.store = store
        self.faults = faults
        self.journal = journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        raw_path = scope.get("raw_path", scope["path"].encode()).decode("latin-1").partition("?")[0]
        seen = self.journal.begin(scope["method"], raw_path, scope["query_string"].decode("latin-1"))
        seen.body = await request.body()
        fault = self.faults.of(seen.number, seen.method, raw_path)
        await wait(fault)
        response = None
        if fault.applied or not (fault.reset or fault.status):
            response = self._answer(seen, dict(request.headers), fault)
        if fault.reset:
            seen.status = 0
            await close(scope, receive)
            return
        if fault.status is not None:
            response = faulty(fault)
        assert response is not None
        seen.status = response.status_code
        await response(scope, receive, send)

    def _answer(self, seen: Seen, headers: dict[str, str], fault: Fault) -> Response:
        if "%00" in seen.path:
            return Response("<h1>Bad Message 400</h1><pre>reason: Bad Request</pre>", 400, media_type="text/html")
        try:
            answer = self._handled(seen, headers, fault)
        except Illegal:
            return _refused(failed())
        except Refused as refused:
            return _refused(refused)
        if answer.body is None:
            return Response(status_code=answer.status)
        raw = b"" if seen.method == "HEAD" else msgspec.json.encode(answer.body)
        return Response(raw, answer.status, media_type="application/json")

    def _handled(self, seen: Seen, headers: dict[str, str], fault: Fault) -> Answer:
        route, args = find(seen.path)
        seen.route = route.template
        handler = route.handlers.get("GET" if seen.method in _READING else seen.method)
        if handler is None:
            raise plain(405)
        _check_media(seen, headers)
        call = Call(self.store, args, seen.query, _plain_body(seen, headers), fault.log_only)
        with self.store.lock:
            return handler(call)


def _refused(refused: Refused) -> Response:
    if isinstance(refused.body, str):
        return Response(refused.body, refused.status, headers={"Content-Type": "text/html;charset=iso-8859-1"})
    return Response(msgspec.json.encode(refused.body), refused.status, media_type="application/json")


def _check_media(seen: Seen, headers: dict[str, str]) -> None:
    accept = headers.get("accept", "*/*")
    if not any(kind in accept for kind in ("*/*", "application/json", "application/*")):
        raise plain(406)
    if seen.method in ("PUT", "POST") and seen.body:
        given = headers.get("content-type", "").partition(";")[0].strip().lower()
        if given and "/" not in given:
            raise page(400, seen.path)
        if given != "application/json":
            raise plain(415)


def _plain_body(seen: Seen, headers: dict[str, str]) -> bytes:
    if headers.get("content-encoding") != "gzip":
        return seen.body
    try:
        return zlib.decompress(seen.body, wbits=31)
    except zlib.error:
        raise failed() from None
