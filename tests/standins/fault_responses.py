"""Effects of faults: delays, error responses and aborted connections."""

import asyncio
from collections.abc import Callable

import httpx
import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope

from tests.standins.faults import Fault


def fault_response(fault: Fault) -> Response:
    assert fault.status is not None
    if isinstance(fault.body, str):
        return Response(fault.body, fault.status, headers=fault.headers, media_type="text/html")
    raw = msgspec.json.encode(fault.body)
    return Response(raw, fault.status, headers=fault.headers, media_type="application/json")


async def delay(fault: Fault) -> None:
    if fault.seconds:
        await asyncio.sleep(fault.seconds)
    while fault.until is not None and not fault.until.is_set():  # noqa: ASYNC110 - a thread of the test sets it
        await asyncio.sleep(0.005)


async def abort_connection(scope: Scope, receive: Receive) -> None:
    """Close the connection without a response; in-process, raise the error that a client would see."""
    abort: Callable[[], None] | None = scope.get("extensions", {}).get("abort", {}).get("now")
    if abort is None:
        raise httpx.ReadError("connection closed without a response")
    abort()
    while (await receive())["type"] != "http.disconnect":
        pass
