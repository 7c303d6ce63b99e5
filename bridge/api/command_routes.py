"""Command routes; commands run one at a time on their own connection."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridge.api.intake import Intake
from bridge.api.problem import error_response, problem
from bridge.errors import InvalidParameter
from bridge.versions.command import Command, CommandContext, reject_nul_characters
from bridge.versions.commands import COMMANDS
from mappers.canonical_json import decode_json
from mappers.errors import InvalidInput, LineageBridgeError, PermanentError

#: Every route that takes orders, by method and path.
COMMAND_ROUTES: dict[tuple[str, str], type[Command[Any]]] = {(kind.method, kind.path): kind for kind in COMMANDS}


class CommandExecutor:
    """Does orders in a thread, on a connection that is opened when it is first needed and anew after a failure."""

    def __init__(self, open_desk: Callable[[], CommandContext]) -> None:
        self._open = open_desk
        self._desk: CommandContext | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ordering")

    async def execute(self, order: Command[Any], signer: str | None) -> Response:
        """Do an order, or say as a problem why not."""
        try:
            body = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._execute_blocking, order, signer
            )
        except LineageBridgeError as error:
            return error_response(error, "Cannot be done", remedy=": send it again")
        return Response(body, media_type="application/json")

    def _execute_blocking(self, order: Command[Any], signer: str | None) -> bytes:
        if self._desk is None:
            self._desk = self._open()
        try:
            return msgspec.json.encode(order.execute(self._desk._replace(principal=signer)))
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


def command_routes(running: Callable[[], tuple[Intake, CommandExecutor] | None]) -> list[Route]:
    """Make the routes of all orders."""
    return [Route(path, _handler(kind, running), methods=[method]) for (method, path), kind in COMMAND_ROUTES.items()]


def _handler(
    kind: type[Command[Any]], running: Callable[[], tuple[Intake, CommandExecutor] | None]
) -> Callable[[Request], Any]:
    read = _parse_query_string if kind.method == "DELETE" else _parse_body

    async def handle(request: Request) -> Response:
        parts = running()
        if parts is None:
            return problem(503, "Starting", "the service is starting")
        intake, ordering = parts
        order = await read(kind, intake, request)
        if isinstance(order, Response):
            return order
        return await ordering.execute(order, intake.principal(request.headers))

    return handle


async def _parse_body(kind: type[Command[Any]], intake: Intake, request: Request) -> Command[Any] | Response:
    body = await intake.read_body(request.headers, request.receive, kind.scope)
    if isinstance(body, Response):
        return body
    if body.error is not None:
        too_large = not isinstance(body.error, InvalidInput)
        return problem(413 if too_large else 400, "Too large" if too_large else "Not an order", str(body.error))
    try:
        order: Command[Any] = decode_json(body.unpacked, msgspec.json.Decoder(kind))
        reject_nul_characters(order)
    except RecursionError:
        return problem(400, "Not an order", "nested too deeply")
    except InvalidInput as error:
        return problem(400, "Not an order", error.reason, field=error.path)
    except InvalidParameter as error:
        return problem(400, "Not an order", str(error), field=error.parameter)
    return order


async def _parse_query_string(kind: type[Command[Any]], intake: Intake, request: Request) -> Command[Any] | Response:
    refused = intake.authorize(request.headers, kind.scope)
    if refused is not None:
        return refused
    given = request.query_params.multi_items()
    if len(given) > len(dict(given)):
        return problem(400, "Bad parameter", "a parameter is given twice")
    try:
        order: Command[Any] = msgspec.convert(dict(given), kind)
        reject_nul_characters(order)
    except msgspec.ValidationError as error:
        return problem(400, "Bad parameter", str(error))
    except InvalidParameter as error:
        return problem(400, "Bad parameter", str(error), field=error.parameter)
    return order
