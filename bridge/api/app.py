"""The service as an ASGI application."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import bridge
from bridge.api.auth import Authorizer
from bridge.api.lineage import LineageEndpoint
from bridge.api.metrics import Metrics
from bridge.api.problem import problem
from bridge.api.tailing import Tailing
from bridge.intake.gate import Gate
from bridge.intake.reading import Reader
from bridge.settings import Settings
from bridge.store.writer import Writer

_LINEAGE_PATHS = frozenset({"/api/v1/lineage", "/api/v1/lineage/"})

#: The scope that each route asks for; a test holds the list complete.
ROUTE_SCOPES: dict[str, Literal["ingest", "read", "operate"] | None] = {
    "/api/v1/lineage": "ingest",
    "/api/v1/lineage/": "ingest",
    "/healthz": None,
    "/readyz": None,
    "/metrics": "operate",
    "/openapi.json": "read",
}


class Service:
    """Everything a running service holds, from start to stop."""

    def __init__(self, settings: Settings, reader: Reader, open_writer: Callable[[], Writer]) -> None:
        self._settings = settings
        self._reader = reader
        self._open_writer = open_writer
        self._authorizer = Authorizer(settings.server.api_keys)
        self.gate: Gate | None = None
        self.metrics: Metrics | None = None
        self.tailing: Tailing | None = None
        self.endpoint: LineageEndpoint | None = None

    @asynccontextmanager
    async def running(self, _: FastAPI) -> AsyncIterator[None]:
        """Start the writer with the application, and drain it with it."""
        intake = self._settings.intake
        gate = Gate(self._open_writer(), max_group=intake.max_group, max_waiting=intake.max_waiting)
        self.gate = gate
        self.metrics = Metrics(gate.waiting, lambda: gate.healthy)
        self.endpoint = LineageEndpoint(self._reader, gate, self._authorizer, self.metrics, intake)
        self.tailing = Tailing(self._settings, self._reader, gate, self.metrics)
        yield
        await self.tailing.stop()
        await gate.close()

    def ready(self) -> str | None:
        """Say why the service cannot take events, None when it can."""
        if self.gate is None:
            return "starting"
        if not self.gate.healthy:
            return "the last commit failed: see the log"
        if self.gate.crowded():
            return "as many events as may wait are waiting to be written"
        return self.tailing.failure if self.tailing else None

    def refusal(self, request: Request) -> Response | None:
        """Check a request against the scope of its route."""
        scope = ROUTE_SCOPES[request.scope["path"]]
        return self._authorizer.refusal(request.headers.get("authorization"), scope) if scope else None


class _LineageRoute:
    """Hands requests to the endpoint of the running service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._service.endpoint is None:
            await problem(503, "Starting", "the service is starting")(scope, receive, send)
        else:
            await self._service.endpoint(scope, receive, send)


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
    )
    lineage = _LineageRoute(service)
    for path in sorted(_LINEAGE_PATHS):
        app.router.routes.append(Route(path, lineage, methods=["POST"]))

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Tell that the process is alive."""
        return {"status": "alive"}

    @app.get("/readyz")
    async def readyz() -> Response:
        """Tell whether events can be taken."""
        reason = service.ready()
        if reason:
            return problem(503, "Not ready", reason)
        return JSONResponse({"status": "ready", "sqlite": sqlite3.sqlite_version})

    @app.get("/metrics")
    async def metrics(request: Request) -> Response:
        """Give the metrics for Prometheus."""
        refusal = service.refusal(request)
        if refusal is not None:
            return refusal
        if service.metrics is None:
            return problem(503, "Starting", "the service is starting")
        return Response(service.metrics.text(), media_type=service.metrics.content_type)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        """Describe this API."""
        return service.refusal(request) or JSONResponse(app.openapi())

    return _Front(app, lineage)


class _Front:
    """Takes the one hot path before the framework's layers; everything else goes through them."""

    def __init__(self, app: FastAPI, lineage: _LineageRoute) -> None:
        self.app = app
        self._lineage = lineage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in _LINEAGE_PATHS:
            await self._lineage(scope, receive, send)
        else:
            await self.app(scope, receive, send)
