"""Backend of a process: the local store, or a service over HTTP with retries."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

import msgspec
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from bridge.intake.batch import chunked, write_events
from bridge.intake.event_reader import EventReader
from bridge.queries.query import Page, Query, QueryService
from bridge.queries.remote import RemoteQueryService, decode_response
from bridge.store.writer import Writer
from bridge.versions.command import Command, CommandContext
from connectors.errors import ConfigError, Unreachable
from connectors.openlineage.http import BridgeClient
from mappers.errors import InvalidInput, TransientError

R = TypeVar("R")


def execute_on_service(client: BridgeClient, order: Command[R]) -> R:
    """Have a service do an order that has a body; raises what the registry would raise, and Unreachable."""
    answer = client.post(order.path, msgspec.json.encode(order))
    kind: type[R] = order.result_type
    return decode_response(client.url, order.path, answer, kind)


A = TypeVar("A")
T = TypeVar("T")

_BATCH = 100
_SOURCE = "process"
#: For how long a service is asked again that does not answer now.
_PATIENCE_SECONDS = 20.0


class ProcessBackend(Protocol):
    """Whoever keeps what a process tells, and knows what it asks."""

    def query(self, question: Query[A]) -> A:
        """Answer a question; raises UnknownName and Conflict."""

    def execute(self, order: Command[A]) -> A:
        """Have the registry do something; raises UnknownName and Conflict."""

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        """Keep events, and say of each that is none why."""

    def close(self) -> None:
        """Speak no more."""


class StoreBackend:
    """Speaks to a store."""

    def __init__(self, catalogue: QueryService, desk: CommandContext, reader: EventReader, writer: Writer) -> None:
        self._catalogue = catalogue
        self._desk = desk
        self._reader = reader
        self._writer = writer

    def query(self, question: Query[A]) -> A:
        """Answer from the store."""
        return self._catalogue.run(question)

    def execute(self, order: Command[A]) -> A:
        """Do it in the store."""
        return order.execute(self._desk)

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        """Write events into the store."""
        return list(write_events(events, self._reader, self._writer, _SOURCE).values())

    def close(self) -> None:
        """Close the connections."""
        self._catalogue.close()
        self._desk.registry.close()
        self._writer.close()


class _Failed(msgspec.Struct):
    reason: str


class _Taken(msgspec.Struct):
    failed_events: list[_Failed] = []


class RemoteBackend:
    """Speaks to a service, again and again for a while when it does not answer."""

    def __init__(self, client: BridgeClient, *, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._client = client
        self._catalogue = RemoteQueryService(client)
        self._again = Retrying(
            retry=retry_if_exception_type(TransientError),
            stop=stop_after_delay(patience_seconds),
            wait=wait_random_exponential(multiplier=0.2, max=3),
            reraise=True,
        )

    def query(self, question: Query[A]) -> A:
        """Answer as the service does."""
        found: A = self._again(self._catalogue.run, question)
        return found

    def execute(self, order: Command[A]) -> A:
        """Have the service do it: whatever is ordered here may be ordered twice."""
        done: A = self._again(execute_on_service, self._client, order)
        return done

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        """Send events; twice does no harm."""
        return [said for group in chunked(events, _BATCH) for said in self._again(self._batch, group)]

    def _batch(self, events: list[bytes]) -> list[str]:
        answer = self._client.post("/api/v1/lineage/batch", b"[" + b",".join(events) + b"]")
        if answer.status in {401, 403}:
            raise ConfigError(f"{self._client.url}: takes no events from this key: it needs the scope ingest")
        if not answer.success:
            raise Unreachable(f"{self._client.url}: {answer.status} {answer.text[:200]}")
        if not answer.body:
            return []
        return [one.reason for one in msgspec.json.decode(answer.body, type=_Taken).failed_events]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def iterate_pages(link: ProcessBackend, question: Query[Page[T]]) -> Iterator[T]:
    """Give all that a question lists, page by page."""
    while True:
        page = link.query(question)
        yield from page.items
        if page.next is None:
            return
        question = msgspec.structs.replace(question, after=page.next)


def send_event(link: ProcessBackend, event: bytes) -> None:
    """Send an event that this code made itself: it is taken, or something is wrong with the code."""
    for said in link.send_events([event]):
        raise InvalidInput(said)
