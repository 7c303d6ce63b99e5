"""Dependencies that the OpenMetadata pushers share, and the locations of observations."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.request_pool import RequestPool
from bridge.sync.sync_item import Completed, Failure, RemoteReference, SyncItem
from connectors.errors import TargetRejected, TargetUnavailable
from connectors.openmetadata.client import OpenMetadataClient
from mappers.errors import LineageBridgeError

NOT_FOUND = 404
_ATTEMPTED, _PREVIOUS = "begun", "was"
#: Maximum number of previous locations in a record.
_MAX_PREVIOUS = 10


class OpenMetadataContext(NamedTuple):
    """Store, client, options, items and request pool of the target."""

    db: Database
    org: str
    client: OpenMetadataClient
    options: OpenMetadataOptions
    items: SyncItemStore
    requests: RequestPool

    def note_failure(self, error: LineageBridgeError) -> LineageBridgeError:
        """Record a failure and return the error to report.

        A 404 becomes a retryable error, because the missing parent may be created again.
        """
        if isinstance(error, TargetRejected) and error.status == NOT_FOUND:
            return TargetUnavailable(str(error), NOT_FOUND)
        return self.requests.record_failure(error)


def items_to_verify(
    kind: str, results: Iterable[Completed | Failure], parent_keys: Mapping[bytes, bytes]
) -> set[tuple[str, bytes]]:
    """Parents of the items that failed with a 404; `parent_keys` maps item keys to parent keys."""
    return {
        (kind, parent_keys[result.item.key])
        for result in results
        if isinstance(result, Failure)
        and isinstance(result.error, TargetUnavailable)
        and result.error.status == NOT_FOUND
    }


class ObservationLocation(NamedTuple):
    """Where an observation is stored: entity name and id, and a time in milliseconds."""

    entity: str
    id: str
    timestamp: int


def with_attempt(item: SyncItem, location: ObservationLocation) -> dict[str, Any]:
    """Record of an item, extended by a location that is about to be written."""
    previous = {_PREVIOUS: item.record[_PREVIOUS]} if _PREVIOUS in item.record else {}
    return previous | {_ATTEMPTED: [*dict.fromkeys([*_locations(item, _ATTEMPTED), location])]}


def with_previous(item: SyncItem, location: ObservationLocation | None) -> dict[str, Any]:
    """Record of an item with its previous locations, which a restored backup may contain again."""
    current = [location_of(item.remote)] if item.remote else []
    locations = dict.fromkeys([*_locations(item, _PREVIOUS), *current, *_locations(item, _ATTEMPTED)])
    previous = [past for past in locations if past != location][-_MAX_PREVIOUS:]
    return {_PREVIOUS: previous} if previous else {}


def stale_locations(
    items: SyncItemStore,
    item: SyncItem,
    location: ObservationLocation | None,
    fallback: ObservationLocation | None = None,
) -> list[ObservationLocation]:
    """Locations that an item may still occupy, except its current location and the locations of other items.

    Locations on an entity that was deleted and recreated under the same name no longer exist. Previous
    locations count only while the content of the server is unknown, for example after a restore.
    """
    target = location or fallback
    recorded = location_of(item.remote) if item.remote else None
    previous = _locations(item, _PREVIOUS) if item.fingerprint is None else ()
    locations = {*_locations(item, _ATTEMPTED), *previous, *([recorded] if recorded else ())}
    return sorted(
        stale
        for stale in locations - {location}
        if not (target and stale.entity == target.entity and stale.id != target.id)
        and all(occupant.key == item.key for occupant in items.find_by_remote_id(f"{stale.id}/{stale.timestamp}"))
    )


def contains(sent: Any, received: Any) -> bool:
    """Whether a response contains everything that was sent; additional fields are ignored."""
    if isinstance(sent, dict):
        return isinstance(received, dict) and all(contains(value, received.get(key)) for key, value in sent.items())
    if isinstance(sent, list):
        same_length = isinstance(received, list) and len(received) == len(sent)
        return same_length and all(
            contains(sent_item, received_item) for sent_item, received_item in zip(sent, received, strict=True)
        )
    return bool(sent == received)


def _locations(item: SyncItem, key: str) -> list[ObservationLocation]:
    return [ObservationLocation(*values) for values in item.record.get(key, ())]


def location_of(remote: RemoteReference) -> ObservationLocation:
    """Location of an observation from its remote reference."""
    id_, _, timestamp = remote.id.rpartition("/")
    return ObservationLocation(remote.name, id_, int(timestamp))
