"""Runs the HTTP server; drains on the first signal, exits on the second."""

import asyncio
import errno
import signal
import socket
import sys
from types import FrameType
from typing import Any

import structlog
import uvicorn

from bridge.api.app import AppState, build_app
from bridge.api.http_protocol import ConnectionSweeper, LimitedProtocol, connection_limit, raise_descriptor_limit
from bridge.bootstrap.intake import tune_garbage_collector
from bridge.bootstrap.queries import open_query_service
from bridge.bootstrap.store import make_writer
from bridge.errors import AddressInUse
from bridge.log import configure_log
from bridge.settings.model import Settings
from bridge.store.connect import StoreUrl
from connectors.errors import ConfigError

_MAX_BACKLOG = 2048
#: Turns of 0.1 seconds between searches for stalled connections.
_SWEEP_TURNS = 10


class _DrainingServer(uvicorn.Server):
    """Drains on the first signal and terminates on the second. A completed drain exits with 0."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._sweeper = ConnectionSweeper(config.limit_concurrency or 0)

    async def on_tick(self, counter: int) -> bool:
        if counter % _SWEEP_TURNS == 0:
            self._sweeper.sweep(self.server_state.connections, asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature is uvicorn's
        """Start the drain on the first signal. Let the second signal terminate the process."""
        if self.should_exit:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.should_exit = True


def run_server(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT. A second signal skips the drain."""
    configure_log(settings.log)
    log = structlog.get_logger()
    descriptors = raise_descriptor_limit()
    writer = make_writer(settings)
    listener = _open_listener(settings, _backlog(descriptors))
    host, port, *_ = listener.getsockname()
    app = build_app(AppState(settings, lambda: writer, lambda: open_query_service(settings)))
    display_host = f"[{host}]" if ":" in host else host
    tune_garbage_collector()
    log.info(
        "listening",
        url=f"http://{display_host}:{port}",
        store=StoreUrl(settings.store.url).name,
    )
    server = make_server(app, settings, descriptors)
    server.run(sockets=[listener])
    log.info("stopped")


def make_server(app: Any, settings: Settings, descriptors: int) -> uvicorn.Server:
    """Make a server that uses at most this number of file descriptors."""
    return _DrainingServer(
        uvicorn.Config(
            app,
            loop="uvloop" if sys.platform != "win32" else "asyncio",
            http=LimitedProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            headers=[("X-Content-Type-Options", "nosniff")],
            limit_concurrency=connection_limit(descriptors),
            backlog=_backlog(descriptors),
            timeout_graceful_shutdown=settings.server.drain_seconds,
        )
    )


def _backlog(descriptors: int) -> int:
    """Limit the backlog: all its connections are accepted at once, before any of them can be refused."""
    return min(_MAX_BACKLOG, descriptors // 8)


def _open_listener(settings: Settings, backlog: int) -> socket.socket:
    """Open the listening socket. Raises AddressInUse or ConfigError."""
    host, port = settings.server.host, settings.server.port
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=backlog
        )
    except OSError as error:
        error_type = AddressInUse if error.errno == errno.EADDRINUSE else ConfigError
        raise error_type(
            f"cannot listen on server.host {host}, server.port {port}: {error.strerror or error}. "
            "If another service uses the port, choose a different one with --port"
        ) from error
    listener.setblocking(False)
    return listener
