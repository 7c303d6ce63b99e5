"""Chooses the location of an entity among its candidates; never guesses."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.desired_entities import DesiredEntity, EntityCandidate
from bridge.sync.openmetadata.entity_lookup import EntityLookup
from bridge.sync.openmetadata.parents import ParentEntities
from bridge.sync.request_pool import RequestPool
from bridge.sync.sync_item import ABANDONED, UNRESOLVED_RETRY_US, Completed, Failure, Outcome, RemoteReference
from mappers.errors import LineageBridgeError


class ResolvedEntity(NamedTuple):
    """A wanted entity at the place where it lies, or shall lie."""

    wanted: DesiredEntity
    choice: EntityCandidate
    existing: RemoteReference | None
    #: Whether it was made by us for another name of the same thing, or is still to be removed.
    reused: bool = False

    @property
    def may_change(self) -> bool:
        """Whether we may change it: it is not there yet, we made it, or all in its service is ours."""
        item, there = self.wanted.item, self.existing
        if there is None or self.choice.in_own_service or self.reused:
            return True
        made = item.created_by_us and item.remote is not None and item.remote.id == there.id
        return made or item.record.get("making") == there.name  # or we began to, and nobody came back to tell

    def failed(self, error: LineageBridgeError, request: Any = None) -> Failure:
        """Tell that it could not be pushed."""
        return Failure(self.wanted.item, error, request or self.choice.own.body, self.wanted.fingerprint)


def completed_unless_changed(wanted: DesiredEntity, now: int) -> Completed | None:
    """Settle what is as it was when it was last pushed, refused or not found; None when it must be looked at."""
    item = wanted.item
    if item.fingerprint != wanted.fingerprint:
        return None
    if item.outcome in (Outcome.PUSHED, Outcome.UNCHANGED) and item.remote is not None:
        return item.complete(Outcome.UNCHANGED, item.reason)
    if item.outcome in ABANDONED:
        return item.complete(Outcome(item.outcome), item.reason)
    lately = item.completed_at is not None and now < item.completed_at + UNRESOLVED_RETRY_US
    if item.outcome == Outcome.UNRESOLVED and lately:
        return item.complete(Outcome.UNRESOLVED, item.reason)
    return None


class EntityResolver:
    """Chooses among the places that an entity may lie at. Not for several threads at once."""

    def __init__(
        self, directory: EntityLookup, parents: ParentEntities, items: SyncItemStore, workers: RequestPool
    ) -> None:
        self._workers = workers
        self._directory = directory
        self._parents = parents
        self._items = items

    def resolve(self, wanted: Sequence[DesiredEntity]) -> list[ResolvedEntity | Completed | Failure]:
        """Find where each lies; one that may lie at several places is settled as unresolved."""
        names: dict[str, set[str]] = {}
        for one in wanted:
            for choice in one.choices:
                names.setdefault(choice.collection, set()).add(choice.own.fqn)
        try:
            there = {collection: self._directory.find(collection, fqns) for collection, fqns in names.items()}
            return [self._choose(one, there) for one in wanted]
        except LineageBridgeError as error:
            meant = self._workers.record_failure(error)
            return [Failure(one.item, meant, fingerprint=one.fingerprint) for one in wanted]

    def _choose(
        self, wanted: DesiredEntity, there: dict[str, dict[str, RemoteReference]]
    ) -> ResolvedEntity | Completed:
        """Take the preferred place if it is there, else the only one that others made, else the preferred one.

        What we made at another place, before its names became one, is no reason to lie there.
        """
        preferred = wanted.preferred
        found = self._found(wanted, there)
        exact = there[preferred.collection].get(preferred.own.fqn)
        if exact is not None:
            return ResolvedEntity(wanted, preferred, exact, self._is_of_us(wanted, exact))
        theirs = {id_: one for id_, one in found.items() if not self._is_of_us(wanted, one[1])}
        if len(theirs) > 1:
            names = ", ".join(sorted(remote.name for _, remote in theirs.values()))
            said = f"several entities may be meant: {names}. Map its namespace so that one is left"
            return wanted.unresolved(said)
        for choice, remote in theirs.values():
            return ResolvedEntity(wanted, choice, remote)
        refusals = [
            (choice, self._parents.creation_blocked_by(choice.parents, choice.own.fqn)) for choice in wanted.choices
        ]
        allowed = next((choice for choice, refused in refusals if refused is None), None)
        if allowed is None:
            return wanted.unresolved(str(refusals[0][1]))
        ours = next((remote for choice, remote in found.values() if choice is allowed), None)
        return ResolvedEntity(wanted, allowed, ours, reused=ours is not None)

    def _is_of_us(self, wanted: DesiredEntity, there: RemoteReference) -> bool:
        """Tell whether we made an entity for any of the names of a thing, and took it back at most."""
        standing = self._items.find_by_remote_id(there.id)
        if any(item.created_by_us and item.key in wanted.members for item in standing) or self._items.find_deletion(
            there.id
        ):
            return True
        begun = self._items.get(wanted.item.kind, wanted.members)
        return any(item.record.get("making") == there.name for item in begun.values())

    def _found(
        self, wanted: DesiredEntity, there: dict[str, dict[str, RemoteReference]]
    ) -> dict[str, tuple[EntityCandidate, RemoteReference]]:
        """Give by their ids the entities at these places; of names in any case, those that are alike."""
        found: dict[str, tuple[EntityCandidate, RemoteReference]] = {}
        for choice in wanted.choices:
            exact = there[choice.collection].get(choice.own.fqn)
            if exact is not None:
                found[exact.id] = (choice, exact)
            elif choice.case_insensitive and not choice.in_own_service:
                alike = self._directory.find_ignoring_case(choice.collection, choice.own.fqn)
                found.update((one.id, (choice, one)) for one in alike)
        return found
