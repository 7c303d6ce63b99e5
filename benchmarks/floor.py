"""Floors for the intake benchmark: a server that only parses, and a store that only appends events."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from bridge.intake.group_commit import GroupCommitter
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.schema import upgrade_sqlite
from bridge.store.sqlite import SqliteDatabase
from bridge.store.writer import Writer
from mappers.canonical.identity import digest
from mappers.openlineage.event import Event

_RESPONSE = [
    {"type": "http.response.start", "status": 201, "headers": [(b"content-length", b"0")]},
    {"type": "http.response.body", "body": b""},
]


class Appender(Writer):
    """A writer that only appends to the event log."""

    def _apply(self, changes: Any, group: Any, positions: Any) -> Any:  # noqa: ARG002 - signature of Writer
        self._append_events([item for item in group if isinstance(item, IncomingEvent)])
        return []


def appender(path: Path) -> Appender:
    """Create a store and a writer that only appends."""
    upgrade_sqlite(path)
    return Appender(SqliteDatabase.for_writing(path))


def raw(body: bytes) -> IncomingEvent | RejectedInput:
    """Parse an event without mapping it."""
    document = msgspec.json.decode(body)
    event = Event(0, document["eventType"], None, None, None, {}, None, {}, [], [], None, digest(body), ())
    return IncomingEvent(body, event, (), (), 0, "floor")


class Floor:
    """ASGI application that responds with 201 after parsing and, with a store, appending."""

    def __init__(self, store: Path | None) -> None:
        self._store = store
        self._committer: GroupCommitter | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one request or the lifespan."""
        if scope["type"] == "lifespan":
            await receive()
            if self._store is not None:
                self._committer = GroupCommitter(appender(self._store), max_group=256, max_pending=5000)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if scope["method"] == "POST":
            item = raw(body)
            if self._committer is not None:
                await self._committer.commit([item])
        for part in _RESPONSE:
            await send(part)


if __name__ == "__main__":
    port, store = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    uvicorn.run(
        Floor(Path(store) if store else None),
        port=port,
        loop="uvloop",
        http="httptools",
        log_config=None,
        access_log=False,
    )
