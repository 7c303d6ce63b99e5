"""Pushes results of quality checks to their test cases."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from bridge.sync.canonical.quality import CanonicalCheckResult, read_newest_results, read_results
from bridge.sync.openmetadata.context import contains
from bridge.sync.openmetadata.observations import (
    DesiredObservation,
    Observation,
    ObservationLocation,
    ObservationPusher,
    pushed_observation,
    stale_locations,
)
from bridge.sync.sync_item import Completed, Failure, Outcome, SyncItem, failed
from bridge.sync.target import BatchResult, ItemKey
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.openmetadata.quality import case_result


class CheckResultPusher(ObservationPusher):
    """Pushes results of quality checks to their test cases. Not thread-safe."""

    kind, entity_kind, type = "result", "check", "testCaseResult"
    batch_size = 1_000

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        result = super().push(items)
        failed_keys = {entry.item.key for entry in result.results if isinstance(entry, Failure)}
        posted = {
            entry.item.key
            for entry in result.results
            if isinstance(entry, Completed) and entry.outcome is Outcome.PUSHED
        }
        return result._replace(to_verify={*result.to_verify, *self._resend_newest(posted, failed_keys)})

    def read_observations(self, items: Sequence[SyncItem]) -> list[Observation | Completed]:
        results = read_results(self._ctx.db, self._ctx.org, [item.key for item in items])
        checks = self._ctx.items.get("check", {result.check for result in results.values()})
        return [_observation(item, results.get(item.key), checks) for item in items]

    def read_remote(self, entity: str, start: int, end: int) -> list[JsonObject] | None:
        return self._ctx.client.results(entity, start, end)

    def _stale_locations(self, desired: DesiredObservation) -> Sequence[ObservationLocation]:
        """Return all locations of the item, because a POST never replaces a result."""
        return stale_locations(self._ctx.items, desired.item, desired.location, with_current=True)

    def _delete(self, location: ObservationLocation) -> None:
        self._ctx.client.delete_result(location.entity, location.timestamp)

    def _send_batch(self, batch: Sequence[DesiredObservation]) -> list[Completed | Failure]:
        """Post the results of one test case in order."""
        return self._ctx.requests.send_in_order(self._post, batch, failed)

    def _post(self, desired: DesiredObservation) -> Completed:
        """Post a result at the first free timestamp.

        An equal result on the server counts as posted; the server may have been restored, or the test case recreated.
        """
        for location in desired.stale:
            self._delete(location)
        while not self._ctx.client.post_result(desired.entity.name, desired.request):
            rows = self.read_remote(desired.entity.name, desired.timestamp, desired.timestamp)
            if any(contains(desired.request, row) for row in rows or ()):
                break
            desired = desired.move_to(desired.timestamp + 1)
        return pushed_observation(desired)

    def _resend_newest(self, posted: AbstractSet[bytes], failed_keys: AbstractSet[bytes]) -> set[ItemKey]:
        """Repost the newest result of a check after an older result, because the server shows the last one posted.

        Returns the results that could not be posted again.
        """
        results = read_results(self._ctx.db, self._ctx.org, posted)
        newest = read_newest_results(self._ctx.db, self._ctx.org, {result.check for result in results.values()})
        items = self._ctx.items.get("result", {key for key, _ in newest.values()} - posted - failed_keys)
        cases = self._ctx.items.get("check", newest)
        to_verify: set[ItemKey] = set()
        for check, (key, newest_result) in newest.items():
            remote = items[key].remote if key in items else None
            case = cases[check].remote if check in cases else None
            if remote is None or case is None or remote.name != case.name:
                continue
            timestamp = ObservationLocation.of(remote).timestamp
            try:
                self._ctx.client.delete_result(case.name, timestamp)
                self._ctx.client.post_result(
                    case.name, case_result(newest_result.status, timestamp, newest_result.detail)
                )
            except LineageBridgeError:
                to_verify.add(("result", key))
        return to_verify


def _observation(
    item: SyncItem, result: CanonicalCheckResult | None, checks: dict[bytes, SyncItem]
) -> Observation | Completed:
    check = checks.get(result.check) if result else None
    if result is None or check is None or check.outcome in (Outcome.UNWANTED, Outcome.OFF):
        reason = check.reason if check else "its check is unknown"
        is_case_deleted = check is not None and check.remote is None
        overrides = {"remote": None, "fingerprint": None} if is_case_deleted else {}
        return item.complete(Outcome.UNWANTED, reason, **overrides)
    if check.remote is None:
        return item.complete(Outcome.WAITING, "its test case is not in OpenMetadata yet")
    build_body = partial(_body, result)
    return Observation(check.remote, result.check, result.executed_at // 1_000, build_body)


def _body(result: CanonicalCheckResult, timestamp: int) -> JsonObject:
    return case_result(result.status, timestamp, result.detail)
