"""Pushes results of quality checks to their test cases."""

from collections.abc import Sequence
from typing import NamedTuple

from bridge.sync.canonical.quality import CanonicalCheckResult, read_newest, read_results
from bridge.sync.openmetadata.context import (
    ObservationLocation,
    OpenMetadataContext,
    contains,
    items_to_verify,
    stale_locations,
    with_attempt,
    with_previous,
)
from bridge.sync.openmetadata.quality_checks import OFF
from bridge.sync.sync_item import ABANDONED, Completed, Failure, Outcome, RemoteReference, SyncItem, fingerprint
from bridge.sync.target import BatchResult
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.openmetadata.quality import case_result

_TYPE = "testCaseResult"


class _DesiredResult(NamedTuple):
    """A desired result and the locations that it replaces."""

    item: SyncItem
    case: RemoteReference
    body: JsonObject
    fingerprint: bytes
    #: Locations to delete first, because a POST never replaces a result.
    stale: tuple[ObservationLocation, ...] = ()

    @property
    def remote(self) -> RemoteReference:
        """Remote reference of the result; a test case has one result per timestamp."""
        return RemoteReference(_TYPE, f"{self.case.id}/{self.body['timestamp']}", self.case.name)

    @property
    def location(self) -> ObservationLocation:
        return ObservationLocation(self.case.name, self.case.id, self.body["timestamp"])

    def completed(self) -> Completed:
        record = with_previous(self.item, self.location)
        return Completed(
            self.item, Outcome.PUSHED, None, self.fingerprint, self.remote, created_by_us=True, record=record
        )


class CheckResultPusher:
    """Pushes results of quality checks. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        if not self._ctx.options.publish_quality_results:
            return BatchResult([item.complete(Outcome.OFF, OFF) for item in items])
        results = read_results(self._ctx.db, self._ctx.org, [item.key for item in items])
        checks = self._ctx.items.get("check", {result.check for result in results.values()})
        planned = self._plan(items, results, checks)
        results_by_case: dict[str, list[_DesiredResult]] = {}
        for desired in planned:
            if isinstance(desired, _DesiredResult):
                results_by_case.setdefault(desired.case.name, []).append(desired)
        desired_results = [desired for group in results_by_case.values() for desired in group]
        self._ctx.items.record_intent(
            (desired.item, with_attempt(desired.item, desired.location)) for desired in desired_results
        )
        pushed = [
            result
            for case_results in self._ctx.requests.map(self._post_all, results_by_case.values(), _failed)
            for result in case_results
        ]
        checks_by_result = {key: result.check for key, result in results.items()}
        to_verify = items_to_verify("check", pushed, checks_by_result) | self._resend_newest(pushed, results, checks)
        return BatchResult(
            [*(result for result in planned if isinstance(result, Completed)), *pushed], to_verify=to_verify
        )

    def expected_bodies(self, items: Sequence[SyncItem]) -> dict[bytes, JsonObject]:
        """Bodies of pushed results with unchanged content."""
        results = read_results(self._ctx.db, self._ctx.org, [item.key for item in items])
        checks = self._ctx.items.get("check", {result.check for result in results.values()})
        bodies: dict[bytes, JsonObject] = {}
        for item in items:
            result = results.get(item.key)
            case = checks[result.check].remote if result and result.check in checks else None
            if result is None or case is None or item.remote is None:
                continue
            body = case_result(result.status, int(item.remote.id.rpartition("/")[2]), result.detail)
            if item.fingerprint == fingerprint([case, body]):
                bodies[item.key] = body
        return bodies

    def _plan(
        self, items: Sequence[SyncItem], results: dict[bytes, CanonicalCheckResult], checks: dict[bytes, SyncItem]
    ) -> list[_DesiredResult | Completed]:
        """Desired result of each item, or a completed item with the reason for its absence."""
        taken_ids: set[str] = set()
        planned: list[_DesiredResult | Completed] = []
        for item in sorted(
            items, key=lambda item: (results[item.key].executed_at if item.key in results else 0, item.key)
        ):
            result = results.get(item.key)
            check = checks.get(result.check) if result else None
            if result is None or check is None or check.outcome in (Outcome.UNWANTED, Outcome.OFF):
                reason = check.reason if check else "its check is unknown"
                is_case_deleted = check is not None and check.remote is None
                overrides = {"remote": None, "fingerprint": None} if is_case_deleted else {}
                planned.append(item.complete(Outcome.UNWANTED, reason, **overrides))
            elif check.remote is None:
                planned.append(item.complete(Outcome.WAITING, "its test case is not in OpenMetadata yet"))
            else:
                desired = self._desired_result(item, check.remote, result, taken_ids)
                taken_ids.add(desired.remote.id)
                stale = stale_locations(self._ctx.items, item, None, desired.location)
                planned.append(_complete_if_unchanged(desired) or desired._replace(stale=tuple(stale)))
        return planned

    def _desired_result(
        self, item: SyncItem, case: RemoteReference, result: CanonicalCheckResult, taken_ids: set[str]
    ) -> _DesiredResult:
        """Desired result; its timestamp is the time of the check or the next free millisecond."""
        time = result.executed_at // 1_000
        while f"{case.id}/{time}" in taken_ids or any(
            other.key != item.key for other in self._ctx.items.find_by_remote_id(f"{case.id}/{time}")
        ):
            time += 1
        body = case_result(result.status, time, result.detail)
        return _DesiredResult(item, case, body, fingerprint([case, body]))

    def _post_all(self, group: Sequence[_DesiredResult]) -> list[Completed | Failure]:
        """Post the results of one test case in order."""
        results: list[Completed | Failure] = []
        for desired in group:
            try:
                posted = self._post(desired)
            except LineageBridgeError as error:
                results.append(
                    Failure(desired.item, self._ctx.note_failure(error), desired.body, desired.fingerprint)
                )
            else:
                results.append(posted.completed())
        return results

    def _post(self, desired: _DesiredResult) -> _DesiredResult:
        """Post a result at the first free timestamp and return it as posted.

        An equal result on the server counts as posted; the server may have been restored, or the test case recreated.
        """
        for location in desired.stale:
            self._ctx.client.delete_result(location.entity, location.timestamp)
        while not self._ctx.client.post_result(desired.case.name, desired.body):
            if self._is_posted(desired):
                return desired
            body = {**desired.body, "timestamp": desired.body["timestamp"] + 1}
            desired = desired._replace(body=body, fingerprint=fingerprint([desired.case, body]))
        return desired

    def _is_posted(self, desired: _DesiredResult) -> bool:
        """Whether the server has an equal result at this timestamp."""
        rows = self._ctx.client.results(desired.case.name, desired.body["timestamp"], desired.body["timestamp"])
        return any(contains(desired.body, row) for row in rows or ())

    def _resend_newest(
        self,
        pushed: Sequence[Completed | Failure],
        results: dict[bytes, CanonicalCheckResult],
        checks: dict[bytes, SyncItem],
    ) -> set[tuple[str, bytes]]:
        """Repost the newest result of a check after an older result, because the server shows the last one posted.

        Returns the results that could not be posted again.
        """
        checks_with_new_results = {
            results[result.item.key].check for result in pushed if isinstance(result, Completed)
        }
        newest = read_newest(self._ctx.db, self._ctx.org, checks_with_new_results)
        items = self._ctx.items.get("result", [key for key, _ in newest.values()])
        pushed_keys = {result.item.key for result in pushed}
        to_verify = set()
        for check, (key, newest_result) in newest.items():
            remote, case = items[key].remote if key in items else None, checks[check].remote
            if key in pushed_keys or remote is None or case is None or remote.name != case.name:
                continue
            timestamp = int(remote.id.rpartition("/")[2])
            try:
                self._ctx.client.delete_result(case.name, timestamp)
                self._ctx.client.post_result(
                    case.name, case_result(newest_result.status, timestamp, newest_result.detail)
                )
            except LineageBridgeError:
                to_verify.add(("result", key))
        return to_verify


def _complete_if_unchanged(desired: _DesiredResult) -> Completed | None:
    """Complete an item if its result equals the last posted or rejected one; otherwise None."""
    item = desired.item
    if item.fingerprint != desired.fingerprint:
        return None
    if item.outcome in ABANDONED:
        return item.complete(Outcome(item.outcome), item.reason)
    return item.complete(Outcome.UNCHANGED, item.reason) if item.remote == desired.remote else None


def _failed(group: Sequence[_DesiredResult], error: LineageBridgeError) -> list[Completed | Failure]:
    return [Failure(desired.item, error, desired.body, desired.fingerprint) for desired in group]
