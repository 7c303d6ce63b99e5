"""Event sources that are polled, and the report of a poll."""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from bridge.store.event_log import IncomingEvent, RejectedInput
from mappers.errors import TransientError


class IntakeReport(NamedTuple):
    """What became of what was taken, how many bytes were taken before, and what could not be read to its end."""

    accepted: int = 0
    rejected: int = 0
    unmerged: int = 0
    resumed_at: int = 0
    unreadable: tuple[str, ...] = ()

    @classmethod
    def of(cls, items: Sequence[IncomingEvent | RejectedInput]) -> "IntakeReport":
        """Count what was taken."""
        rejected = sum(isinstance(item, RejectedInput) for item in items)
        unmerged = sum(isinstance(item, IncomingEvent) and item.failure is not None for item in items)
        return cls(len(items) - rejected, rejected, unmerged)

    def add(self, other: "IntakeReport") -> "IntakeReport":
        """Add two reports up."""
        return IntakeReport(
            self.accepted + other.accepted,
            self.rejected + other.rejected,
            self.unmerged + other.unmerged,
            self.resumed_at + other.resumed_at,
            self.unreadable + other.unreadable,
        )


class EventSource(Protocol):
    """Something that events are taken from, again and again.

    What is taken is stored together with how far it was read, or before that: who dies takes some of it again, which
    does no harm, and loses nothing. What is no event is stored with the reason.
    """

    def poll(self) -> IntakeReport:
        """Take what is new; raises a TransientError when it does not answer, and goes on from there the next time."""

    def close(self) -> None:
        """Let go of it."""


def poll_until_stopped(
    source: EventSource,
    every_seconds: float,
    told: Callable[[IntakeReport], None],
    failed: Callable[[TransientError], None],
    stopped: threading.Event,
) -> None:
    """Take what is new, and what does not answer later; each time it is told what came of it."""
    while not stopped.is_set():
        try:
            told(source.poll())
        except TransientError as error:
            failed(error)
        stopped.wait(every_seconds)
