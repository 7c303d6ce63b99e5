"""Finds where entities lie, or shall lie: never by a guess."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bridge.sync.item import GIVEN_UP, UNRESOLVED_FOR, Failed, Outcome, Remote, Settled
from bridge.sync.items import Items
from bridge.sync.openmetadata.directory import Directory
from bridge.sync.openmetadata.parents import Parents
from bridge.sync.openmetadata.wanted import Choice, Wanted
from bridge.sync.workers import Workers
from mappers.errors import LineageBridgeError


class Resolved(NamedTuple):
    """A wanted entity at the place where it lies, or shall lie."""

    wanted: Wanted
    choice: Choice
    there: Remote | None
    #: Whether it was made by us for another name of the same thing, or is still to be removed.
    adopted: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether we may change it: it is not there yet, we made it, or all in its service is ours."""
        item, there = self.wanted.item, self.there
        if there is None or self.choice.is_home or self.adopted:
            return True
        made = item.ours and item.remote is not None and item.remote.id == there.id
        return made or item.detail.get("making") == there.name  # or we began to, and nobody came back to tell

    def failed(self, error: LineageBridgeError, request: Any = None) -> Failed:
        """Tell that it could not be pushed."""
        return Failed(self.wanted.item, error, request or self.choice.own.body, self.wanted.fingerprint)


def known(wanted: Wanted, now: int) -> Settled | None:
    """Settle what is as it was when it was last pushed, refused or not found; None when it must be looked at."""
    item = wanted.item
    if item.fingerprint != wanted.fingerprint:
        return None
    if item.outcome in (Outcome.PUSHED, Outcome.UNCHANGED) and item.remote is not None:
        return item.linked(Outcome.UNCHANGED, item.reason)
    if item.outcome in GIVEN_UP:
        return item.linked(Outcome(item.outcome), item.reason)
    lately = item.settled_at is not None and now < item.settled_at + UNRESOLVED_FOR
    if item.outcome == Outcome.UNRESOLVED and lately:
        return item.linked(Outcome.UNRESOLVED, item.reason)
    return None


class Resolver:
    """Chooses among the places that an entity may lie at. Not for several threads at once."""

    def __init__(self, directory: Directory, parents: Parents, items: Items, workers: Workers) -> None:
        self._workers = workers
        self._directory = directory
        self._parents = parents
        self._items = items

    def resolve(self, wanted: Sequence[Wanted]) -> list[Resolved | Settled | Failed]:
        """Find where each lies; one that may lie at several places is settled as unresolved."""
        names: dict[str, set[str]] = {}
        for one in wanted:
            for choice in one.choices:
                names.setdefault(choice.collection, set()).add(choice.own.fqn)
        try:
            there = {collection: self._directory.find(collection, fqns) for collection, fqns in names.items()}
            return [self._choose(one, there) for one in wanted]
        except LineageBridgeError as error:
            meant = self._workers.failed(error)
            return [Failed(one.item, meant, fingerprint=one.fingerprint) for one in wanted]

    def _choose(self, wanted: Wanted, there: dict[str, dict[str, Remote]]) -> Resolved | Settled:
        """Take the preferred place if it is there, else the only one that others made, else the preferred one.

        What we made at another place, before its names became one, is no reason to lie there.
        """
        preferred = wanted.first
        found = self._found(wanted, there)
        exact = there[preferred.collection].get(preferred.own.fqn)
        if exact is not None:
            return Resolved(wanted, preferred, exact, self._is_of_us(wanted, exact))
        theirs = {id_: one for id_, one in found.items() if not self._is_of_us(wanted, one[1])}
        if len(theirs) > 1:
            names = ", ".join(sorted(remote.name for _, remote in theirs.values()))
            said = f"several entities may be meant: {names}. Map its namespace so that one is left"
            return wanted.unresolved(said)
        for choice, remote in theirs.values():
            return Resolved(wanted, choice, remote)
        refusals = [(choice, self._parents.refused(choice.parents, choice.own.fqn)) for choice in wanted.choices]
        allowed = next((choice for choice, refused in refusals if refused is None), None)
        if allowed is None:
            return wanted.unresolved(str(refusals[0][1]))
        ours = next((remote for choice, remote in found.values() if choice is allowed), None)
        return Resolved(wanted, allowed, ours, adopted=ours is not None)

    def _is_of_us(self, wanted: Wanted, there: Remote) -> bool:
        """Tell whether we made an entity for any of the names of a thing, and took it back at most."""
        standing = self._items.of_remote(there.id)
        if any(item.ours and item.key in wanted.members for item in standing) or self._items.removal(there.id):
            return True
        begun = self._items.of(wanted.item.kind, wanted.members)
        return any(item.detail.get("making") == there.name for item in begun.values())

    def _found(self, wanted: Wanted, there: dict[str, dict[str, Remote]]) -> dict[str, tuple[Choice, Remote]]:
        """Give by their ids the entities at these places; of names in any case, those that are alike."""
        found: dict[str, tuple[Choice, Remote]] = {}
        for choice in wanted.choices:
            exact = there[choice.collection].get(choice.own.fqn)
            if exact is not None:
                found[exact.id] = (choice, exact)
            elif choice.caseless and not choice.is_home:
                alike = self._directory.find_alike(choice.collection, choice.own.fqn)
                found.update((one.id, (choice, one)) for one in alike)
        return found
