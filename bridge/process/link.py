"""What a process speaks to: the store of the settings, or a service that keeps one."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

import msgspec
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from bridge.catalogue.question import Catalogue, Page, Question
from bridge.catalogue.remote import ServiceCatalogue
from bridge.intake.reading import Reader
from bridge.intake.taking import grouped, take_events
from bridge.orders.order import Desk, Order
from bridge.orders.remote import order_of_service
from bridge.store.writer import Writer
from connectors.openlineage.http import EventClient
from mappers.errors import ConfigError, RefusedEvent, TransientError, Unreachable

A = TypeVar("A")
T = TypeVar("T")

_BATCH = 100
_SOURCE = "process"
#: For how long a service is asked again that does not answer now.
_PATIENCE_SECONDS = 20.0


class Link(Protocol):
    """Whoever keeps what a process tells, and knows what it asks."""

    def ask(self, question: Question[A]) -> A:
        """Answer a question; raises UnknownName and Conflict."""

    def order(self, order: Order[A]) -> A:
        """Have the registry do something; raises UnknownName and Conflict."""

    def send(self, events: Sequence[bytes]) -> list[str]:
        """Keep events, and say of each that is none why."""

    def close(self) -> None:
        """Speak no more."""


class StoreLink:
    """Speaks to a store."""

    def __init__(self, catalogue: Catalogue, desk: Desk, reader: Reader, writer: Writer) -> None:
        self._catalogue = catalogue
        self._desk = desk
        self._reader = reader
        self._writer = writer

    def ask(self, question: Question[A]) -> A:
        """Answer from the store."""
        return self._catalogue.ask(question)

    def order(self, order: Order[A]) -> A:
        """Do it in the store."""
        return order.done(self._desk)

    def send(self, events: Sequence[bytes]) -> list[str]:
        """Write events into the store."""
        return list(take_events(events, self._reader, self._writer, _SOURCE).values())

    def close(self) -> None:
        """Close the connections."""
        self._catalogue.close()
        self._desk.registry.close()
        self._writer.close()


class _Failed(msgspec.Struct):
    reason: str


class _Taken(msgspec.Struct):
    failed_events: list[_Failed] = []


class ServiceLink:
    """Speaks to a service, again and again for a while when it does not answer."""

    def __init__(self, client: EventClient, *, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._client = client
        self._catalogue = ServiceCatalogue(client)
        self._again = Retrying(
            retry=retry_if_exception_type(TransientError),
            stop=stop_after_delay(patience_seconds),
            wait=wait_random_exponential(multiplier=0.2, max=3),
            reraise=True,
        )

    def ask(self, question: Question[A]) -> A:
        """Answer as the service does."""
        found: A = self._again(self._catalogue.ask, question)
        return found

    def order(self, order: Order[A]) -> A:
        """Have the service do it: whatever is ordered here may be ordered twice."""
        done: A = self._again(order_of_service, self._client, order)
        return done

    def send(self, events: Sequence[bytes]) -> list[str]:
        """Send events; twice does no harm."""
        return [said for group in grouped(events, _BATCH) for said in self._again(self._batch, group)]

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


def every(link: Link, question: Question[Page[T]]) -> Iterator[T]:
    """Give all that a question lists, page by page."""
    while True:
        page = link.ask(question)
        yield from page.items
        if page.next is None:
            return
        question = msgspec.structs.replace(question, after=page.next)


def send_own(link: Link, event: bytes) -> None:
    """Send an event that this code made itself: it is taken, or something is wrong with the code."""
    for said in link.send([event]):
        raise RefusedEvent(said)
