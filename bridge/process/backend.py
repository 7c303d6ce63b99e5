"""Backend of a process: the local store, or a service over HTTP with retries."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

import msgspec
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from bridge.chunks import chunked
from bridge.intake.batch import write_events
from bridge.intake.event_reader import EventReader
from bridge.queries.query import Page, Query, QueryService
from bridge.queries.remote import RemoteQueryService, decode_response
from bridge.store.writer import Writer
from bridge.versions.command import Command, CommandContext
from connectors.errors import ConfigError, Unreachable
from connectors.openlineage.http import BridgeClient
from mappers.errors import InvalidInput, TransientError

A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")

_BATCH_SIZE = 100
_SOURCE = "process"
#: How long requests to an unavailable service are retried.
_RETRY_SECONDS = 20.0


def execute_on_service(client: BridgeClient, command: Command[R]) -> R:
    """Execute a command with a request body. Raises the errors of the registry, and Unreachable."""
    response = client.post(command.path, msgspec.json.encode(command))
    result_type: type[R] = command.result_type
    return decode_response(client.url, command.path, response, result_type)


class ProcessBackend(Protocol):
    """Gives a process access to queries, commands and event intake."""

    def query(self, query: Query[A]) -> A:
        """Run a query. Raises NotFound or StateConflict."""

    def execute(self, command: Command[A]) -> A:
        """Execute a command. Raises NotFound or StateConflict."""

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        """Store events, and return the reason for each rejected event."""

    def close(self) -> None: ...


class StoreBackend:
    """Backend on a local store."""

    def __init__(self, queries: QueryService, ctx: CommandContext, reader: EventReader, writer: Writer) -> None:
        self._queries = queries
        self._ctx = ctx
        self._reader = reader
        self._writer = writer

    def query(self, query: Query[A]) -> A:
        return self._queries.run(query)

    def execute(self, command: Command[A]) -> A:
        return command.execute(self._ctx)

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        return list(write_events(events, self._reader, self._writer, _SOURCE).values())

    def close(self) -> None:
        self._queries.close()
        self._ctx.registry.close()
        self._writer.close()


class _FailedEvent(msgspec.Struct):
    """An event that the service rejected."""

    reason: str


class _BatchResponse(msgspec.Struct):
    """Response to a batch of events."""

    failed_events: list[_FailedEvent] = []


class RemoteBackend:
    """Backend on a service. Transient failures are retried for a while."""

    def __init__(self, client: BridgeClient, *, retry_seconds: float = _RETRY_SECONDS) -> None:
        self._client = client
        self._queries = RemoteQueryService(client)
        self._retrying = Retrying(
            retry=retry_if_exception_type(TransientError),
            stop=stop_after_delay(retry_seconds),
            wait=wait_random_exponential(multiplier=0.2, max=3),
            reraise=True,
        )

    def query(self, query: Query[A]) -> A:
        result: A = self._retrying(self._queries.run, query)
        return result

    def execute(self, command: Command[A]) -> A:
        """Execute a command with retries, which are safe because all commands that processes send are idempotent."""
        result: A = self._retrying(execute_on_service, self._client, command)
        return result

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        """Send events in batches with retries, which are safe because events are idempotent."""
        reasons: list[str] = []
        for batch in chunked(events, _BATCH_SIZE):
            reasons += self._retrying(self._send_batch, batch)
        return reasons

    def _send_batch(self, events: list[bytes]) -> list[str]:
        """Send a batch once, and return the reason for each rejected event."""
        response = self._client.post("/api/v1/lineage/batch", b"[" + b",".join(events) + b"]")
        if response.status in {401, 403}:
            raise ConfigError(f"{self._client.url}: the API key lacks the scope ingest")
        if not response.success:
            raise Unreachable(f"{self._client.url}: {response.status} {response.text[:200]}")
        if not response.body:
            return []
        return [event.reason for event in msgspec.json.decode(response.body, type=_BatchResponse).failed_events]

    def close(self) -> None:
        self._client.close()


def iterate_pages(backend: ProcessBackend, query: Query[Page[T]]) -> Iterator[T]:
    """Iterate over the items of all pages of a query."""
    while True:
        page = backend.query(query)
        yield from page.items
        if page.next is None:
            return
        query = msgspec.structs.replace(query, after=page.next)


def send_event(backend: ProcessBackend, event: bytes) -> None:
    """Send an event built by this code. A rejection is a bug."""
    reasons = backend.send_events([event])
    if reasons:
        raise InvalidInput("; ".join(reasons))
