"""Chooses the location of an entity among its candidates; ambiguous entities stay unresolved."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bridge.sync.context import RequestPool
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.desired_entities import DesiredEntity, EntityCandidate, EntityRecord
from bridge.sync.openmetadata.entity_lookup import EntityLookup, FoundEntity
from bridge.sync.openmetadata.parents import ParentEntities
from bridge.sync.sync_item import ABANDONED, UNRESOLVED_RETRY_US, Completed, Failure, Outcome, RemoteReference
from mappers.errors import LineageBridgeError


class ResolvedEntity(NamedTuple):
    """A desired entity and the location that was chosen for it."""

    desired: DesiredEntity
    candidate: EntityCandidate
    existing: RemoteReference | None
    #: Whether it is soft-deleted: it must be restored before an update, because a PUT would replace it.
    is_deleted: bool = False
    #: Whether this bridge created it for an alias of the same dataset, or was about to delete it.
    reused: bool = False

    @property
    def may_change(self) -> bool:
        """True if we may write the entity: it is new, was created by us, or is in our own service."""
        item, existing = self.desired.item, self.existing
        if existing is None or self.candidate.in_own_service or self.reused:
            return True
        created_by_us = item.created_by_us and item.remote is not None and item.remote.id == existing.id
        may_have_created = item.read_record(EntityRecord).creating == existing.name
        return created_by_us or may_have_created

    def failure(self, error: LineageBridgeError, request: Any = None) -> Failure:
        return Failure(self.desired.item, error, request or self.candidate.own.body, self.desired.fingerprint)


def completed_unless_changed(desired: DesiredEntity, now: int) -> Completed | None:
    """Complete an item if its desired state equals the last pushed, rejected or unresolved state; otherwise None."""
    item = desired.item
    if item.fingerprint != desired.fingerprint:
        return None
    if item.outcome in (Outcome.PUSHED, Outcome.UNCHANGED) and item.remote is not None:
        return item.complete(Outcome.UNCHANGED, item.reason)
    if item.outcome in ABANDONED:
        return item.complete(Outcome(item.outcome), item.reason)
    is_recent = item.completed_at is not None and now < item.completed_at + UNRESOLVED_RETRY_US
    if item.outcome == Outcome.UNRESOLVED and is_recent:
        return item.complete(Outcome.UNRESOLVED, item.reason)
    return None


class EntityResolver:
    """Chooses among the candidate locations of entities. Not thread-safe."""

    def __init__(
        self, lookup: EntityLookup, parents: ParentEntities, items: SyncItemStore, requests: RequestPool
    ) -> None:
        self._requests = requests
        self._lookup = lookup
        self._parents = parents
        self._items = items

    def resolve(self, desired_entities: Sequence[DesiredEntity]) -> list[ResolvedEntity | Completed | Failure]:
        """Choose a location for each entity; ambiguous ones complete as unresolved."""
        self._parents.start_batch()
        names: dict[str, set[str]] = {}
        for desired in desired_entities:
            for candidate in desired.candidates:
                names.setdefault(candidate.collection, set()).add(candidate.own.fqn)
        try:
            found = {collection: self._lookup.find_all(collection, fqns) for collection, fqns in names.items()}
            return [self._choose(desired, found) for desired in desired_entities]
        except LineageBridgeError as error:
            reported = self._requests.record_failure(error)
            return [Failure(desired.item, reported, fingerprint=desired.fingerprint) for desired in desired_entities]

    def _choose(self, desired: DesiredEntity, found: dict[str, dict[str, FoundEntity]]) -> ResolvedEntity | Completed:
        """Choose the preferred location unless exactly one foreign entity exists at another location.

        Entities that this bridge created under other names of the dataset do not count as foreign.
        """
        preferred = desired.preferred
        existing = self._existing_candidates(desired, found)
        exact = found[preferred.collection].get(preferred.own.fqn)
        if exact is not None and not exact.deleted:
            remote = exact.remote(preferred.collection, preferred.own.fqn)
            return ResolvedEntity(desired, preferred, remote, reused=self._created_by_us(desired, remote))
        foreign = {
            id_: (candidate, remote)
            for id_, (candidate, remote) in existing.items()
            if not self._created_by_us(desired, remote)
        }
        if len(foreign) > 1:
            names = ", ".join(sorted(remote.name for _, remote in foreign.values()))
            reason = f"several entities match: {names}. Map the namespace so that only one remains"
            return desired.unresolved(reason)
        for candidate, remote in foreign.values():
            return ResolvedEntity(desired, candidate, remote)
        block_reasons = [
            self._parents.creation_blocked_by(candidate.parents, candidate.own.fqn)
            for candidate in desired.candidates
        ]
        if None not in block_reasons:
            return desired.unresolved(str(block_reasons[0]))
        allowed = desired.candidates[block_reasons.index(None)]
        own = next((remote for candidate, remote in existing.values() if candidate is allowed), None)
        if own is not None:
            return ResolvedEntity(desired, allowed, own, reused=True)
        deleted = found[allowed.collection].get(allowed.own.fqn)
        return ResolvedEntity(desired, allowed, None) if deleted is None else self._restore(desired, allowed, deleted)

    def _restore(
        self, desired: DesiredEntity, candidate: EntityCandidate, deleted: FoundEntity
    ) -> ResolvedEntity | Completed:
        """Restore a soft-deleted entity if it belongs to this bridge; otherwise its owner has to restore it."""
        name = candidate.own.fqn
        remote = deleted.remote(candidate.collection, name)
        if candidate.in_own_service or self._created_by_us(desired, remote):
            return ResolvedEntity(desired, candidate, remote, is_deleted=True, reused=True)
        return desired.unresolved(deleted.describe_deletion(name))._replace(remote=None)

    def _created_by_us(self, desired: DesiredEntity, remote: RemoteReference) -> bool:
        """True if this bridge created the remote entity for any name of the dataset, even if it deletes it now."""
        items = self._items.find_by_remote_id(remote.id)
        keys = {desired.item.key, *desired.member_keys}
        if any(item.created_by_us and item.key in keys for item in items) or self._items.find_deletion(remote.id):
            return True
        dataset_items = self._items.get(desired.item.kind, keys)
        return any(item.read_record(EntityRecord).creating == remote.name for item in dataset_items.values())

    def _existing_candidates(
        self, desired: DesiredEntity, found: dict[str, dict[str, FoundEntity]]
    ) -> dict[str, tuple[EntityCandidate, RemoteReference]]:
        """Return live entities at the candidate locations, by id; ignores case if the source system does."""
        candidates: dict[str, tuple[EntityCandidate, RemoteReference]] = {}
        for candidate in desired.candidates:
            exact = found[candidate.collection].get(candidate.own.fqn)
            if exact is not None and not exact.deleted:
                candidates[exact.id] = (candidate, exact.remote(candidate.collection, candidate.own.fqn))
            elif candidate.case_insensitive and not candidate.in_own_service:
                matches = self._lookup.find_ignoring_case(candidate.collection, candidate.own.fqn)
                candidates.update((match.id, (candidate, match)) for match in matches)
        return candidates
