"""Runs the service: listens, says so, and drains when told to stop."""

import socket
import sys

import structlog
import uvicorn

from bridge.api.app import Service, build_app
from bridge.bootstrap import make_reader, make_writer
from bridge.log import configure_log
from bridge.settings import Settings
from bridge.store.schema import prepare
from bridge.store.sqlite import store_path
from mappers.errors import ConfigError

_BACKLOG = 2048


def serve_forever(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; a second signal does not wait for the drain."""
    configure_log(settings.log)
    log = structlog.get_logger()
    path = store_path(settings.store.url)
    prepare(path)
    listener = _listen(settings)
    host, port = listener.getsockname()[:2]
    app = build_app(Service(settings, make_reader(settings), lambda: make_writer(settings)))
    log.info("listening", url=f"http://{host}:{port}", store=str(path), pid_stops_with="SIGTERM")
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            loop="uvloop" if sys.platform != "win32" else "asyncio",
            http="httptools",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=settings.server.drain_seconds,
        )
    )
    server.run(sockets=[listener])
    log.info("stopped")


def _listen(settings: Settings) -> socket.socket:
    host, port = settings.server.host, settings.server.port
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=_BACKLOG
        )
    except OSError as error:
        raise ConfigError(
            f"cannot listen on server.host {host}, server.port {port}: {error.strerror or error}. "
            "Is another service running there? Choose another with --port"
        ) from error
    listener.setblocking(False)
    return listener
