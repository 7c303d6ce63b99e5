"""Brings results of checks to OpenMetadata: one call each, those of one test case in the order of their times."""

from collections.abc import Sequence
from typing import NamedTuple

from bridge.sync.checks import StoredResult, read_newest, read_results
from bridge.sync.item import GIVEN_UP, Failed, Item, Outcome, Remote, Settled, fingerprint
from bridge.sync.openmetadata.checks import OFF
from bridge.sync.openmetadata.workbench import (
    Moment,
    Workbench,
    begun,
    is_said,
    left_behind,
    missing,
    told_elsewhere,
)
from bridge.sync.target import Pushed
from connectors.openmetadata.calls import Entity
from mappers.errors import LineageBridgeError
from mappers.openmetadata.quality import result

_TYPE = "testCaseResult"


class _Wanted(NamedTuple):
    """A result as it shall be, and the test case that it is of."""

    item: Item
    case: Remote
    body: Entity
    mark: bytes
    #: Where it may have been told before, and is taken back: no result is ever replaced.
    before: tuple[Moment, ...] = ()

    @property
    def remote(self) -> Remote:
        """Name it: of a test case there is one at a time."""
        return Remote(_TYPE, f"{self.case.id}/{self.body['timestamp']}", self.case.name)

    @property
    def moment(self) -> Moment:
        """Say where it is told."""
        return Moment(self.case.name, self.case.id, self.body["timestamp"])

    def settled(self) -> Settled:
        """Settle it as told."""
        detail = left_behind(self.item, self.moment)
        return Settled(self.item, Outcome.PUSHED, None, self.mark, self.remote, ours=True, detail=detail)


class Results:
    """Pushes results of checks. Not for several threads at once."""

    def __init__(self, at: Workbench) -> None:
        self._at = at

    def push(self, items: Sequence[Item]) -> Pushed:
        """Make the server know how checks ended."""
        if not self._at.rules.publish_quality_results:
            return Pushed([item.linked(Outcome.OFF, OFF) for item in items])
        stored = read_results(self._at.db, self._at.org, [item.key for item in items])
        checks = self._at.items.of("check", {one.check for one in stored.values()})
        found = self._wanted(items, stored, checks)
        of: dict[str, list[_Wanted]] = {}
        for one in found:
            if isinstance(one, _Wanted):
                of.setdefault(one.case.name, []).append(one)
        wanted = [one for group in of.values() for one in group]
        self._at.items.begin((one.item, begun(one.item, one.moment)) for one in wanted)
        done = [one for group in self._at.workers.map(self._post_all, of.values(), _failed) for one in group]
        told = {key: one.check for key, one in stored.items()}
        doubtful = missing("check", done, told) | self._tell_newest(done, stored, checks)
        return Pushed([*(one for one in found if isinstance(one, Settled)), *done], doubtful=doubtful)

    def said(self, items: Sequence[Item]) -> dict[bytes, Entity]:
        """Give what was told of results, of those that would be told the same now."""
        stored = read_results(self._at.db, self._at.org, [item.key for item in items])
        checks = self._at.items.of("check", {one.check for one in stored.values()})
        found: dict[bytes, Entity] = {}
        for item in items:
            one = stored.get(item.key)
            case = checks[one.check].remote if one and one.check in checks else None
            if one is None or case is None or item.remote is None:
                continue
            body = result(one.status, int(item.remote.id.rpartition("/")[2]), one.said)
            if item.fingerprint == fingerprint([case, body]):
                found[item.key] = body
        return found

    def _wanted(
        self, items: Sequence[Item], stored: dict[bytes, StoredResult], checks: dict[bytes, Item]
    ) -> list[_Wanted | Settled]:
        """Say what results shall be told, or why they are not."""
        taken: set[str] = set()
        found: list[_Wanted | Settled] = []
        for item in sorted(items, key=lambda one: (stored[one.key].executed_at if one.key in stored else 0, one.key)):
            one = stored.get(item.key)
            check = checks.get(one.check) if one else None
            if one is None or check is None or check.outcome in (Outcome.UNWANTED, Outcome.OFF):
                found.append(item.linked(Outcome.UNWANTED, check.reason if check else "its check is not known"))
            elif check.remote is None:
                found.append(item.linked(Outcome.WAITING, "its test case is not there"))
            else:
                wanted = self._at_its_time(item, check.remote, one, taken)
                taken.add(wanted.remote.id)
                before = told_elsewhere(self._at.items, item, None, wanted.moment)
                found.append(_known(wanted) or wanted._replace(before=tuple(before)))
        return found

    def _at_its_time(self, item: Item, case: Remote, stored: StoredResult, taken: set[str]) -> _Wanted:
        """Find the time by which a result is known: when it was made, or a moment later if another one has that."""
        time = stored.executed_at // 1_000
        while f"{case.id}/{time}" in taken or any(
            one.key != item.key for one in self._at.items.of_remote(f"{case.id}/{time}")
        ):
            time += 1
        body = result(stored.status, time, stored.said)
        return _Wanted(item, case, body, fingerprint([case, body]))

    def _post_all(self, group: Sequence[_Wanted]) -> list[Settled | Failed]:
        """Tell the results of one test case, one after the other, as far as it goes."""
        done: list[Settled | Failed] = []
        for one in group:
            try:
                told = self._post(one)
            except LineageBridgeError as error:
                done.append(Failed(one.item, self._at.failed(error), one.body, one.mark))
            else:
                done.append(told.settled())
        return done

    def _post(self, one: _Wanted) -> _Wanted:
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

    def _is_told(self, one: _Wanted) -> bool:
        """Tell whether the result that is there says the same."""
        there = self._at.client.results(one.case.name, one.body["timestamp"], one.body["timestamp"])
        return any(is_said(one.body, row) for row in there or ())

    def _tell_newest(
        self, done: Sequence[Settled | Failed], stored: dict[bytes, StoredResult], checks: dict[bytes, Item]
    ) -> set[tuple[str, bytes]]:
        """Tell the newest result of a check again after an older one, for the last one told is what is shown.

        Gives the results that could not be told again.
        """
        told = {stored[one.item.key].check for one in done if isinstance(one, Settled)}
        newest = read_newest(self._at.db, self._at.org, told)
        known = self._at.items.of("result", [key for key, _ in newest.values()])
        pushed = {one.item.key for one in done}
        doubtful = set()
        for check, (key, one) in newest.items():
            remote, case = known[key].remote if key in known else None, checks[check].remote
            if key in pushed or remote is None or case is None or remote.name != case.name:
                continue
            timestamp = int(remote.id.rpartition("/")[2])
            try:
                self._at.client.delete_result(case.name, timestamp)
                self._at.client.post_result(case.name, result(one.status, timestamp, one.said))
            except LineageBridgeError:
                doubtful.add(("result", key))
        return doubtful


def _known(wanted: _Wanted) -> Settled | None:
    """Settle what is as it was when it was last told, or refused."""
    item = wanted.item
    if item.fingerprint != wanted.mark:
        return None
    if item.outcome in GIVEN_UP:
        return item.linked(Outcome(item.outcome), item.reason)
    return item.linked(Outcome.UNCHANGED, item.reason) if item.remote == wanted.remote else None


def _failed(group: Sequence[_Wanted], error: LineageBridgeError) -> list[Settled | Failed]:
    return [Failed(one.item, error, one.body, one.mark) for one in group]
