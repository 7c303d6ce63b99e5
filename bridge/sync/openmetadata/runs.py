"""Brings runs to OpenMetadata: a status of their pipeline each, many of one pipeline in one call."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bridge.sync.item import GIVEN_UP, Failed, Item, Outcome, Remote, Settled, fingerprint
from bridge.sync.openmetadata.described_runs import Described, DescribedRuns
from bridge.sync.openmetadata.workbench import (
    NOT_FOUND,
    Moment,
    Workbench,
    begun,
    left_behind,
    missing,
    told_elsewhere,
)
from bridge.sync.runs import read_runs
from bridge.sync.target import Pushed, Step
from connectors.openmetadata.calls import Entity
from mappers.errors import LineageBridgeError, TargetBusy, TargetRefused
from mappers.openmetadata.runs import status

_TYPE = "pipelineStatus"
#: The most statuses that a server takes at once.
_MOST = 1_000
_SERVER_FAILED = 500
#: What becomes of runs that have no status, or none any more.
_UNTOLD = (Outcome.UNWANTED, Outcome.WAITING)
#: A run without a status, and where it may have one.
_Left = tuple[Settled, list[Moment]]
#: The fingerprint of what is not told: where it is missing it is not known either what the server has of it.
_UNTOLD_MARK = fingerprint("untold")
_UNKNOWN_TASK = "Invalid task name"


class _Status(NamedTuple):
    """A status as it shall be, where it was put before, and which pipeline it is of."""

    item: Item
    job: bytes
    pipeline: Remote
    body: Entity
    mark: bytes
    #: Where it is told otherwise, and taken back.
    elsewhere: tuple[Moment, ...] = ()

    @property
    def remote(self) -> Remote:
        """Name it: of a pipeline there is one at a time."""
        return Remote(_TYPE, f"{self.pipeline.id}/{self.body['timestamp']}", self.pipeline.name)

    @property
    def moment(self) -> Moment:
        """Say where it is told."""
        return Moment(self.pipeline.name, self.pipeline.id, self.body["timestamp"])

    def settled(self) -> Settled:
        """Settle it as pushed."""
        detail = left_behind(self.item, self.moment)
        return Settled(self.item, Outcome.PUSHED, None, self.mark, self.remote, ours=True, detail=detail)


class Runs:
    """Pushes statuses of runs. Not for several threads at once."""

    def __init__(self, at: Workbench) -> None:
        self._at = at
        self._described = DescribedRuns(at)

    def push(self, items: Sequence[Item]) -> Pushed:
        """Make the server tell how runs went."""
        found = self._wanted(items)
        wanted = [one for one in found if isinstance(one, _Status)]
        settled = [one for one in found if isinstance(one, Settled)]
        left = [(one, told_elsewhere(self._at.items, one.item, None)) for one in settled if one.outcome in _UNTOLD]
        results: list[Settled | Failed] = [one for one in settled if one.outcome not in _UNTOLD]
        results += self._at.workers.map(self._taken_back, left, _still_there)
        batches = _batches(wanted)
        self._at.items.begin((one.item, begun(one.item, one.moment)) for batch in batches for one in batch)
        done = [one for batch in self._at.workers.map(self._send, batches, _failed) for one in batch]
        jobs = {one.item.key: one.job for one in wanted}
        return Pushed([*results, *done], doubtful=missing("job", done, jobs))

    def plan(self, items: Sequence[Item], names: Mapping[bytes, str]) -> Iterator[Step]:
        """Say how many statuses a push would write of each pipeline: names of those to be made by keys."""
        found = self._wanted(items)
        counts = Counter(one.pipeline.name for one in found if isinstance(one, _Status))
        waiting = [one.item.key for one in found if isinstance(one, Settled) and one.outcome is Outcome.WAITING]
        stored = read_runs(self._at.db, self._at.org, self._at.rules.folding, waiting)
        counts.update(names[run.job] for run in stored.values() if run.job in names)
        for name, count in sorted(counts.items()):
            yield Step("create", "status", f"{name}: {count} runs")

    def said(self, items: Sequence[Item]) -> dict[bytes, Entity]:
        """Give what was told of runs, of those that would be told the same now."""
        runs = self._described.read([item.key for item in items])
        found: dict[bytes, Entity] = {}
        for item in items:
            run = runs.get(item.key)
            if run is None or run.pipeline is None or item.remote is None:
                continue
            body = status(run.told, int(item.remote.id.rpartition("/")[2]))
            if item.fingerprint == fingerprint([run.pipeline, body]):
                found[item.key] = body
        return found

    def _wanted(self, items: Sequence[Item]) -> list[_Status | Settled]:
        """Say what statuses runs shall have, or why they have none."""
        runs = self._described.read([item.key for item in items])
        taken: set[str] = set()
        found: list[_Status | Settled] = []
        for item in sorted(items, key=lambda one: (runs[one.key].began if one.key in runs else 0, one.key)):
            run = runs.get(item.key)
            if run is None:
                found.append(item.linked(Outcome.UNWANTED, "it is told as another run, or nobody reported of it"))
            elif run.pipeline is None:
                found.append(item.linked(Outcome.WAITING, "its pipeline is not there"))
            else:
                one = self._status(item, run, run.pipeline, taken)
                taken.add(one.remote.id)
                elsewhere = told_elsewhere(self._at.items, item, one.moment)
                found.append(_known(one) or one._replace(elsewhere=tuple(elsewhere)))
        return found

    def _status(self, item: Item, run: Described, pipeline: Remote, taken: set[str]) -> _Status:
        """Find the time by which a status is known: when the run began, or a moment later if another one has that."""
        time = run.began
        while not self._is_free(item, f"{pipeline.id}/{time}", taken):
            time += 1
        body = status(run.told, time)
        return _Status(item, run.job, pipeline, body, fingerprint([pipeline, body]))

    def _is_free(self, item: Item, id_: str, taken: set[str]) -> bool:
        others = (one for one in self._at.items.of_remote(id_) if one.key != item.key)
        return id_ not in taken and next(others, None) is None

    def _taken_back(self, left: _Left) -> Settled | Failed:
        """Delete the statuses of a run that is told as another by now."""
        settled, moments = left
        for moment in moments:
            self._at.client.delete_status(moment.of, moment.timestamp)
        detail = left_behind(settled.item, None)
        return settled._replace(remote=None, fingerprint=_UNTOLD_MARK, detail=detail)

    def _send(self, batch: Sequence[_Status]) -> list[Settled | Failed]:
        """Send statuses of one pipeline; what is refused as a whole is halved until the culprit is alone."""
        try:
            for one in batch:
                for moment in one.elsewhere:
                    self._at.client.delete_status(moment.of, moment.timestamp)
            self._at.client.put_statuses(batch[0].pipeline.name, [one.body for one in batch])
        except LineageBridgeError as error:
            refused = isinstance(error, TargetRefused) and error.status != NOT_FOUND
            failed = isinstance(error, TargetBusy) and error.status == _SERVER_FAILED
            if len(batch) > 1 and (refused or (failed and self._at.workers.is_there())):
                half = len(batch) // 2
                return self._send(batch[:half]) + self._send(batch[half:])
            if refused and _UNKNOWN_TASK in str(error):  # somebody took it from the pipeline
                return _failed(batch, TargetBusy(str(error), NOT_FOUND))
            return _failed(batch, self._at.failed(error))
        return [one.settled() for one in batch]


def _known(one: _Status) -> Settled | None:
    """Settle what is as it was when it was last pushed, or refused."""
    item = one.item
    if item.fingerprint != one.mark:
        return None
    if item.outcome in GIVEN_UP:
        return item.linked(Outcome(item.outcome), item.reason)
    return item.linked(Outcome.UNCHANGED, item.reason) if item.remote == one.remote else None


def _batches(wanted: Sequence[_Status]) -> list[list[_Status]]:
    """Put statuses of one pipeline together, as many as a server takes."""
    of: dict[str, list[_Status]] = {}
    for one in wanted:
        of.setdefault(one.pipeline.name, []).append(one)
    return [found[i : i + _MOST] for found in of.values() for i in range(0, len(found), _MOST)]


def _failed(batch: Sequence[_Status], error: LineageBridgeError) -> list[Settled | Failed]:
    return [Failed(one.item, error, one.body, one.mark) for one in batch]


def _still_there(left: _Left, error: LineageBridgeError) -> Settled | Failed:
    return Failed(left[0].item, error)
