"""Query routes; queries run on a pool of read connections."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridge.api.problem import error_response, problem
from bridge.errors import InvalidParameter
from bridge.queries.all_queries import QUERIES
from bridge.queries.query import Query, QueryService
from bridge.queries.routes import routes_of
from mappers.errors import LineageBridgeError

#: How many questions are answered at once: each has a connection, and takes time from the intake.
MAX_CONCURRENT_QUERIES = 4


class QueryExecutor:
    """Answers questions in threads, each with a connection that is opened when it is first needed."""

    def __init__(self, open_catalogue: Callable[[], QueryService]) -> None:
        self._open = open_catalogue
        self._local = threading.local()
        self._services: list[QueryService] = []
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT_QUERIES, thread_name_prefix="reading")

    async def run(self, question: Query[Any]) -> Response:
        """Answer a question, or say as a problem why not."""
        try:
            body = await asyncio.get_running_loop().run_in_executor(self._threads, self._run_blocking, question)
        except LineageBridgeError as error:
            return error_response(error, "Not readable")
        return Response(body, media_type="application/json")

    def _run_blocking(self, question: Query[Any]) -> bytes:
        catalogue: QueryService | None = getattr(self._local, "catalogue", None)
        if catalogue is None:
            catalogue = self._local.catalogue = self._open()
            self._services.append(catalogue)
        return msgspec.json.encode(catalogue.run(question))

    def close(self) -> None:
        """End the threads, then close their connections."""
        self._threads.shutdown()
        for catalogue in self._services:
            catalogue.close()


#: Every route that answers a question.
QUERY_ROUTES: dict[str, type[Query[Any]]] = {path: kind for kind in QUERIES for path in routes_of(kind)}
#: Says why a request may not pass a route, if it may not.
AuthorizeRequest = Callable[[Request, str], Response | None]


def query_routes(running: Callable[[], QueryExecutor | None], refusal: AuthorizeRequest) -> list[Route]:
    """Make the routes of all questions."""
    return [
        Route(path.replace("{field}", "{field:path}"), _handler(path, kind, running, refusal), methods=["GET"])
        for path, kind in QUERY_ROUTES.items()
    ]


def _handler(
    path: str, kind: type[Query[Any]], running: Callable[[], QueryExecutor | None], refusal: AuthorizeRequest
) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        refused = refusal(request, path)
        if refused is not None:
            return refused
        reading = running()
        if reading is None:
            return problem(503, "Starting", "the service is starting")
        try:
            question = parse_query(path, kind, request)
        except InvalidParameter as error:
            return problem(400, "Bad parameter", str(error), field=error.parameter)
        return await reading.run(question)

    return handle


def parse_query(path: str, kind: type[Query[Any]], request: Request) -> Query[Any]:
    """Read a question from path and parameters; raises BadQuestion naming the parameter."""
    given: dict[str, str] = dict(request.path_params)
    allowed = {field.name for field in msgspec.structs.fields(kind)} - parameters_of_other_route(path, kind)
    for name, value in request.query_params.multi_items():
        if name in given:
            raise InvalidParameter("given twice", name)
        if name not in allowed:
            raise InvalidParameter(
                f"unknown; known are {', '.join(sorted(allowed - given.keys())) or 'none'}", name[:64]
            )
        given[name] = value
    try:
        question: Query[Any] = msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        raise InvalidParameter(reason, place.rstrip("`") or _missing(reason)) from error
    return question


def parameters_of_other_route(path: str, kind: type[Query[Any]]) -> frozenset[str]:
    """Name the parameters of a question that one of its routes does not take, because another does."""
    if kind.subject is None:
        return frozenset()
    return frozenset({"namespace", "name"} if "{id}" in path else {"id"})


def _missing(reason: str) -> str:
    """Name the parameter that is not given."""
    return reason.partition("field `")[2].rstrip("`")
