"""Runs a stand-in with uvicorn in a thread."""

import asyncio
import threading
import time
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_START_SECONDS = 10


class _Protocol(HttpToolsProtocol):
    """Lets the application abort a connection."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {"abort": {"now": self.transport.abort}}


class _Uvicorn(uvicorn.Server):
    """Stops immediately instead of at the next tick."""

    async def main_loop(self) -> None:
        self._stop_event = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        while not self._stop_event.is_set():
            await self.on_tick(0)  # updates the Date header
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop_event.wait(), 1)

    def stop(self) -> None:
        self.force_exit = True
        self._loop.call_soon_threadsafe(self._stop_event.set)


class Server:
    """A running server; port 0 chooses a free one."""

    def __init__(self, app: ASGIApp, port: int = 0, name: str = "stand-in") -> None:
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
        self._server = _Uvicorn(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True, name=name)
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._server.started:
            assert self._thread.is_alive(), "the stand-in did not start"
            assert time.monotonic() < deadline, "the stand-in did not start in time"
            time.sleep(0.002)
        sockets = self._server.servers[0].sockets
        self.port: int = sockets[0].getsockname()[1]

    def close(self) -> None:
        self._server.stop()
        self._thread.join(_START_SECONDS)
