"""What every connector is that events are taken from."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from bridge.store.writer import Incoming, Rejected


class Report(NamedTuple):
    """What became of what was taken, how many bytes were taken before, and what could not be read to its end."""

    accepted: int = 0
    rejected: int = 0
    unmerged: int = 0
    resumed_at: int = 0
    unreadable: tuple[str, ...] = ()

    @classmethod
    def of(cls, items: Sequence[Incoming | Rejected]) -> "Report":
        """Count what was taken."""
        rejected = sum(isinstance(item, Rejected) for item in items)
        unmerged = sum(isinstance(item, Incoming) and item.failure is not None for item in items)
        return cls(len(items) - rejected, rejected, unmerged)

    def plus(self, other: "Report") -> "Report":
        """Add two reports up."""
        return Report(
            self.accepted + other.accepted,
            self.rejected + other.rejected,
            self.unmerged + other.unmerged,
            self.resumed_at + other.resumed_at,
            self.unreadable + other.unreadable,
        )


class Source(Protocol):
    """Something that events are taken from, again and again.

    What is taken is stored together with how far it was read, or before that: who dies takes some of it again, which
    does no harm, and loses nothing. What is no event is stored with the reason.
    """

    def once(self) -> Report:
        """Take what is new; raises a TransientError when it does not answer, and goes on from there the next time."""

    def close(self) -> None:
        """Let go of it."""
