"""The ASGI application: routes, scopes, readiness and lifespan."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import bridge
from bridge.api.auth import Authorizer
from bridge.api.command_routes import COMMAND_ROUTES, CommandExecutor, command_routes
from bridge.api.intake import Intake
from bridge.api.legacy import add_legacy_routes
from bridge.api.lineage import LINEAGE_PATHS, handle_request
from bridge.api.metrics import Metrics
from bridge.api.openapi import add_query_and_command_routes
from bridge.api.openapi_intake import add_intake_routes, problem_responses
from bridge.api.origin_check import OriginCheck
from bridge.api.problem import http_error_response, problem
from bridge.api.query_routes import QUERY_ROUTES, QueryExecutor, query_routes
from bridge.api.tasks import FileFollowerTask, GovernanceTask, LargeEventTask, SearchIndexTask, SyncTask
from bridge.bootstrap.intake import make_async_reader
from bridge.bootstrap.versions import open_command_context
from bridge.intake.child_process import ChildProcess
from bridge.intake.group_commit import GroupCommitter
from bridge.intake.pending_events import PendingEvents
from bridge.intake.recovery import recover_events
from bridge.queries.dataset import DatasetQuery
from bridge.queries.query import StoreQueryService
from bridge.queries.routes import name_route
from bridge.settings.model import Settings
from bridge.settings.target_names import TargetName
from bridge.store.connect import StoreUrl
from bridge.store.writer import Writer
from mappers.openmetadata.entity_requests import DATASET_PAGE

#: Required scope of each route; a test checks that the list is complete.
ROUTE_SCOPES: dict[str, Literal["ingest", "read", "operate"] | None] = {
    **dict.fromkeys(LINEAGE_PATHS, "ingest"),
    "/api/v1/run_event": "ingest",
    "/api/v1/dataset/register": "ingest",
    "/api/v1/legacy/register_dataset": "ingest",
    "/api/v1/legacy/register_process": "ingest",
    DATASET_PAGE: None,  # only redirects
    "/healthz": None,
    "/readyz": None,
    "/metrics": "operate",
    "/openapi.json": "read",
    **{path: command_type.scope for (_, path), command_type in COMMAND_ROUTES.items()},
    **dict.fromkeys(QUERY_ROUTES, "read"),  # commands on the same paths check their own scope
}


class AppState:
    """State of the running service."""

    def __init__(
        self,
        settings: Settings,
        open_writer: Callable[[], Writer],
        open_query_service: Callable[[], StoreQueryService],
    ) -> None:
        self._settings = settings
        self._open_writer = open_writer
        self._open_query_service = open_query_service
        self._authorizer = Authorizer(settings.server.api_keys)
        self.origin_check = OriginCheck(settings.server)
        self.store = ""
        self.committer: GroupCommitter | None = None
        self.metrics: Metrics | None = None
        self.intake: Intake | None = None
        self.file_follower: FileFollowerTask | None = None
        self.child_process: ChildProcess | None = None
        self.large_events: LargeEventTask | None = None
        self.queries: QueryExecutor | None = None
        self.commands: CommandExecutor | None = None

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Start the writer and the background tasks. On shutdown, stop the tasks and commit all waiting events."""
        limits = self._settings.intake
        writer = self._open_writer()
        self.store = writer.version
        pending_events = PendingEvents()
        store_file = StoreUrl(self._settings.store.url).file
        committer = GroupCommitter(
            writer,
            max_group=limits.max_group,
            max_pending=limits.max_waiting,
            pending_events=pending_events,
            recover=partial(recover_events, writer.database, self._settings.org, store_file) if store_file else None,
        )
        self.committer = committer
        self.metrics = Metrics(
            committer,
            pending_events,
            lambda: self.not_ready_reason() is None,
            store=self.store,
            store_file=store_file,
        )
        self.child_process = ChildProcess(self._settings.log)
        reader = make_async_reader(self._settings, self.child_process)
        self.large_events = LargeEventTask(self._settings, self.child_process, pending_events)
        self.intake = Intake(reader, committer, self._authorizer, self.metrics, limits)
        self.file_follower = FileFollowerTask(self._settings, reader, committer, self.metrics)
        self.queries = QueryExecutor(self._open_query_service)
        self.commands = CommandExecutor(lambda: open_command_context(self._settings))
        search_index = SearchIndexTask(self._settings)
        sync_tasks = {target: SyncTask(self._settings, self.metrics, target) for target in TargetName}
        governance = GovernanceTask(self._settings, self.metrics, sync_tasks[TargetName.openmetadata].metrics)
        yield
        self.child_process.close()
        await self.large_events.stop()
        self.queries.close()
        await asyncio.to_thread(self.commands.close)
        await self.file_follower.stop()
        await search_index.stop()
        await asyncio.gather(*(task.stop() for task in sync_tasks.values()))
        await governance.stop()
        await committer.close()
        writer.close()

    def not_ready_reason(self) -> str | None:
        """Return the reason why the service cannot accept events, or None if it can."""
        if self.committer is None:
            return "starting"
        return self.committer.problem() or (self.file_follower.failure if self.file_follower else None)

    def command_services(self) -> tuple[Intake, CommandExecutor] | None:
        """Return the intake and the command executor, or None while the service starts."""
        return (self.intake, self.commands) if self.intake and self.commands else None

    def authorize(self, request: Request, route: str) -> Response | None:
        scope = ROUTE_SCOPES[route]
        return self._authorizer.authorize(request.headers.get("authorization"), scope) if scope else None


class _IntakeEndpoint:
    """Passes requests to the intake of the running service."""

    def __init__(self, state: AppState) -> None:
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        intake = self._state.intake
        if intake is None:
            await problem(503, "Starting", "the service is starting")(scope, receive, send)
        else:
            await handle_request(intake, LINEAGE_PATHS[scope["path"]], scope, receive, send)


def build_app(state: AppState) -> Any:
    app = FastAPI(
        title="lineage-bridge",
        version=bridge.__version__,
        lifespan=state.lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: http_error_response},
    )
    intake_endpoint = _IntakeEndpoint(state)
    for path in LINEAGE_PATHS:
        app.router.routes.append(Route(path, intake_endpoint, methods=["POST"]))

    add_legacy_routes(app, lambda: state.intake)
    app.router.routes.extend(query_routes(lambda: state.queries, state.authorize))
    app.router.routes.extend(command_routes(state.command_services))

    @app.get(DATASET_PAGE, status_code=307, response_class=RedirectResponse)
    async def dataset_page(request: Request) -> Response:
        """Redirect links from other tools to the JSON of a dataset."""
        return RedirectResponse(f"{name_route(DatasetQuery)}?{request.url.query}")

    @app.head("/healthz", include_in_schema=False)
    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Respond as long as the process is alive."""
        return {"status": "alive"}

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", responses=problem_responses(503))
    async def readyz() -> Response:
        """Report whether the service accepts events."""
        reason = state.not_ready_reason()
        if reason:
            return problem(503, "Not ready", reason)
        return JSONResponse({"status": "ready", "store": state.store})

    @app.get("/metrics", response_class=PlainTextResponse, responses=problem_responses(401, 403, 503))
    async def metrics(request: Request) -> Response:
        """Return the metrics in the Prometheus format."""
        denial = state.authorize(request, "/metrics")
        if denial is not None:
            return denial
        if state.metrics is None:
            return problem(503, "Starting", "the service is starting")
        return Response(state.metrics.render(), media_type=state.metrics.content_type)

    @app.get("/openapi.json", responses=problem_responses(401, 403))
    async def openapi(request: Request) -> Response:
        """Return the OpenAPI document of this API."""
        return state.authorize(request, "/openapi.json") or JSONResponse(
            add_query_and_command_routes(add_intake_routes(app.openapi()))
        )

    return _FastPathApp(app, intake_endpoint, state.origin_check)


class _FastPathApp:
    """Checks the origin of requests, and serves the hot paths ahead of the framework's middleware and routing."""

    def __init__(self, app: FastAPI, intake_endpoint: _IntakeEndpoint, origin_check: OriginCheck) -> None:
        self.app = app
        self._intake_endpoint = intake_endpoint
        self._origin_check = origin_check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (denial := self._origin_check.denial(scope)) is not None:
            await denial(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in LINEAGE_PATHS:
            await self._intake_endpoint(scope, receive, send)
        else:
            await self.app(scope, receive, send)
