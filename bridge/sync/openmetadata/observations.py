"""Pushes observations: run statuses, test results and profiles, which an entity has at points in time."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from bridge.sync.context import split_plan
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.context import OpenMetadataContext, parents_to_verify
from bridge.sync.sync_item import (
    Completed,
    Failure,
    ItemRecord,
    RemoteReference,
    SyncItem,
    all_failed,
    fingerprint,
    pushed,
)
from bridge.sync.target import BatchResult
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError

#: Maximum number of previous locations in a record.
_MAX_PREVIOUS = 10
#: Fingerprint of items that need no observation. Without a fingerprint, the content of the server is unknown.
_NO_OBSERVATION = fingerprint("untold")


class ObservationLocation(NamedTuple):
    """Where an observation is stored: entity name and id, and a time in milliseconds."""

    entity: str
    id: str
    timestamp: int

    @classmethod
    def of(cls, remote: RemoteReference) -> "ObservationLocation":
        entity_id, _, timestamp = remote.id.rpartition("/")
        return cls(remote.name, entity_id, int(timestamp))


class ObservationRecord(ItemRecord, frozen=True):
    """Locations of an observation other than its current one."""

    #: Locations that a push may have written.
    attempted: tuple[ObservationLocation, ...] = msgspec.field(default=(), name="begun")
    #: Earlier locations, which a restored backup may contain again.
    previous: tuple[ObservationLocation, ...] = msgspec.field(default=(), name="was")


class Observation(NamedTuple):
    """An observation that an entity should have; the time is in milliseconds."""

    entity: RemoteReference
    #: Key of the entity's item.
    entity_key: bytes
    at: int
    #: Builds the body for a timestamp; an entity has one observation per timestamp.
    build_body: Callable[[int], JsonObject]
    #: Content without the timestamp; if None, a change of the timestamp counts as a change of the content.
    content: Any = None

    def fingerprint(self, body: JsonObject) -> bytes:
        return fingerprint([self.entity, body] if self.content is None else self.content)


class _Retraction(NamedTuple):
    """An item that should have no observation, and the locations where one may exist."""

    completed: Completed
    locations: list[ObservationLocation]


class DesiredObservation(NamedTuple):
    """An observation at the timestamp under which it is pushed."""

    item: SyncItem
    observation: Observation
    type: str
    timestamp: int
    request: JsonObject
    fingerprint: bytes
    #: Other locations of the same item, to delete first.
    stale: Sequence[ObservationLocation] = ()

    @property
    def entity(self) -> RemoteReference:
        return self.observation.entity

    @property
    def location(self) -> ObservationLocation:
        return ObservationLocation(self.entity.name, self.entity.id, self.timestamp)

    @property
    def remote(self) -> RemoteReference:
        return RemoteReference(self.type, f"{self.entity.id}/{self.timestamp}", self.entity.name)

    def move_to(self, timestamp: int) -> "DesiredObservation":
        body = self.observation.build_body(timestamp)
        return self._replace(timestamp=timestamp, request=body, fingerprint=self.observation.fingerprint(body))


class ObservationPusher(ABC):
    """Pushes observations of one kind. Not thread-safe."""

    #: Kind of the items, and kind of the items of their entities.
    kind: str
    entity_kind: str
    type: str
    #: Observations per request; those of one entity are sent in order.
    batch_size: int

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx

    @abstractmethod
    def read_observations(self, items: Sequence[SyncItem]) -> list[Observation | Completed]:
        """Read the observation of each item, or complete the item with the reason for its absence."""

    @abstractmethod
    def read_remote(self, entity: str, start: int, end: int) -> list[JsonObject] | None:
        """Read the observations of an entity between two times; None if the entity does not exist."""

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        results, desired = split_plan(self._plan(items))
        results = self._retract_absent(results)
        self._ctx.items.record_intent((entry.item, self._record_with_attempt(entry)) for entry in desired)
        sent = self._ctx.requests.map(self._send_batch, self._batches(desired), all_failed)
        results += [result for batch_results in sent for result in batch_results]
        entity_keys = {entry.item.key: entry.observation.entity_key for entry in desired}
        return BatchResult(results, to_verify=parents_to_verify(self.entity_kind, results, entity_keys))

    def expected_bodies(self, items: Sequence[SyncItem]) -> dict[bytes, JsonObject]:
        """Return bodies of pushed observations, unless their content has changed since the push."""
        bodies: dict[bytes, JsonObject] = {}
        for item, observation in zip(items, self.read_observations(items), strict=True):
            if isinstance(observation, Observation) and item.remote is not None:
                body = observation.build_body(ObservationLocation.of(item.remote).timestamp)
                if item.fingerprint == observation.fingerprint(body):
                    bodies[item.key] = self._comparable(body)
        return bodies

    def _comparable(self, body: JsonObject) -> JsonObject:
        """Return the part of a body that the server returns unchanged."""
        return body

    def _plan(self, items: Sequence[SyncItem]) -> list[DesiredObservation | Completed]:
        """Return the desired observation of each item at its own timestamp, or a completed item."""
        observations = zip(items, self.read_observations(items), strict=True)
        by_time = sorted(observations, key=_time_and_key)
        used_ids: set[str] = set()
        planned: list[DesiredObservation | Completed] = []
        for item, observation in by_time:
            if isinstance(observation, Completed):
                planned.append(observation)
                continue
            timestamp = self._timestamp(item, observation, used_ids)
            body = observation.build_body(timestamp)
            desired = DesiredObservation(item, observation, self.type, timestamp, body, observation.fingerprint(body))
            used_ids.add(desired.remote.id)
            unchanged = item.complete_if_unchanged(desired.fingerprint)
            planned.append(unchanged or desired._replace(stale=self._stale_locations(desired)))
        return planned

    def _stale_locations(self, desired: DesiredObservation) -> Sequence[ObservationLocation]:  # noqa: ARG002
        """Return locations to delete before an observation is pushed; by default, none can be deleted."""
        return ()

    def _timestamp(self, item: SyncItem, observation: Observation, used_ids: set[str]) -> int:
        """Return the first timestamp, at or after the time of an observation, that no other item occupies."""
        timestamp = observation.at
        while not self._is_free(item, f"{observation.entity.id}/{timestamp}", used_ids):
            timestamp += 1
        return timestamp

    def _is_free(self, item: SyncItem, remote_id: str, used_ids: set[str]) -> bool:
        occupants = self._ctx.items.find_by_remote_id(remote_id)
        return remote_id not in used_ids and all(occupant.key == item.key for occupant in occupants)

    def _retract_absent(self, results: list[Completed | Failure]) -> list[Completed | Failure]:
        """Delete the pushed observations of items that should no longer have one."""
        retractions: list[_Retraction] = []
        others: list[Completed | Failure] = []
        for result in results:
            if isinstance(result, Completed) and self._is_retracted(result):
                retractions.append(_Retraction(result, stale_locations(self._ctx.items, result.item, None)))
            else:
                others.append(result)
        return others + self._ctx.requests.map(self._retract, retractions, _retraction_failed)

    def _is_retracted(self, completed: Completed) -> bool:  # noqa: ARG002
        """Decide whether to delete the pushed observation of an item that has none now; by default, it is kept."""
        return False

    def _retract(self, retraction: _Retraction) -> Completed | Failure:
        completed, locations = retraction
        for location in locations:
            self._delete(location)
        return completed._replace(
            remote=None, fingerprint=_NO_OBSERVATION, record=record_of_previous(completed.item, None)
        )

    @abstractmethod
    def _delete(self, location: ObservationLocation) -> None:
        """Delete the observation at a location, if there is one."""

    def _record_with_attempt(self, desired: DesiredObservation) -> ItemRecord:
        """Return the record of an item, extended by the location that is about to be written."""
        record = desired.item.read_record(ObservationRecord)
        attempted = tuple(dict.fromkeys([*record.attempted, desired.location]))
        return ObservationRecord(attempted, record.previous)

    def _batches(self, desired: Sequence[DesiredObservation]) -> Iterator[list[DesiredObservation]]:
        """Split observations into batches, each for a single entity."""
        by_entity: dict[str, list[DesiredObservation]] = {}
        for entry in desired:
            by_entity.setdefault(entry.entity.name, []).append(entry)
        for group in by_entity.values():
            yield from (group[i : i + self.batch_size] for i in range(0, len(group), self.batch_size))

    @abstractmethod
    def _send_batch(self, batch: Sequence[DesiredObservation]) -> list[Completed | Failure]:
        """Push the observations of one entity."""


def _retraction_failed(retraction: _Retraction, error: LineageBridgeError) -> Completed | Failure:
    return Failure(retraction.completed.item, error)


def _time_and_key(entry: tuple[SyncItem, Observation | Completed]) -> tuple[int, bytes]:
    item, observation = entry
    return observation.at if isinstance(observation, Observation) else 0, item.key


def pushed_observation(desired: DesiredObservation) -> Completed:
    """Complete an item with the location at which its observation was pushed."""
    return pushed(desired, desired.remote, record=record_of_previous(desired.item, desired.location))


def record_of_previous(item: SyncItem, current: ObservationLocation | None) -> ObservationRecord:
    """Return a record of all locations except the current one; a restored backup may contain them again."""
    record = item.read_record(ObservationRecord)
    recorded = [ObservationLocation.of(item.remote)] if item.remote else []
    locations = dict.fromkeys([*record.previous, *recorded, *record.attempted])
    return ObservationRecord(
        previous=tuple(location for location in locations if location != current)[-_MAX_PREVIOUS:]
    )


def stale_locations(
    items: SyncItemStore, item: SyncItem, current: ObservationLocation | None, *, with_current: bool = False
) -> list[ObservationLocation]:
    """Return locations that an item may occupy, except those that other items occupy.

    The current location is included only if `with_current` is set. Locations on an entity that was deleted and
    recreated under the same name no longer exist. Previous locations count only while the content of the server is
    unknown, for example after a restore.
    """
    record = item.read_record(ObservationRecord)
    recorded = {ObservationLocation.of(item.remote)} if item.remote else set()
    previous = record.previous if item.fingerprint is None else ()
    locations = {*record.attempted, *previous, *recorded}
    if current is not None:
        # same name but another id: the entity was recreated
        locations = {entry for entry in locations if entry.entity != current.entity or entry.id == current.id}
        if not with_current:
            locations.discard(current)
    stale = []
    for location in sorted(locations):
        occupants = items.find_by_remote_id(f"{location.id}/{location.timestamp}")
        if all(occupant.key == item.key for occupant in occupants):
            stale.append(location)
    return stale
