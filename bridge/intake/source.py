"""Event sources that are polled, and the report of a poll."""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from bridge.store.event_log import IncomingEvent, RejectedInput
from mappers.errors import TransientError


class IntakeReport(NamedTuple):
    """Counts of inputs, bytes skipped as already ingested, and errors of inputs that were not read completely."""

    accepted: int = 0
    rejected: int = 0
    unmerged: int = 0
    resumed_at: int = 0
    unreadable: tuple[str, ...] = ()

    @classmethod
    def of(cls, items: Sequence[IncomingEvent | RejectedInput]) -> "IntakeReport":
        rejected_count = sum(isinstance(item, RejectedInput) for item in items)
        unmerged_count = sum(isinstance(item, IncomingEvent) and item.failure is not None for item in items)
        return cls(len(items) - rejected_count, rejected_count, unmerged_count)

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

    The position of the source is stored with or after its items. A crash therefore loses no items; some may be read
    again, which is harmless. Invalid input is stored with the reason.
    """

    def poll(self) -> IntakeReport:
        """Ingest new input.

        Raises a TransientError if the source does not respond; the next poll continues at the same position.
        """

    def close(self) -> None: ...


def poll_until_stopped(
    source: EventSource,
    every_seconds: float,
    on_report: Callable[[IntakeReport], None],
    on_error: Callable[[TransientError], None],
    stopped: threading.Event,
) -> None:
    """Poll a source until stopped. Each poll ends with a report or an error."""
    while not stopped.is_set():
        try:
            on_report(source.poll())
        except TransientError as error:
            on_error(error)
        stopped.wait(every_seconds)
