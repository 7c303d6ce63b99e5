"""What the reconciler needs of a target, whichever system it is."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import NamedTuple, Protocol

from bridge.sync.edge_states import EdgeState
from bridge.sync.item import Failed, Item, Remote, Settled

#: An item by its kind and key.
Wanted = tuple[str, bytes]


class Pushed(NamedTuple):
    """What became of a batch: of each item, of edges, and which items are to be looked at because of it."""

    results: list[Settled | Failed]
    marked: AbstractSet[Wanted] = frozenset()
    edges: Sequence[EdgeState] = ()
    edges_gone: Sequence[EdgeState] = ()
    #: Items whose things are gone from the target, or not as they should be.
    doubtful: AbstractSet[Wanted] = frozenset()
    #: Entities of ours that nothing stands for any more.
    left: Sequence[Remote] = ()


class Step(NamedTuple):
    """One step of a plan: what would be done to what, and why."""

    action: str
    kind: str
    name: str
    reason: str | None = None


class Difference(NamedTuple):
    """Something in a target that is not as it was left: an item, or an edge into one."""

    kind: str
    key: bytes
    name: str
    what: str


class Compared(NamedTuple):
    """A bit of a comparison: how much of a kind was looked at, and what was not as it was left."""

    kind: str
    looked_at: int
    differences: Sequence[Difference]


class Owed(NamedTuple):
    """A bit of what a target shall have, of one kind: how much, and how much of it was not told as it is now."""

    kind: str
    wanted: int
    lacking: int


class TargetSettings(NamedTuple):
    """Which system it is, and by which rules it is kept: where they change, everything is looked at anew."""

    url: str
    rules: str


class Meant(NamedTuple):
    """Which items marks mean, and where jobs are shown that were shown elsewhere, in a hash each."""

    items: set[Wanted]
    folds: Mapping[bytes, bytes] = MappingProxyType({})


class Meaning(Protocol):
    """What marks mean for a target."""

    def of(self, marks: Mapping[str, set[bytes]]) -> Meant:
        """Say which items marks mean, given by their kinds."""


class Target(Protocol):
    """A system that is kept like the store."""

    name: str
    settings: TargetSettings
    #: The kinds of items it takes, those first that others need, and how many at once.
    kinds: dict[str, int]
    #: The kinds that take long: of each there is one lot a round, for what came in meanwhile is next.
    slow: AbstractSet[str]
    #: The kinds of what a comparison reads.
    compared: AbstractSet[str]
    #: What marks of changes mean for it.
    meaning: Meaning

    def prepare(self) -> None:
        """Make ready in the store what pushing needs there."""

    def probe(self) -> None:
        """Ask whether the target answers; raises a TransientError when it does not."""

    def push(self, kind: str, items: Sequence[Item]) -> Pushed:
        """Make the target say what the store says of items; what fails is told of each."""

    def plan(self, items: Sequence[Item]) -> list[Step]:
        """Say what pushing items would do, and do nothing."""

    def owed(self) -> Iterator[Owed]:
        """Count what the store says that shall be there, bit by bit, without asking the target."""

    def compare(self) -> Iterator[Compared]:
        """Compare everything that is there with what was left there, bit by bit; changes nothing."""

    def close(self) -> None:
        """Close the connections."""
