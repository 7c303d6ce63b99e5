"""Runs the HTTP server; drains on the first signal, exits on the second."""

import errno
import signal
import socket
import sys
from types import FrameType

import structlog
import uvicorn

from bridge.api.app import AppState, build_app
from bridge.bootstrap.intake import make_event_reader, make_legacy_reader, tune_garbage_collector
from bridge.bootstrap.queries import open_query_service
from bridge.bootstrap.store import make_writer
from bridge.errors import AddressInUse
from bridge.log import configure_log
from bridge.settings.model import Settings
from bridge.store.connect import StoreUrl
from connectors.errors import ConfigError

_BACKLOG = 2048


class _DrainingServer(uvicorn.Server):
    """Drains on the first signal and terminates on the second. A completed drain exits with 0."""

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
    writer = make_writer(settings)
    listener = _open_listener(settings)
    host, port, *_ = listener.getsockname()
    reader = make_event_reader(settings)
    legacy = make_legacy_reader(settings, reader)
    app = build_app(AppState(settings, reader, legacy, lambda: writer, lambda: open_query_service(settings)))
    display_host = f"[{host}]" if ":" in host else host
    tune_garbage_collector()
    log.info(
        "listening",
        url=f"http://{display_host}:{port}",
        store=StoreUrl(settings.store.url).name,
        pid_stops_with="SIGTERM",
    )
    server = _DrainingServer(
        uvicorn.Config(
            app,
            loop="uvloop" if sys.platform != "win32" else "asyncio",
            http="httptools",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=settings.server.drain_seconds,
        )
    )
    server.run(sockets=[listener])
    log.info("stopped")


def _open_listener(settings: Settings) -> socket.socket:
    """Open the listening socket. Raises AddressInUse or ConfigError."""
    host, port = settings.server.host, settings.server.port
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=_BACKLOG
        )
    except OSError as error:
        error_type = AddressInUse if error.errno == errno.EADDRINUSE else ConfigError
        raise error_type(
            f"cannot listen on server.host {host}, server.port {port}: {error.strerror or error}. "
            "If another service uses the port, choose a different one with --port"
        ) from error
    listener.setblocking(False)
    return listener
