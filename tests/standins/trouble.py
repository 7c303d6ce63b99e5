"""Faults as they happen: the waiting, the wrong answer, the connection that closes."""

import asyncio
from collections.abc import Callable

import httpx
import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope

from tests.standins.faults import Fault


def faulty(fault: Fault) -> Response:
    """Answer what a fault says."""
    assert fault.status is not None
    if isinstance(fault.body, str):
        return Response(fault.body, fault.status, headers=fault.headers, media_type="text/html")
    raw = msgspec.json.encode(fault.body)
    return Response(raw, fault.status, headers=fault.headers, media_type="application/json")


async def wait(fault: Fault) -> None:
    """Wait as long as a fault says."""
    if fault.seconds:
        await asyncio.sleep(fault.seconds)
    while fault.until is not None and not fault.until.is_set():  # noqa: ASYNC110 - a thread of the test sets it
        await asyncio.sleep(0.005)


async def close(scope: Scope, receive: Receive) -> None:
    """Close the connection without an answer; without a connection, fail as a client would see it."""
    abort: Callable[[], None] | None = scope.get("extensions", {}).get("abort", {}).get("now")
    if abort is None:
        raise httpx.ReadError("connection closed without an answer")
    abort()
    while (await receive())["type"] != "http.disconnect":
        pass
