"""Pushes profiles of tables.

The server adds a row for every profile, even at an existing timestamp. A profile that may already have been stored is
therefore looked up before it is sent again.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bridge.sync.canonical.quality import CanonicalProfile, read_profiles
from bridge.sync.openmetadata.context import OpenMetadataContext, contains, items_to_verify
from bridge.sync.openmetadata.remote_entities import RemoteEntities
from bridge.sync.sync_item import (
    Completed,
    Failure,
    Outcome,
    RemoteReference,
    SyncItem,
    complete_unchanged,
    fingerprint,
    is_unchanged,
)
from bridge.sync.target import BatchResult
from connectors.errors import TargetRejected
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.openmetadata.profiles import TableMetrics, table_profile

_TYPE = "tableProfile"


class _DesiredProfile(NamedTuple):
    """A desired profile, its table, and the first timestamp to try."""

    item: SyncItem
    dataset: bytes
    table: RemoteReference
    metrics: TableMetrics
    columns: dict[str, str]
    fingerprint: bytes
    timestamp: int
    #: Whether it may already be stored.
    may_exist: bool

    @property
    def body(self) -> JsonObject:
        return table_profile(self.metrics, self.timestamp, self.columns)

    def completed(self) -> Completed:
        remote = RemoteReference(_TYPE, f"{self.table.id}/{self.timestamp}", self.table.name)
        return Completed(self.item, Outcome.PUSHED, None, self.fingerprint, remote, created_by_us=True)


class ProfilePusher:
    """Pushes profiles. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        if not self._ctx.options.publish_profiling_metrics:
            reason = "openmetadata.sync.publish_profiling_metrics is off"
            return BatchResult([item.complete(Outcome.OFF, reason) for item in items])
        planned = self._plan(items)
        desired = [profile for profile in planned if isinstance(profile, _DesiredProfile)]
        self._ctx.items.record_intent(
            (profile.item, {**profile.item.record, "telling": profile.timestamp}) for profile in desired
        )
        pushed = self._ctx.requests.map(self._put, desired, _failed)
        datasets = {profile.item.key: profile.dataset for profile in desired}
        to_verify = items_to_verify("dataset", pushed, datasets)
        return BatchResult(
            [*(result for result in planned if isinstance(result, Completed)), *pushed], to_verify=to_verify
        )

    def expected_bodies(self, items: Sequence[SyncItem]) -> dict[bytes, JsonObject]:
        """Bodies of pushed profiles with unchanged content."""
        bodies: dict[bytes, JsonObject] = {}
        fingerprints = {item.key: item.fingerprint for item in items}
        for profile in self._plan([item._replace(fingerprint=None) for item in items if item.remote]):
            if isinstance(profile, _DesiredProfile) and profile.fingerprint == fingerprints[profile.item.key]:
                timestamp = int((profile.item.remote or profile.table).id.rpartition("/")[2])
                bodies[profile.item.key] = _comparable(profile._replace(timestamp=timestamp).body["tableProfile"])
        return bodies

    def _plan(self, items: Sequence[SyncItem]) -> list[_DesiredProfile | Completed]:
        profiles = read_profiles(self._ctx.db, self._ctx.org, [item.key for item in items])
        entities = RemoteEntities(
            self._ctx.db, self._ctx.org, self._ctx.items, {profile.dataset for profile in profiles.values()}, ()
        )
        taken_ids: set[str] = set()
        planned: list[_DesiredProfile | Completed] = []
        for item in sorted(items, key=lambda item: (profiles[item.key].at if item.key in profiles else 0, item.key)):
            desired = self._plan_item(item, profiles.get(item.key), entities, taken_ids)
            if isinstance(desired, _DesiredProfile):
                taken_ids.add(f"{desired.table.id}/{desired.timestamp}")
            planned.append(desired)
        return planned

    def _plan_item(
        self, item: SyncItem, profile: CanonicalProfile | None, entities: RemoteEntities, taken_ids: set[str]
    ) -> _DesiredProfile | Completed:
        """Desired profile, or a completed item with the reason for its absence."""
        remote = entities.remote(profile.dataset) if profile else None
        if profile is None or not (profile.metrics or profile.rows is not None or profile.bytes is not None):
            return item.complete(Outcome.UNWANTED, "no statistics reported")
        if entities.is_excluded(profile.dataset):
            return item.complete(Outcome.UNWANTED, "its dataset was dropped or is not synced")
        if remote is None:
            return item.complete(Outcome.WAITING, "its dataset is not in OpenMetadata yet")
        if remote.type != "table":
            return item.complete(
                Outcome.UNWANTED, f"OpenMetadata supports profiles of tables only; this is a {remote.type}"
            )
        names = {name: ".".join(path) for name, path in entities.endpoint(profile.dataset).columns.items()}
        metrics = TableMetrics(
            profile.rows, profile.bytes, profile.change, profile.wrote, profile.columns, profile.metrics
        )
        content_fingerprint = fingerprint([remote.id, metrics._replace(column_count=0)])
        if is_unchanged(item, content_fingerprint):
            return complete_unchanged(item)
        timestamp, may_exist = self._timestamp(item, remote, profile.at // 1_000, taken_ids)
        return _DesiredProfile(
            item, profile.dataset, remote, metrics, names, content_fingerprint, timestamp, may_exist
        )

    def _timestamp(self, item: SyncItem, table: RemoteReference, at: int, taken_ids: set[str]) -> tuple[int, bool]:
        """Timestamp for the profile, and whether the profile may already be stored at that timestamp."""
        if "telling" in item.record:
            return item.record["telling"], True
        if item.remote is not None and item.remote.id.startswith(f"{table.id}/"):
            return int(item.remote.id.rpartition("/")[2]), True
        while not self._is_free(f"{table.id}/{at}", taken_ids):
            at += 1
        return at, item.remote is not None  # the table was recreated or restored

    def _is_free(self, id_: str, taken_ids: set[str]) -> bool:
        return id_ not in taken_ids and not self._ctx.items.find_by_remote_id(id_)

    def _put(self, desired: _DesiredProfile) -> Completed | Failure:
        """Send a profile at the first free timestamp, unless the server already has an equal one."""
        try:
            if desired.may_exist:
                while rows := self._ctx.client.profiles(desired.table.name, desired.timestamp, desired.timestamp):
                    if any(contains(_comparable(desired.body["tableProfile"]), row) for row in rows):
                        return desired.completed()
                    desired = desired._replace(timestamp=desired.timestamp + 1)
            self._ctx.client.put_profile(desired.table.id, desired.body)
        except TargetRejected as error:
            raise self._ctx.note_failure(error) from error
        return desired.completed()


def _comparable(profile: JsonObject) -> JsonObject:
    """The part of a table profile that can be compared; the column count is excluded, as it cannot be recomputed."""
    return {key: value for key, value in profile.items() if key != "columnCount"}


def _failed(desired: _DesiredProfile, error: LineageBridgeError) -> Completed | Failure:
    return Failure(desired.item, error, desired.body, desired.fingerprint)
