"""Event sources that are polled, and the report of a poll."""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from bridge.store.event_log import IncomingEvent, RejectedInput
from mappers.errors import TransientError


class IntakeReport(NamedTuple):
    """Counts of an intake, the bytes that were ingested before, and inputs that could not be read to their end."""

    accepted: int = 0
    rejected: int = 0
    unmerged: int = 0
    resumed_at: int = 0
    unreadable: tuple[str, ...] = ()

    @classmethod
    def of(cls, items: Sequence[IncomingEvent | RejectedInput]) -> "IntakeReport":
        rejected = sum(isinstance(item, RejectedInput) for item in items)
        unmerged = sum(isinstance(item, IncomingEvent) and item.failure is not None for item in items)
        return cls(len(items) - rejected, rejected, unmerged)

    def add(self, other: "IntakeReport") -> "IntakeReport":
        return IntakeReport(
            self.accepted + other.accepted,
            self.rejected + other.rejected,
            self.unmerged + other.unmerged,
            self.resumed_at + other.resumed_at,
            self.unreadable + other.unreadable,
        )


class EventSource(Protocol):
    """A source of events that is polled.

    Items are stored together with the position of the source, or before it: after a crash some are read again, which
    does no harm, and none is lost. Invalid input is stored with the reason.
    """

    def poll(self) -> IntakeReport:
        """Ingest new input.

        Raises a TransientError when the source does not respond; the next poll continues from there.
        """

    def close(self) -> None: ...


def poll_until_stopped(
    source: EventSource,
    every_seconds: float,
    on_report: Callable[[IntakeReport], None],
    on_error: Callable[[TransientError], None],
    stopped: threading.Event,
) -> None:
    """Poll a source until stopped; each poll ends with a report or an error."""
    while not stopped.is_set():
        try:
            on_report(source.poll())
        except TransientError as error:
            on_error(error)
        stopped.wait(every_seconds)
