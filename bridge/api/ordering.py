"""The routes that tell the registry what to do, one order at a time, on a connection and a thread of their own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridge.api.intake import Intake
from bridge.api.problem import failed, problem
from bridge.orders.order import Desk, Order, check_texts
from bridge.orders.orders import ORDERS
from mappers.errors import BadQuestion, LineageBridgeError, PermanentError, RefusedEvent
from mappers.openlineage.parts import decode

#: Every route that takes orders, by method and path.
ORDER_ROUTES: dict[tuple[str, str], type[Order[Any]]] = {(kind.method, kind.path): kind for kind in ORDERS}


class Ordering:
    """Does orders in a thread, on a connection that is opened when it is first needed and anew after a failure."""

    def __init__(self, open_desk: Callable[[], Desk]) -> None:
        self._open = open_desk
        self._desk: Desk | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ordering")

    async def answer(self, order: Order[Any], signer: str | None) -> Response:
        """Do an order, or say as a problem why not."""
        try:
            body = await asyncio.get_running_loop().run_in_executor(self._thread, self._done, order, signer)
        except LineageBridgeError as error:
            return failed(error, "Cannot be done", remedy=": send it again")
        return Response(body, media_type="application/json")

    def _done(self, order: Order[Any], signer: str | None) -> bytes:
        if self._desk is None:
            self._desk = self._open()
        try:
            return msgspec.json.encode(order.done(self._desk._replace(signer=signer)))
        except PermanentError:
            raise
        except Exception:  # a fault of ours too may leave the connection in the middle of anything
            self._close()
            raise

    def close(self) -> None:
        """End the order under way, then close the connection."""
        self._thread.submit(self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        desk, self._desk = self._desk, None
        if desk is not None:
            desk.registry.close()


def ordering_routes(running: Callable[[], tuple[Intake, Ordering] | None]) -> list[Route]:
    """Make the routes of all orders."""
    return [Route(path, _handler(kind, running), methods=[method]) for (method, path), kind in ORDER_ROUTES.items()]


def _handler(
    kind: type[Order[Any]], running: Callable[[], tuple[Intake, Ordering] | None]
) -> Callable[[Request], Any]:
    read = _from_query if kind.method == "DELETE" else _from_body

    async def handle(request: Request) -> Response:
        parts = running()
        if parts is None:
            return problem(503, "Starting", "the service is starting")
        intake, ordering = parts
        order = await read(kind, intake, request)
        if isinstance(order, Response):
            return order
        return await ordering.answer(order, intake.signer(request.headers))

    return handle


async def _from_body(kind: type[Order[Any]], intake: Intake, request: Request) -> Order[Any] | Response:
    body = await intake.body(request.headers, request.receive, kind.scope)
    if isinstance(body, Response):
        return body
    if body.error is not None:
        too_large = not isinstance(body.error, RefusedEvent)
        return problem(413 if too_large else 400, "Too large" if too_large else "Not an order", str(body.error))
    try:
        order: Order[Any] = decode(body.unpacked, msgspec.json.Decoder(kind))
        check_texts(order)
    except RecursionError:
        return problem(400, "Not an order", "nested too deeply")
    except RefusedEvent as error:
        return problem(400, "Not an order", error.reason, field=error.path)
    except BadQuestion as error:
        return problem(400, "Not an order", str(error), field=error.parameter)
    return order


async def _from_query(kind: type[Order[Any]], intake: Intake, request: Request) -> Order[Any] | Response:
    refused = intake.refusal(request.headers, kind.scope)
    if refused is not None:
        return refused
    given = request.query_params.multi_items()
    if len(given) > len(dict(given)):
        return problem(400, "Bad parameter", "a parameter is given twice")
    try:
        order: Order[Any] = msgspec.convert(dict(given), kind)
        check_texts(order)
    except msgspec.ValidationError as error:
        return problem(400, "Bad parameter", str(error))
    except BadQuestion as error:
        return problem(400, "Bad parameter", str(error), field=error.parameter)
    return order
