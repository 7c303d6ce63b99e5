"""Pushes test results of test cases."""

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
    """A result as it shall be, and the test case that it is of."""

    item: SyncItem
    case: RemoteReference
    body: JsonObject
    mark: bytes
    #: Where it may have been told before, and is taken back: no result is ever replaced.
    before: tuple[ObservationLocation, ...] = ()

    @property
    def remote(self) -> RemoteReference:
        """Name it: of a test case there is one at a time."""
        return RemoteReference(_TYPE, f"{self.case.id}/{self.body['timestamp']}", self.case.name)

    @property
    def moment(self) -> ObservationLocation:
        """Say where it is told."""
        return ObservationLocation(self.case.name, self.case.id, self.body["timestamp"])

    def settled(self) -> Completed:
        """Settle it as told."""
        detail = with_previous(self.item, self.moment)
        return Completed(self.item, Outcome.PUSHED, None, self.mark, self.remote, created_by_us=True, record=detail)


class TestResultPusher:
    """Pushes results of checks. Not for several threads at once."""

    def __init__(self, at: OpenMetadataContext) -> None:
        self._at = at

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Make the server know how checks ended."""
        if not self._at.rules.publish_quality_results:
            return BatchResult([item.complete(Outcome.OFF, OFF) for item in items])
        stored = read_results(self._at.db, self._at.org, [item.key for item in items])
        checks = self._at.items.get("check", {one.check for one in stored.values()})
        found = self._wanted(items, stored, checks)
        of: dict[str, list[_DesiredResult]] = {}
        for one in found:
            if isinstance(one, _DesiredResult):
                of.setdefault(one.case.name, []).append(one)
        wanted = [one for group in of.values() for one in group]
        self._at.items.record_intent((one.item, with_attempt(one.item, one.moment)) for one in wanted)
        done = [one for group in self._at.workers.map(self._post_all, of.values(), _failed) for one in group]
        told = {key: one.check for key, one in stored.items()}
        doubtful = items_to_verify("check", done, told) | self._resend_newest(done, stored, checks)
        return BatchResult([*(one for one in found if isinstance(one, Completed)), *done], to_verify=doubtful)

    def expected_bodies(self, items: Sequence[SyncItem]) -> dict[bytes, JsonObject]:
        """Give what was told of results, of those that would be told the same now."""
        stored = read_results(self._at.db, self._at.org, [item.key for item in items])
        checks = self._at.items.get("check", {one.check for one in stored.values()})
        found: dict[bytes, JsonObject] = {}
        for item in items:
            one = stored.get(item.key)
            case = checks[one.check].remote if one and one.check in checks else None
            if one is None or case is None or item.remote is None:
                continue
            body = case_result(one.status, int(item.remote.id.rpartition("/")[2]), one.said)
            if item.fingerprint == fingerprint([case, body]):
                found[item.key] = body
        return found

    def _wanted(
        self, items: Sequence[SyncItem], stored: dict[bytes, CanonicalCheckResult], checks: dict[bytes, SyncItem]
    ) -> list[_DesiredResult | Completed]:
        """Say what results shall be told, or why they are not."""
        taken: set[str] = set()
        found: list[_DesiredResult | Completed] = []
        for item in sorted(items, key=lambda one: (stored[one.key].executed_at if one.key in stored else 0, one.key)):
            one = stored.get(item.key)
            check = checks.get(one.check) if one else None
            if one is None or check is None or check.outcome in (Outcome.UNWANTED, Outcome.OFF):
                found.append(item.complete(Outcome.UNWANTED, check.reason if check else "its check is not known"))
            elif check.remote is None:
                found.append(item.complete(Outcome.WAITING, "its test case is not there"))
            else:
                wanted = self._at_its_time(item, check.remote, one, taken)
                taken.add(wanted.remote.id)
                before = stale_locations(self._at.items, item, None, wanted.moment)
                found.append(_known(wanted) or wanted._replace(before=tuple(before)))
        return found

    def _at_its_time(
        self, item: SyncItem, case: RemoteReference, stored: CanonicalCheckResult, taken: set[str]
    ) -> _DesiredResult:
        """Find the time by which a result is known: when it was made, or a moment later if another one has that."""
        time = stored.executed_at // 1_000
        while f"{case.id}/{time}" in taken or any(
            one.key != item.key for one in self._at.items.find_by_remote_id(f"{case.id}/{time}")
        ):
            time += 1
        body = case_result(stored.status, time, stored.said)
        return _DesiredResult(item, case, body, fingerprint([case, body]))

    def _post_all(self, group: Sequence[_DesiredResult]) -> list[Completed | Failure]:
        """Tell the results of one test case, one after the other, as far as it goes."""
        done: list[Completed | Failure] = []
        for one in group:
            try:
                told = self._post(one)
            except LineageBridgeError as error:
                done.append(Failure(one.item, self._at.failed(error), one.body, one.mark))
            else:
                done.append(told.settled())
        return done

    def _post(self, one: _DesiredResult) -> _DesiredResult:
        """Tell a result, at the first time of which no other was told; gives it as it was told.

        One that is there already and says the same is this one: the server was restored, or made the case anew.
        """
        for moment in one.before:
            self._at.client.delete_result(moment.of, moment.timestamp)
        while not self._at.client.post_result(one.case.name, one.body):
            if self._is_told(one):
                return one
            body = {**one.body, "timestamp": one.body["timestamp"] + 1}
            one = one._replace(body=body, mark=fingerprint([one.case, body]))
        return one

    def _is_told(self, one: _DesiredResult) -> bool:
        """Tell whether the result that is there says the same."""
        there = self._at.client.results(one.case.name, one.body["timestamp"], one.body["timestamp"])
        return any(contains(one.body, row) for row in there or ())

    def _resend_newest(
        self,
        done: Sequence[Completed | Failure],
        stored: dict[bytes, CanonicalCheckResult],
        checks: dict[bytes, SyncItem],
    ) -> set[tuple[str, bytes]]:
        """Tell the newest result of a check again after an older one, for the last one told is what is shown.

        Gives the results that could not be told again.
        """
        told = {stored[one.item.key].check for one in done if isinstance(one, Completed)}
        newest = read_newest(self._at.db, self._at.org, told)
        known = self._at.items.get("result", [key for key, _ in newest.values()])
        pushed = {one.item.key for one in done}
        doubtful = set()
        for check, (key, one) in newest.items():
            remote, case = known[key].remote if key in known else None, checks[check].remote
            if key in pushed or remote is None or case is None or remote.name != case.name:
                continue
            timestamp = int(remote.id.rpartition("/")[2])
            try:
                self._at.client.delete_result(case.name, timestamp)
                self._at.client.post_result(case.name, case_result(one.status, timestamp, one.said))
            except LineageBridgeError:
                doubtful.add(("result", key))
        return doubtful


def _known(wanted: _DesiredResult) -> Completed | None:
    """Settle what is as it was when it was last told, or refused."""
    item = wanted.item
    if item.fingerprint != wanted.mark:
        return None
    if item.outcome in ABANDONED:
        return item.complete(Outcome(item.outcome), item.reason)
    return item.complete(Outcome.UNCHANGED, item.reason) if item.remote == wanted.remote else None


def _failed(group: Sequence[_DesiredResult], error: LineageBridgeError) -> list[Completed | Failure]:
    return [Failure(one.item, error, one.body, one.mark) for one in group]
