"""Where in an event a dataset stands, which decides what is said about it and how much it weighs."""

from enum import Enum
from typing import NamedTuple

from mappers.canonical.order import Rank


class Side(Enum):
    """How an event names a dataset."""

    INPUT = "input"
    OUTPUT = "output"
    DECLARED = "declared"
    ITSELF = "itself"

    @property
    def rank(self) -> Rank:
        """Give the weight of what is said in this place."""
        return _RANKS[self]


_RANKS = {
    Side.INPUT: Rank.INPUT,
    Side.OUTPUT: Rank.OUTPUT,
    Side.DECLARED: Rank.JOB_EVENT,
    Side.ITSELF: Rank.OUTPUT,
}


class Place(NamedTuple):
    """Whose run, whose job, which side."""

    side: Side
    run: bytes
    run_uuid: str
    job: bytes
