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
from bridge.api.description import refusals, with_lineage_routes
from bridge.api.indexing import Indexing
from bridge.api.intake import Intake
from bridge.api.legacy import add_legacy_routes
from bridge.api.lineage import LINEAGE_PATHS, serve
from bridge.api.metrics import Metrics
from bridge.api.order_description import with_order_routes
from bridge.api.ordering import ORDER_ROUTES, Ordering, ordering_routes
from bridge.api.problem import problem, unrouted
from bridge.api.reading import READING_ROUTES, Reading, reading_routes
from bridge.api.reading_description import with_reading_routes
from bridge.api.stewarding import Stewarding
from bridge.api.syncing import Syncing
from bridge.api.tailing import Tailing
from bridge.bootstrap import open_desk
from bridge.catalogue.question import Catalogue
from bridge.intake.gate import Gate
from bridge.intake.legacy import LegacyReader
from bridge.intake.reading import Reader
from bridge.settings import Settings
from bridge.store.location import StoreLocation
from bridge.store.writer import Writer
from bridge.target_names import TargetName

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
    **{path: kind.scope for (_, path), kind in ORDER_ROUTES.items()},
    **dict.fromkeys(READING_ROUTES, "read"),  # of an order beneath the same path, the order knows the scope
}


class Service:
    """Everything a running service holds, from start to stop."""

    def __init__(
        self,
        settings: Settings,
        reader: Reader,
        legacy: LegacyReader,
        open_writer: Callable[[], Writer],
        open_catalogue: Callable[[], Catalogue],
    ) -> None:
        self._settings = settings
        self._reader = reader
        self.legacy = legacy
        self._open_writer = open_writer
        self._open_catalogue = open_catalogue
        self._authorizer = Authorizer(settings.server.api_keys)
        self.store = ""
        self.gate: Gate | None = None
        self.metrics: Metrics | None = None
        self.intake: Intake | None = None
        self.tailing: Tailing | None = None
        self.reading: Reading | None = None
        self.ordering: Ordering | None = None

    @asynccontextmanager
    async def running(self, _: FastAPI) -> AsyncIterator[None]:
        """Start the writer with the application, and drain it with it."""
        limits = self._settings.intake
        writer = self._open_writer()
        self.store = writer.version
        gate = Gate(writer, max_group=limits.max_group, max_waiting=limits.max_waiting)
        self.gate = gate
        file = StoreLocation(self._settings.store.url).file
        self.metrics = Metrics(
            gate, lambda: self.ready() is None, store=self.store, disk=file.absolute().parent if file else None
        )
        self.intake = Intake(self._reader, gate, self._authorizer, self.metrics, limits)
        self.tailing = Tailing(self._settings, self._reader, gate, self.metrics)
        self.reading = Reading(self._open_catalogue)
        self.ordering = Ordering(lambda: open_desk(self._settings))
        indexing = Indexing(self._settings)
        syncing = {name: Syncing(self._settings, self.metrics, name) for name in TargetName}
        stewarding = Stewarding(self._settings, self.metrics, syncing[TargetName.openmetadata].watch)
        yield
        self.reading.close()
        await asyncio.to_thread(self.ordering.close)
        await self.tailing.stop()
        await indexing.stop()
        await asyncio.gather(*(one.stop() for one in syncing.values()))
        await stewarding.stop()
        await gate.close()

    def ready(self) -> str | None:
        """Say why the service cannot take events, None when it can."""
        if self.gate is None:
            return "starting"
        if self.gate.trouble is not None:
            return f"the last commit failed: {self.gate.trouble}"
        if self.gate.crowded():
            return "as many events as may wait are waiting to be written"
        return self.tailing.failure if self.tailing else None

    def taking_orders(self) -> tuple[Intake, Ordering] | None:
        """Give who reads orders and who does them, None while the service is starting."""
        return (self.intake, self.ordering) if self.intake and self.ordering else None

    def refusal(self, request: Request, route: str) -> Response | None:
        """Check a request against the scope of its route."""
        scope = ROUTE_SCOPES[route]
        return self._authorizer.refusal(request.headers.get("authorization"), scope) if scope else None


class _LineageRoutes:
    """Hands requests to the intake of the running service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        intake = self._service.intake
        if intake is None:
            await problem(503, "Starting", "the service is starting")(scope, receive, send)
        else:
            await serve(intake, LINEAGE_PATHS[scope["path"]], scope, receive, send)


def build_app(service: Service) -> Any:
    """Make the application around a service."""
    app = FastAPI(
        title="lineage-bridge",
        version=bridge.__version__,
        lifespan=service.running,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: unrouted},
    )
    lineage = _LineageRoutes(service)
    for path in LINEAGE_PATHS:
        app.router.routes.append(Route(path, lineage, methods=["POST"]))

    add_legacy_routes(app, lambda: service.intake, service.legacy)
    app.router.routes.extend(reading_routes(lambda: service.reading, service.refusal))
    app.router.routes.extend(ordering_routes(service.taking_orders))

    @app.head("/healthz", include_in_schema=False)
    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Tell that the process is alive."""
        return {"status": "alive"}

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", responses=refusals(503))
    async def readyz() -> Response:
        """Tell whether events can be taken."""
        reason = service.ready()
        if reason:
            return problem(503, "Not ready", reason)
        return JSONResponse({"status": "ready", "store": service.store})

    @app.get("/metrics", response_class=PlainTextResponse, responses=refusals(401, 403, 503))
    async def metrics(request: Request) -> Response:
        """Give the metrics for Prometheus."""
        refusal = service.refusal(request, "/metrics")
        if refusal is not None:
            return refusal
        if service.metrics is None:
            return problem(503, "Starting", "the service is starting")
        return Response(service.metrics.text(), media_type=service.metrics.content_type)

    @app.get("/openapi.json", responses=refusals(401, 403))
    async def openapi(request: Request) -> Response:
        """Describe this API."""
        return service.refusal(request, "/openapi.json") or JSONResponse(
            with_order_routes(with_reading_routes(with_lineage_routes(app.openapi())))
        )

    return _Front(app, lineage)


class _Front:
    """Takes the hot paths before the framework's layers; everything else goes through them."""

    def __init__(self, app: FastAPI, lineage: _LineageRoutes) -> None:
        self.app = app
        self._lineage = lineage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in LINEAGE_PATHS:
            await self._lineage(scope, receive, send)
        else:
            await self.app(scope, receive, send)
