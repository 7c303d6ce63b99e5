"""The service as an ASGI application."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import bridge
from bridge.api.auth import Authorizer
from bridge.api.command_routes import COMMAND_ROUTES, CommandExecutor, command_routes
from bridge.api.indexing import SearchIndexTask
from bridge.api.intake import Intake
from bridge.api.legacy import add_legacy_routes
from bridge.api.lineage import LINEAGE_PATHS, handle_request
from bridge.api.metrics import Metrics
from bridge.api.openapi import add_query_and_command_routes
from bridge.api.openapi_intake import add_intake_routes, problem_responses
from bridge.api.problem import http_error_response, problem
from bridge.api.query_routes import QUERY_ROUTES, QueryExecutor, query_routes
from bridge.api.stewarding import GovernanceTask
from bridge.api.syncing import SyncTask
from bridge.api.tailing import FileFollowerTask
from bridge.bootstrap.versions import open_command_context
from bridge.intake.event_reader import EventReader
from bridge.intake.group_commit import GroupCommitter
from bridge.intake.legacy import LegacyReader
from bridge.queries.query import QueryService
from bridge.settings.model import Settings
from bridge.settings.target_names import TargetName
from bridge.store.connect import StoreUrl
from bridge.store.writer import Writer

#: The scope that each route asks for; a test holds the list complete.
ROUTE_SCOPES: dict[str, Literal["ingest", "read", "operate"] | None] = {
    **dict.fromkeys(LINEAGE_PATHS, "ingest"),
    "/api/v1/run_event": "ingest",
    "/api/v1/dataset/register": "ingest",
    "/api/v1/legacy/register_dataset": "ingest",
    "/api/v1/legacy/register_process": "ingest",
    "/healthz": None,
    "/readyz": None,
    "/metrics": "operate",
    "/openapi.json": "read",
    **{path: kind.scope for (_, path), kind in COMMAND_ROUTES.items()},
    **dict.fromkeys(QUERY_ROUTES, "read"),  # of an order beneath the same path, the order knows the scope
}


class AppState:
    """Everything a running service holds, from start to stop."""

    def __init__(
        self,
        settings: Settings,
        reader: EventReader,
        legacy: LegacyReader,
        open_writer: Callable[[], Writer],
        open_catalogue: Callable[[], QueryService],
    ) -> None:
        self._settings = settings
        self._reader = reader
        self.legacy = legacy
        self._open_writer = open_writer
        self._open_catalogue = open_catalogue
        self._authorizer = Authorizer(settings.server.api_keys)
        self.store = ""
        self.gate: GroupCommitter | None = None
        self.metrics: Metrics | None = None
        self.intake: Intake | None = None
        self.tailing: FileFollowerTask | None = None
        self.reading: QueryExecutor | None = None
        self.ordering: CommandExecutor | None = None

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Start the writer with the application, and drain it with it."""
        limits = self._settings.intake
        writer = self._open_writer()
        self.store = writer.version
        gate = GroupCommitter(writer, max_group=limits.max_group, max_waiting=limits.max_waiting)
        self.gate = gate
        file = StoreUrl(self._settings.store.url).file
        self.metrics = Metrics(
            gate,
            lambda: self.not_ready_reason() is None,
            store=self.store,
            disk=file.absolute().parent if file else None,
        )
        self.intake = Intake(self._reader, gate, self._authorizer, self.metrics, limits)
        self.tailing = FileFollowerTask(self._settings, self._reader, gate, self.metrics)
        self.reading = QueryExecutor(self._open_catalogue)
        self.ordering = CommandExecutor(lambda: open_command_context(self._settings))
        indexing = SearchIndexTask(self._settings)
        syncing = {name: SyncTask(self._settings, self.metrics, name) for name in TargetName}
        stewarding = GovernanceTask(self._settings, self.metrics, syncing[TargetName.openmetadata].watch)
        yield
        self.reading.close()
        await asyncio.to_thread(self.ordering.close)
        await self.tailing.stop()
        await indexing.stop()
        await asyncio.gather(*(one.stop() for one in syncing.values()))
        await stewarding.stop()
        await gate.close()

    def not_ready_reason(self) -> str | None:
        """Say why the service cannot take events, None when it can."""
        if self.gate is None:
            return "starting"
        if self.gate.last_error is not None:
            return f"the last commit failed: {self.gate.last_error}"
        if self.gate.is_full():
            return "as many events as may wait are waiting to be written"
        return self.tailing.failure if self.tailing else None

    def command_parts(self) -> tuple[Intake, CommandExecutor] | None:
        """Give who reads orders and who does them, None while the service is starting."""
        return (self.intake, self.ordering) if self.intake and self.ordering else None

    def authorize(self, request: Request, route: str) -> Response | None:
        """Check a request against the scope of its route."""
        scope = ROUTE_SCOPES[route]
        return self._authorizer.authorize(request.headers.get("authorization"), scope) if scope else None


class _IntakeEndpoint:
    """Hands requests to the intake of the running service."""

    def __init__(self, service: AppState) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        intake = self._service.intake
        if intake is None:
            await problem(503, "Starting", "the service is starting")(scope, receive, send)
        else:
            await handle_request(intake, LINEAGE_PATHS[scope["path"]], scope, receive, send)


def build_app(service: AppState) -> Any:
    """Make the application around a service."""
    app = FastAPI(
        title="lineage-bridge",
        version=bridge.__version__,
        lifespan=service.lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: http_error_response},
    )
    lineage = _IntakeEndpoint(service)
    for path in LINEAGE_PATHS:
        app.router.routes.append(Route(path, lineage, methods=["POST"]))

    add_legacy_routes(app, lambda: service.intake, service.legacy)
    app.router.routes.extend(query_routes(lambda: service.reading, service.authorize))
    app.router.routes.extend(command_routes(service.command_parts))

    @app.head("/healthz", include_in_schema=False)
    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Tell that the process is alive."""
        return {"status": "alive"}

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", responses=problem_responses(503))
    async def readyz() -> Response:
        """Tell whether events can be taken."""
        reason = service.not_ready_reason()
        if reason:
            return problem(503, "Not ready", reason)
        return JSONResponse({"status": "ready", "store": service.store})

    @app.get("/metrics", response_class=PlainTextResponse, responses=problem_responses(401, 403, 503))
    async def metrics(request: Request) -> Response:
        """Give the metrics for Prometheus."""
        refusal = service.authorize(request, "/metrics")
        if refusal is not None:
            return refusal
        if service.metrics is None:
            return problem(503, "Starting", "the service is starting")
        return Response(service.metrics.render(), media_type=service.metrics.content_type)

    @app.get("/openapi.json", responses=problem_responses(401, 403))
    async def openapi(request: Request) -> Response:
        """Describe this API."""
        return service.authorize(request, "/openapi.json") or JSONResponse(
            add_query_and_command_routes(add_intake_routes(app.openapi()))
        )

    return _FastPathApp(app, lineage)


class _FastPathApp:
    """Takes the hot paths before the framework's layers; everything else goes through them."""

    def __init__(self, app: FastAPI, lineage: _IntakeEndpoint) -> None:
        self.app = app
        self._lineage = lineage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in LINEAGE_PATHS:
            await self._lineage(scope, receive, send)
        else:
            await self.app(scope, receive, send)
