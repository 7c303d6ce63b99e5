"""What entities shall be, before it is known what there is."""

from typing import NamedTuple

from bridge.sync.item import Item, Outcome, Settled
from mappers.openmetadata.requests import Request


class Choice(NamedTuple):
    """One place where an entity may lie, with all that makes it stand there."""

    parents: tuple[Request, ...]
    own: Request
    #: Whether it lies in the service where everything is ours.
    is_home: bool
    #: Whether its system takes names in any case for the same.
    caseless: bool = False

    @property
    def collection(self) -> str:
        """Name the kind of entity."""
        return self.own.collection


class Wanted(NamedTuple):
    """An entity that shall be there, at the first of these places unless it is found at another."""

    item: Item
    choices: tuple[Choice, ...]
    fingerprint: bytes
    #: Names of columns that could not be taken, and what else is to be told of it.
    notes: tuple[str, ...] = ()
    #: The keys of items that are this thing, or were before they became one.
    members: frozenset[bytes] = frozenset()

    @property
    def first(self) -> Choice:
        """Give the place that is preferred."""
        return self.choices[0]

    def unresolved(self, reason: str) -> Settled:
        """Settle it as one that has no place, or several."""
        return self.item.linked(Outcome.UNRESOLVED, reason, fingerprint=self.fingerprint)
