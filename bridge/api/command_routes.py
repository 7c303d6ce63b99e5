"""Command routes; commands run one at a time on their own connection."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridge.api.intake import COMMIT_SECONDS, Intake
from bridge.api.problem import error_response, problem
from bridge.errors import InvalidParameter
from bridge.versions.command import Command, CommandContext, reject_nul_characters
from bridge.versions.commands import COMMANDS
from mappers.canonical_json import decode_json
from mappers.errors import InvalidInput, LineageBridgeError, PermanentError

#: Command types by method and path.
COMMAND_ROUTES: dict[tuple[str, str], type[Command[Any]]] = {
    (command_type.method, command_type.path): command_type for command_type in COMMANDS
}


class CommandExecutor:
    """Runs commands in one thread, on a connection that is opened on first use and reopened after a failure."""

    def __init__(self, open_context: Callable[[], CommandContext]) -> None:
        self._open_context = open_context
        self._ctx: CommandContext | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commands")

    async def execute(self, command: Command[Any], principal: str | None) -> Response:
        """Run a command. A failure becomes a problem response."""
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                body = await asyncio.get_running_loop().run_in_executor(
                    self._thread, self._execute_blocking, command, principal
                )
        except LineageBridgeError as error:
            return error_response(error, "Command failed", remedy=": retry the request")
        except TimeoutError:  # a command that has started still ends, with an unknown result
            return problem(503, "Command failed, retry later", f"not executed within {COMMIT_SECONDS:.0f} s")
        return Response(body, media_type="application/json")

    def _execute_blocking(self, command: Command[Any], principal: str | None) -> bytes:
        if self._ctx is None:
            self._ctx = self._open_context()
        try:
            return msgspec.json.encode(command.execute(self._ctx._replace(principal=principal)))
        except PermanentError:
            raise
        except Exception:  # any other error may leave the connection in an unknown state
            self._close_context()
            raise

    def close(self) -> None:
        """Finish the current command, then close the connection."""
        self._thread.submit(self._close_context)
        self._thread.shutdown()

    def _close_context(self) -> None:
        ctx, self._ctx = self._ctx, None
        if ctx is not None:
            ctx.registry.close()


def command_routes(get_services: Callable[[], tuple[Intake, CommandExecutor] | None]) -> list[Route]:
    return [
        Route(path, _make_handler(command_type, get_services), methods=[method])
        for (method, path), command_type in COMMAND_ROUTES.items()
    ]


def _make_handler(
    command_type: type[Command[Any]], get_services: Callable[[], tuple[Intake, CommandExecutor] | None]
) -> Callable[[Request], Any]:
    parse = _parse_query_string if command_type.method == "DELETE" else _parse_body

    async def handle(request: Request) -> Response:
        services = get_services()
        if services is None:
            return problem(503, "Starting", "the service is starting")
        intake, executor = services
        command = await parse(command_type, intake, request)
        if isinstance(command, Response):
            return command
        return await executor.execute(command, intake.principal(request.headers))

    return handle


async def _parse_body(command_type: type[Command[Any]], intake: Intake, request: Request) -> Command[Any] | Response:
    """Read a command from a body. If that fails, return the problem instead."""
    with intake.body_memory() as memory:
        body = await intake.read_body(request.headers, request.receive, memory, command_type.scope)
    if isinstance(body, Response):
        return body
    if body.error is not None:
        is_invalid = isinstance(body.error, InvalidInput)
        status, title = (400, "Invalid command") if is_invalid else (413, "Too large")
        return problem(status, title, str(body.error))
    try:
        command: Command[Any] = decode_json(body.content, msgspec.json.Decoder(command_type))
        reject_nul_characters(command)
    except RecursionError:
        return problem(400, "Invalid command", "nested too deeply")
    except InvalidInput as error:
        return problem(400, "Invalid command", error.reason, field=error.path)
    except InvalidParameter as error:
        return problem(400, "Invalid command", str(error), field=error.parameter)
    return command


async def _parse_query_string(
    command_type: type[Command[Any]], intake: Intake, request: Request
) -> Command[Any] | Response:
    """Read a command from a query string. If that fails, return the problem instead."""
    denial = intake.authorize(request.headers, command_type.scope)
    if denial is not None:
        return denial
    parameters = request.query_params.multi_items()
    if len(parameters) > len(dict(parameters)):
        return problem(400, "Bad parameter", "a parameter is repeated")
    try:
        command: Command[Any] = msgspec.convert(dict(parameters), command_type)
        reject_nul_characters(command)
    except msgspec.ValidationError as error:
        return problem(400, "Bad parameter", str(error))
    except InvalidParameter as error:
        return problem(400, "Bad parameter", str(error), field=error.parameter)
    return command
