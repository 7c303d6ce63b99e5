"""The stand-in behind a port: uvicorn in a thread."""

import threading
import time

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.standins.openmetadata.app import App

_START_SECONDS = 10


class _Protocol(HttpToolsProtocol):
    """Lets the application close a connection without an answer."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {"abort": self.transport.abort}


class Server:
    """A running server; port 0 takes a free one."""

    def __init__(self, app: App, port: int = 0) -> None:
        config = uvicorn.Config(
            app,
            host="127.0.0.1",
            port=port,
            http=_Protocol,
            lifespan="off",
            log_level="warning",
            access_log=False,
            timeout_keep_alive=60,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True, name="openmetadata stand-in")
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._server.started:
            assert self._thread.is_alive(), "the stand-in did not start"
            assert time.monotonic() < deadline, "the stand-in does not start"
            time.sleep(0.002)
        sockets = self._server.servers[0].sockets
        self.port: int = sockets[0].getsockname()[1]

    def close(self) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(_START_SECONDS)
