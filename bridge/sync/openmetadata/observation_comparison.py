"""Compares pushed run statuses, test results and profiles with those that the server returns."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from bridge.sync.item_queries import PushedObservation, items_with_history, pushed_observations
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
        for page in pushed_observations(self._ctx.db, self._ctx.org, self._ctx.target, pusher.kind, _BATCH_SIZE):
            observations_by_entity = [
                list(entity_observations)
                for _, entity_observations in groupby(
                    page, lambda observation: observation.remote.id.rpartition("/")[0]
                )
            ]
            items = self._ctx.items.get(pusher.kind, [observation.key for observation in page])
            bodies = pusher.expected_bodies(list(items.values()))
            rows_by_entity = self._ctx.pool.map(
                lambda entity_observations: _read(pusher, entity_observations), observations_by_entity
            )
            differences = [
                Difference(pusher.kind, observation.key, _display_name(observation), description)
                for entity_observations, rows in zip(observations_by_entity, rows_by_entity, strict=True)
                if rows is not None  # otherwise reported as a missing entity
                for observation in entity_observations
                if (description := self._describe(bodies.get(observation.key), rows.get(observation.timestamp, ())))
            ]
            yield ComparedBatch(pusher.kind, len(page), differences)

    def _describe(self, body: JsonObject | None, rows: Sequence[JsonObject]) -> str | None:
        """Describe how the rows at the time of an observation differ from the observation; None if they match."""
        if not rows:
            return "is missing"
        if body is None or any(contains(body, row) for row in rows):
            return None
        return None if all(map(self._is_foreign, rows)) else "differs"

    def _is_foreign(self, row: JsonObject) -> bool:
        """Whether a row is a run status of another producer, which is kept even if it replaced one of ours."""
        if "executionStatus" not in row:
            return False
        try:
            run = run_id(self._ctx.org, str(row.get("executionId")))
        except ValueError:
            return True
        return run not in self._ctx.items.get("run", [run])

    def compare_deleted(self, pusher: ObservationPusher) -> Iterator[ComparedBatch]:
        """Find deleted observations that exist again at their old locations."""
        for keys in items_with_history(self._ctx.db, self._ctx.org, self._ctx.target, pusher.kind, _BATCH_SIZE):
            items = self._ctx.items.get(pusher.kind, keys).values()
            locations = [(item, location) for item in items for location in self._stale_locations(item)]
            rows_by_location = self._ctx.pool.map(
                lambda entry: pusher.read_remote(entry[1].entity, entry[1].timestamp, entry[1].timestamp), locations
            )
            differences = [
                Difference(pusher.kind, item.key, f"{location.entity} at {location.timestamp}", RESTORED)
                for (item, location), rows in zip(locations, rows_by_location, strict=True)
                if any(self._belongs_to(item, row) for row in rows or ())
            ]
            yield ComparedBatch(pusher.kind, len(locations), differences)

    def _stale_locations(self, item: SyncItem) -> list[ObservationLocation]:
        """Locations other than the current one that an item may occupy."""
        if item.remote is not None and item.outcome not in (Outcome.PUSHED, Outcome.UNCHANGED):
            return []  # its observation was left in place
        return stale_locations(
            self._ctx.items, item._replace(fingerprint=None), item.remote and ObservationLocation.of(item.remote)
        )

    def _belongs_to(self, item: SyncItem, row: JsonObject) -> bool:
        """Whether a row belongs to an item. Only run statuses have other writers."""
        if item.kind != "run":
            return True
        try:
            return run_id(self._ctx.org, str(row.get("executionId"))) == item.key
        except ValueError:
            return False


def _read(
    pusher: ObservationPusher, entity_observations: Sequence[PushedObservation]
) -> dict[int, list[JsonObject]] | None:
    """Rows of one entity by time; None if the entity does not exist."""
    times = [observation.timestamp for observation in entity_observations]
    rows = pusher.read_remote(entity_observations[0].remote.name, min(times), max(times))
    if rows is None:
        return None
    rows_by_time: dict[int, list[JsonObject]] = {}
    for row in rows:
        rows_by_time.setdefault(int(row["timestamp"]), []).append(row)
    return rows_by_time


def _display_name(observation: PushedObservation) -> str:
    return f"{observation.remote.name} at {observation.timestamp}"
