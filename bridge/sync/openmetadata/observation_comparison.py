"""Compares pushed run statuses, test results and profiles with those that the server returns."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from bridge.sync.openmetadata.context import OpenMetadataContext, contains
from bridge.sync.openmetadata.observations import ObservationLocation, ObservationPusher, stale_locations
from bridge.sync.openmetadata.restored_entities import RESTORED
from bridge.sync.sync_item import Outcome, SyncItem
from bridge.sync.target import ComparedBatch, Difference
from mappers.canonical.identity import run_id
from mappers.canonical_json import JsonObject

#: Observations per batch; also limits the size of responses.
_BATCH_SIZE = 500


class ObservationComparison:
    """Compares observations; requests run in a thread pool. Not thread-safe.

    Reads go from the first to the last pushed time of an entity, because the server returns whole time ranges.
    """

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx

    def compare(self, pusher: ObservationPusher) -> Iterator[ComparedBatch]:
        """Compare all pushed observations of one kind."""
        for items in self._ctx.items.batches_by_entity(pusher.kind, _BATCH_SIZE):
            by_entity = [list(group) for _, group in groupby(items, lambda item: _location(item).id)]
            bodies = pusher.expected_bodies(items)
            rows_by_entity = self._ctx.pool.map(lambda group: _read_rows(pusher, group), by_entity)
            differences = [
                _difference(item, _location(item), description)
                for entity_items, rows in zip(by_entity, rows_by_entity, strict=True)
                if rows is not None  # otherwise reported as a missing entity
                for item in entity_items
                if (description := self._describe(bodies.get(item.key), rows.get(_location(item).timestamp, ())))
            ]
            yield ComparedBatch(pusher.kind, len(items), differences)

    def _describe(self, body: JsonObject | None, rows: Sequence[JsonObject]) -> str | None:
        """Describe how the rows at the time of an observation differ from the observation; None if they match."""
        if not rows:
            return "is missing"
        if body is None or any(contains(body, row) for row in rows):
            return None
        return None if all(map(self._is_foreign, rows)) else "differs"

    def _is_foreign(self, row: JsonObject) -> bool:
        """True if a row is a run status of another producer, which is kept even if it replaced one of ours."""
        if "executionStatus" not in row:
            return False
        try:
            run = run_id(self._ctx.org, str(row.get("executionId")))
        except ValueError:
            return True
        return run not in self._ctx.items.get("run", [run])

    def compare_deleted(self, pusher: ObservationPusher) -> Iterator[ComparedBatch]:
        """Find deleted observations that exist again at their old locations."""
        for items in self._ctx.items.batches_with_record(pusher.kind, _BATCH_SIZE):
            locations = [(item, location) for item in items for location in self._stale_locations(item)]
            rows_by_location = self._ctx.pool.map(
                lambda location: pusher.read_remote(location.entity, location.timestamp, location.timestamp),
                [location for _, location in locations],
            )
            differences = [
                _difference(item, location, RESTORED)
                for (item, location), rows in zip(locations, rows_by_location, strict=True)
                if any(self._belongs_to(item, row) for row in rows or ())
            ]
            yield ComparedBatch(pusher.kind, len(locations), differences)

    def _stale_locations(self, item: SyncItem) -> list[ObservationLocation]:
        """Return locations, other than the current one, at which the observation of an item may still exist."""
        if item.remote is not None and item.outcome not in (Outcome.PUSHED, Outcome.UNCHANGED):
            return []  # its observation was left in place
        return stale_locations(
            self._ctx.items, item._replace(fingerprint=None), item.remote and ObservationLocation.of(item.remote)
        )

    def _belongs_to(self, item: SyncItem, row: JsonObject) -> bool:
        """True if a row belongs to an item. Only run statuses have other writers."""
        if item.kind != "run":
            return True
        try:
            return run_id(self._ctx.org, str(row.get("executionId"))) == item.key
        except ValueError:
            return False


def _read_rows(pusher: ObservationPusher, items: Sequence[SyncItem]) -> dict[int, list[JsonObject]] | None:
    """Read the observations of one entity, by timestamp; None if the entity does not exist."""
    timestamps = [_location(item).timestamp for item in items]
    rows = pusher.read_remote(_location(items[0]).entity, min(timestamps), max(timestamps))
    if rows is None:
        return None
    rows_by_timestamp: dict[int, list[JsonObject]] = {}
    for row in rows:
        rows_by_timestamp.setdefault(int(row["timestamp"]), []).append(row)
    return rows_by_timestamp


def _location(item: SyncItem) -> ObservationLocation:
    assert item.remote is not None  # noqa: S101 - the item was pushed
    return ObservationLocation.of(item.remote)


def _difference(item: SyncItem, location: ObservationLocation, description: str) -> Difference:
    return Difference(item.kind, item.key, f"{location.entity} at {location.timestamp}", description)
