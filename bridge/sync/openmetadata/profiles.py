"""Pushes profiles of tables.

The server adds a row for every profile, even at an existing timestamp. A profile that may already have been stored is
therefore looked up before it is sent again.
"""

from collections.abc import Sequence
from functools import partial

import msgspec

from bridge.sync.canonical.quality import CanonicalProfile, read_profiles
from bridge.sync.openmetadata.context import contains
from bridge.sync.openmetadata.observations import (
    DesiredObservation,
    Observation,
    ObservationLocation,
    ObservationPusher,
    ObservationRecord,
)
from bridge.sync.openmetadata.remote_entities import RemoteEntities
from bridge.sync.sync_item import Completed, Failure, Outcome, SyncItem, failed, pushed
from mappers.canonical_json import JsonObject
from mappers.openmetadata.profiles import TableMetrics, table_profile

#: Spark runs some statements as an action within another one, and both report the rows that were written.
_NESTED = "the enclosing action reports the same write"


class ProfileRecord(ObservationRecord, frozen=True):
    """Locations of a profile; earlier versions recorded only the timestamp of an attempt."""

    attempted_at: int | None = msgspec.field(default=None, name="telling")


class ProfilePusher(ObservationPusher):
    """Pushes profiles. Not thread-safe."""

    kind, entity_kind, type = "profile", "dataset", "tableProfile"
    batch_size = 1

    def read_observations(self, items: Sequence[SyncItem]) -> list[Observation | Completed]:
        profiles = read_profiles(self._ctx.db, self._ctx.org, [item.key for item in items])
        datasets = {profile.dataset for profile in profiles.values()}
        entities = RemoteEntities(self._ctx.db, self._ctx.org, self._ctx.items, datasets, ())
        return [_observation(item, profiles.get(item.key), entities) for item in items]

    def read_remote(self, entity: str, start: int, end: int) -> list[JsonObject] | None:
        return self._ctx.client.profiles(entity, start, end)

    def _comparable(self, body: JsonObject) -> JsonObject:
        """Return the metrics of the table without the number of columns, which cannot be recomputed."""
        return {key: value for key, value in body["tableProfile"].items() if key != "columnCount"}

    def _timestamp(self, item: SyncItem, observation: Observation, used_ids: set[str]) -> int:
        record = item.read_record(ProfileRecord)
        if record.attempted_at is not None:
            return record.attempted_at
        if record.attempted:
            return record.attempted[-1].timestamp
        if item.remote is not None and item.remote.id.startswith(f"{observation.entity.id}/"):
            return ObservationLocation.of(item.remote).timestamp
        return super()._timestamp(item, observation, used_ids)

    def _is_retracted(self, completed: Completed) -> bool:
        return completed.reason == _NESTED

    def _delete(self, location: ObservationLocation) -> None:
        self._ctx.client.delete_profile(location.entity, location.timestamp)

    def _send_batch(self, batch: Sequence[DesiredObservation]) -> list[Completed | Failure]:
        return self._ctx.requests.send_in_order(self._put, batch, failed)

    def _put(self, desired: DesiredObservation) -> Completed:
        """Send a profile at the first free timestamp, unless the server already has an equal one."""
        item, record = desired.item, desired.item.read_record(ProfileRecord)
        if item.remote is not None or record.attempted or record.attempted_at is not None:
            while rows := self.read_remote(desired.entity.name, desired.timestamp, desired.timestamp):
                if any(contains(self._comparable(desired.request), row) for row in rows):
                    return pushed(desired, desired.remote)
                desired = desired.move_to(desired.timestamp + 1)
        self._ctx.client.put_profile(desired.entity.id, desired.request)
        return pushed(desired, desired.remote)


def _observation(
    item: SyncItem, profile: CanonicalProfile | None, entities: RemoteEntities
) -> Observation | Completed:
    if profile is None or not (profile.metrics or profile.rows is not None or profile.bytes is not None):
        return item.complete(Outcome.UNWANTED, _NESTED if profile and profile.nested else "no statistics reported")
    if entities.is_excluded(profile.dataset):
        return item.complete(Outcome.UNWANTED, "its dataset was dropped or is not synced")
    remote = entities.remote(profile.dataset)
    if remote is None:
        return item.complete(Outcome.WAITING, "its dataset is not in OpenMetadata yet")
    if remote.type != "table":
        return item.complete(
            Outcome.UNWANTED, f"OpenMetadata supports profiles of tables only; this is a {remote.type}"
        )
    columns = {name: ".".join(path) for name, path in entities.endpoint(profile.dataset).columns.items()}
    metrics = TableMetrics(
        profile.rows, profile.bytes, profile.change, profile.wrote, profile.columns, profile.metrics
    )
    build_body = partial(_body, metrics, columns)
    content = [remote.id, metrics._replace(column_count=0)]
    return Observation(remote, profile.dataset, profile.at // 1_000, build_body, content)


def _body(metrics: TableMetrics, columns: dict[str, str], timestamp: int) -> JsonObject:
    return table_profile(metrics, timestamp, columns)
