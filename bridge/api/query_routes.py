"""Query routes; queries run on a pool of read connections."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridge.api.problem import error_response, problem
from bridge.api.query_slots import MAX_THREADS, QUERY_SECONDS, QuerySlot, QuerySlots, query_timeout
from bridge.errors import InvalidParameter
from bridge.queries.all_queries import QUERIES
from bridge.queries.query import Query, StoreQueryService
from bridge.queries.routes import routes_of
from mappers.errors import LineageBridgeError

#: Time that a thread needs to notice that its query has to end.
_GRACE_SECONDS = 1.0


class QueryExecutor:
    """Runs queries in threads, each with a connection that is opened on first use."""

    def __init__(self, open_service: Callable[[], StoreQueryService]) -> None:
        self._open_service = open_service
        self._local = threading.local()
        self._services: list[StoreQueryService] = []
        self._slots = QuerySlots()
        self._pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="queries")

    async def run(self, query: Query[Any]) -> Response:
        """Run a query. A failure becomes a problem response."""
        deadline = time.monotonic() + QUERY_SECONDS
        try:
            async with asyncio.timeout(QUERY_SECONDS + _GRACE_SECONDS):
                body = await asyncio.get_running_loop().run_in_executor(
                    self._pool, self._run_blocking, query, deadline
                )
        except LineageBridgeError as error:
            return error_response(error, "Query failed")
        except TimeoutError:
            return error_response(query_timeout(), "Query failed")
        return Response(body, media_type="application/json")

    def _run_blocking(self, query: Query[Any], deadline: float) -> bytes:
        service: StoreQueryService | None = getattr(self._local, "service", None)
        if service is None:
            service = self._local.service = self._open_service()
            self._services.append(service)
        with QuerySlot(self._slots, deadline) as slot:
            slot.check()
            result = service.run_with_check(query, slot.check, deadline - time.monotonic())
            return msgspec.json.encode(result)

    def close(self) -> None:
        """End the running queries, then close their connections."""
        self._slots.is_closed = True
        self._pool.shutdown()
        for service in self._services:
            service.close()


#: Query types by path.
QUERY_ROUTES: dict[str, type[Query[Any]]] = {
    path: query_type for query_type in QUERIES for path in routes_of(query_type)
}
#: Returns a denial for a request on a route, or None.
AuthorizeRequest = Callable[[Request, str], Response | None]


def query_routes(get_executor: Callable[[], QueryExecutor | None], authorize: AuthorizeRequest) -> list[Route]:
    return [
        Route(
            path.replace("{field}", "{field:path}"),
            _make_handler(path, query_type, get_executor, authorize),
            methods=["GET"],
        )
        for path, query_type in QUERY_ROUTES.items()
    ]


def _make_handler(
    path: str,
    query_type: type[Query[Any]],
    get_executor: Callable[[], QueryExecutor | None],
    authorize: AuthorizeRequest,
) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        denial = authorize(request, path)
        if denial is not None:
            return denial
        executor = get_executor()
        if executor is None:
            return problem(503, "Starting", "the service is starting")
        try:
            query = parse_query(path, query_type, request)
        except InvalidParameter as error:
            return problem(400, "Bad parameter", str(error), field=error.parameter)
        return await executor.run(query)

    return handle


def parse_query(path: str, query_type: type[Query[Any]], request: Request) -> Query[Any]:
    """Parse a query from path and query parameters. Raises InvalidParameter with the name of the parameter."""
    arguments: dict[str, str] = dict(request.path_params)
    field_names = {field.name for field in msgspec.structs.fields(query_type)}
    allowed_names = field_names - parameters_of_other_route(path, query_type)
    for name, value in request.query_params.multi_items():
        if name in arguments:
            raise InvalidParameter("repeated", name)
        if name not in allowed_names:
            unused_names = sorted(allowed_names - arguments.keys())
            raise InvalidParameter(f"unknown; allowed: {', '.join(unused_names) or 'none'}", name[:64])
        arguments[name] = value
    try:
        query: Query[Any] = msgspec.convert(arguments, query_type, strict=False)
    except msgspec.ValidationError as error:
        reason, _, invalid_parameter = str(error).partition(" - at `$.")
        _, _, missing_parameter = reason.partition("field `")  # msgspec reports no path for a missing field
        raise InvalidParameter(reason, (invalid_parameter or missing_parameter).rstrip("`")) from error
    return query


def parameters_of_other_route(path: str, query_type: type[Query[Any]]) -> frozenset[str]:
    """Return the parameters that only the other route of the query (by id or by name) accepts."""
    if query_type.subject is None:
        return frozenset()
    return frozenset({"namespace", "name"} if "{id}" in path else {"id"})
