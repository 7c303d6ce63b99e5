"""The service in this process: the application with its lifespan, requested over ASGI."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx
import msgspec

from bridge.api.app import AppState, build_app
from bridge.bootstrap.queries import open_query_service
from bridge.bootstrap.store import make_writer
from bridge.intake.group_commit import GroupCommitter
from bridge.settings.model import Settings
from bridge.store.event_log import PENDING
from bridge.store.writer import Writer
from tests.factories import facet, run_event
from tests.stores import Json, as_bytes, template_connection

LINEAGE = "/api/v1/lineage"
PROBLEM = "application/problem+json"
TIMEOUT = 20
#: Seconds between polls; without a pause, polling would starve other threads.
POLL_SECONDS = 0.005

T = TypeVar("T")


def create_store_file(folder: Path) -> Path:
    """Create an empty store without running migrations."""
    path = folder / "store.db"
    with sqlite3.connect(path) as copy:
        template_connection().backup(copy)
    copy.close()
    return path


def settings_for(folder: Path, **sections: Json) -> Settings:
    store = {"url": f"sqlite:///{create_store_file(folder)}", **sections.pop("store", {})}
    return Settings.model_validate({"store": store, **sections})


def event_with(value: str) -> bytes:
    """An event with a facet that contains any JSON text."""
    return as_bytes(run_event(run_facets={"odd": facet(value="@@")})).replace(b'"@@"', value.encode())


class RunningService:
    """A running service, with access to its store."""

    def __init__(self, settings: Settings, open_writer: Callable[[], Writer] | None = None) -> None:
        self.settings = settings
        self.service = AppState(
            settings,
            open_writer or (lambda: make_writer(settings)),
            lambda: open_query_service(settings),
        )
        self.app = build_app(self.service)
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self._lifespan = self.app.app.router.lifespan_context(self.app.app)
        self._runner.run(_enter(self._lifespan))
        transport = httpx.ASGITransport(self.app)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://localhost", follow_redirects=False)
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self.client.aclose())
        self._runner.run(self._lifespan.__aexit__(None, None, None))
        self._runner.close()

    @property
    def committer(self) -> GroupCommitter:
        assert self.service.committer is not None
        return self.service.committer

    def run(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return self._runner.run(wait())

    def wait_until_merged(self) -> None:
        """Wait until no event is pending."""
        self.run(self._wait_until_merged())

    async def _wait_until_merged(self) -> None:
        async with asyncio.timeout(30):
            while (PENDING,) in self.rows("SELECT failure FROM run_event"):  # noqa: ASYNC110 - written by a thread
                await asyncio.sleep(0.01)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.run(self.client.get(path, **options))

    def post(self, body: Any, path: str = LINEAGE, **headers: str) -> httpx.Response:
        """Send a body; `content_type="…"` sets the header `content-type`."""
        return self.run(self.send(body, path, **headers))

    async def send(self, body: Any, path: str = LINEAGE, **headers: str) -> httpx.Response:
        content = as_bytes(body) if isinstance(body, dict) else body
        extra = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(path, content=content, headers={"content-type": "application/json", **extra})

    def post_gzip(self, body: bytes) -> httpx.Response:
        return self.post(body, content_encoding="gzip")

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        path = self.settings.store.url.removeprefix("sqlite:///")
        connection = sqlite3.connect(path)
        try:
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()

    def notes(self) -> list[str]:
        return [note for (text,) in self.rows("SELECT notes_json FROM run_event") for note in _read_notes(text)]

    def events(self) -> int:
        return int(self.rows("SELECT count(*) FROM run_event")[0][0])


async def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for the effect of another thread."""
    async with asyncio.timeout(TIMEOUT):
        while not condition():  # noqa: ASYNC110 - the thread sets no event of the loop
            await asyncio.sleep(POLL_SECONDS)


async def _enter(lifespan: Any) -> None:
    await lifespan.__aenter__()


def _read_notes(text: str | None) -> list[str]:
    return msgspec.json.decode(text, type=list[str]) if text else []


async def chunks(body: bytes, size: int = 1 << 16) -> AsyncIterator[bytes]:
    """Send a body in chunks, without its length."""
    for start in range(0, len(body), size):
        yield body[start : start + size]
