"""What every pusher of OpenMetadata needs: store, client, items and request pool."""

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
_BEGUN, _WAS = "begun", "was"
#: How many places are remembered where something was told before.
_MAX_WAS = 10


class OpenMetadataContext(NamedTuple):
    """The store, the server, and what is to be done."""

    db: Database
    org: str
    client: OpenMetadataClient
    rules: OpenMetadataOptions
    items: SyncItemStore
    workers: RequestPool

    def failed(self, error: LineageBridgeError) -> LineageBridgeError:
        """Take note of a failure; what something lies in that is gone may be made again, and so it is no refusal."""
        if isinstance(error, TargetRejected) and error.status == NOT_FOUND:
            return TargetUnavailable(str(error), NOT_FOUND)
        return self.workers.record_failure(error)


def items_to_verify(
    kind: str, results: Iterable[Completed | Failure], of: Mapping[bytes, bytes]
) -> set[tuple[str, bytes]]:
    """Find what things need that the server was found not to have: given by the keys of the things."""
    return {
        (kind, of[one.item.key])
        for one in results
        if isinstance(one, Failure) and isinstance(one.error, TargetUnavailable) and one.error.status == NOT_FOUND
    }


class ObservationLocation(NamedTuple):
    """Where something of a moment is told: of which entity, at which time in milliseconds."""

    of: str
    id: str
    timestamp: int


def with_attempt(item: SyncItem, moment: ObservationLocation) -> dict[str, Any]:
    """Say where an item is about to be told, beside where it may have been told since it was last settled."""
    kept = {_WAS: item.record[_WAS]} if _WAS in item.record else {}
    return kept | {_BEGUN: [*dict.fromkeys([*_moments(item, _BEGUN), moment])]}


def with_previous(item: SyncItem, moment: ObservationLocation | None) -> dict[str, Any]:
    """Say where an item was told before: what is restored from a backup may tell it there again."""
    told = [of(item.remote)] if item.remote else []
    places = dict.fromkeys([*_moments(item, _WAS), *told, *_moments(item, _BEGUN)])
    was = [place for place in places if place != moment][-_MAX_WAS:]
    return {_WAS: was} if was else {}


def stale_locations(
    items: SyncItemStore, item: SyncItem, moment: ObservationLocation | None, now: ObservationLocation | None = None
) -> list[ObservationLocation]:
    """Find where an item was told, or may have been, but for where it is told now and where another one is.

    Nothing is left of what was told of an entity that was made anew under its name since. Where it was told long ago
    counts only while nobody knows what the server has of it, as of one that was restored from a backup.
    """
    there = moment or now
    last = of(item.remote) if item.remote else None
    was = _moments(item, _WAS) if item.fingerprint is None else ()
    places = {*_moments(item, _BEGUN), *was, *([last] if last else ())}
    return sorted(
        place
        for place in places - {moment}
        if not (there and place.of == there.of and place.id != there.id)
        and all(one.key == item.key for one in items.find_by_remote_id(f"{place.id}/{place.timestamp}"))
    )


def contains(said: Any, there: Any) -> bool:
    """Tell whether a server says what it was told; what it adds does not count."""
    if isinstance(said, dict):
        return isinstance(there, dict) and all(contains(value, there.get(key)) for key, value in said.items())
    if isinstance(said, list):
        same = isinstance(there, list) and len(there) == len(said)
        return same and all(contains(one, other) for one, other in zip(said, there, strict=True))
    return bool(said == there)


def _moments(item: SyncItem, key: str) -> list[ObservationLocation]:
    return [ObservationLocation(*place) for place in item.record.get(key, ())]


def of(remote: RemoteReference) -> ObservationLocation:
    """Say where something was told, by what it is in the target."""
    id_, _, timestamp = remote.id.rpartition("/")
    return ObservationLocation(remote.name, id_, int(timestamp))
