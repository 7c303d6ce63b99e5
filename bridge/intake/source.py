"""What every connector is that events are taken from."""

from typing import NamedTuple, Protocol


class Report(NamedTuple):
    """What became of what was taken, how many bytes were taken before, and what could not be read to its end."""

    accepted: int = 0
    rejected: int = 0
    unmerged: int = 0
    resumed_at: int = 0
    unreadable: tuple[str, ...] = ()

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
