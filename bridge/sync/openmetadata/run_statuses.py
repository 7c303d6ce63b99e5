"""Pushes run statuses of pipelines."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from bridge.sync.canonical.jobs import read_jobs
from bridge.sync.canonical.runs import CanonicalDatasetUsage, CanonicalRun, read_runs
from bridge.sync.openmetadata.context import (
    NOT_FOUND,
    ObservationLocation,
    OpenMetadataContext,
    items_to_verify,
    stale_locations,
    with_attempt,
    with_previous,
)
from bridge.sync.sync_item import ABANDONED, Completed, Failure, Outcome, RemoteReference, SyncItem, fingerprint
from bridge.sync.target import BatchResult, PlanStep
from connectors.errors import TargetRejected, TargetUnavailable
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.openmetadata.fqn import entity_name
from mappers.openmetadata.pipeline_status import DatasetUsage, RunContent, TaskExecution, pipeline_status


class DescribedRun(NamedTuple):
    """A run, the job that it is told as, and its pipeline as far as that is there; it began at a time in millis."""

    job: bytes
    pipeline: RemoteReference | None
    began: int
    told: RunContent


class RunStatusSource:
    """Describes runs. Not for several threads at once."""

    def __init__(self, at: OpenMetadataContext) -> None:
        self._at = at

    def read(self, runs: Collection[bytes]) -> dict[bytes, DescribedRun]:
        """Describe runs; one that is told as another is not among them."""
        stored = read_runs(self._at.db, self._at.org, self._at.rules.folding, runs)
        jobs = self._at.items.get("job", {run.job for run in stored.values()})
        usages = (one for run in stored.values() for one in (*run.inputs, *run.outputs))
        datasets = self._at.items.get("dataset", {one.dataset for one in usages})
        names = {key: item.remote.name for key, item in datasets.items() if item.remote}
        steps = self._steps(jobs)
        return {
            key: DescribedRun(
                run.job,
                jobs[run.job].remote if run.job in jobs else None,
                run.started_at // 1_000,
                _described(run, names, steps.get(run.job, {})),
            )
            for key, run in stored.items()
        }

    def _steps(self, jobs: dict[bytes, SyncItem]) -> dict[bytes, dict[bytes, list[str]]]:
        """Name the tasks that actions are told as, of those that their pipelines have over there."""
        shown = read_jobs(self._at.db, self._at.org, self._at.rules.folding, jobs).logical
        steps: dict[bytes, dict[bytes, list[str]]] = {job: {} for job in jobs}
        for job, stored in shown.items():
            there = set(jobs[job].record.get("tasks", ()))
            for task in stored.tasks:
                for action in task.actions if entity_name(task.name).name in there else ():
                    steps[job].setdefault(action, []).append(task.name)
        return steps


def _described(run: CanonicalRun, names: Mapping[bytes, str], steps: Mapping[bytes, Sequence[str]]) -> RunContent:
    return RunContent(
        run.run_uuid,
        run.status,
        _millis(run.ended_at),
        run.error,
        (_time(run.nominal[0]), _time(run.nominal[1])),
        _usages(run.inputs, names),
        _usages(run.outputs, names),
        tuple(
            TaskExecution(name, step.status, _millis(step.started_at), _millis(step.ended_at))
            for step in run.steps
            for name in steps.get(step.job, ())
        ),
    )


def _usages(used: Sequence[CanonicalDatasetUsage], names: Mapping[bytes, str]) -> tuple[DatasetUsage, ...]:
    told = {names[one.dataset]: one for one in used if one.dataset in names}  # two names may be one entity
    return tuple(DatasetUsage(name, one.rows, one.bytes, one.version) for name, one in sorted(told.items()))


def _millis(micros: int | None) -> int | None:
    return None if micros is None else micros // 1_000


def _time(micros: int | None) -> str | None:
    return None if micros is None else datetime.fromtimestamp(micros / 1_000_000, UTC).isoformat()


_TYPE = "pipelineStatus"
#: The most statuses that a server takes at once.
_MAX_BATCH = 1_000
_SERVER_FAILED = 500
#: What becomes of runs that have no status, or none any more.
_UNTOLD = (Outcome.UNWANTED, Outcome.WAITING)
#: A run without a status, and where it may have one.
_Left = tuple[Completed, list[ObservationLocation]]
#: The fingerprint of what is not told: where it is missing it is not known either what the server has of it.
_UNTOLD_MARK = fingerprint("untold")
_UNKNOWN_TASK = "Invalid task name"


class _DesiredStatus(NamedTuple):
    """A status as it shall be, where it was put before, and which pipeline it is of."""

    item: SyncItem
    job: bytes
    pipeline: RemoteReference
    body: JsonObject
    mark: bytes
    #: Where it is told otherwise, and taken back.
    elsewhere: tuple[ObservationLocation, ...] = ()

    @property
    def remote(self) -> RemoteReference:
        """Name it: of a pipeline there is one at a time."""
        return RemoteReference(_TYPE, f"{self.pipeline.id}/{self.body['timestamp']}", self.pipeline.name)

    @property
    def moment(self) -> ObservationLocation:
        """Say where it is told."""
        return ObservationLocation(self.pipeline.name, self.pipeline.id, self.body["timestamp"])

    def settled(self) -> Completed:
        """Settle it as pushed."""
        detail = with_previous(self.item, self.moment)
        return Completed(self.item, Outcome.PUSHED, None, self.mark, self.remote, created_by_us=True, record=detail)


class RunStatusPusher:
    """Pushes statuses of runs. Not for several threads at once."""

    def __init__(self, at: OpenMetadataContext) -> None:
        self._at = at
        self._described = RunStatusSource(at)

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Make the server tell how runs went."""
        found = self._wanted(items)
        wanted = [one for one in found if isinstance(one, _DesiredStatus)]
        settled = [one for one in found if isinstance(one, Completed)]
        left = [(one, stale_locations(self._at.items, one.item, None)) for one in settled if one.outcome in _UNTOLD]
        results: list[Completed | Failure] = [one for one in settled if one.outcome not in _UNTOLD]
        results += self._at.workers.map(self._retract, left, _still_there)
        batches = _batches(wanted)
        self._at.items.record_intent(
            (one.item, with_attempt(one.item, one.moment)) for batch in batches for one in batch
        )
        done = [one for batch in self._at.workers.map(self._send, batches, _failed) for one in batch]
        jobs = {one.item.key: one.job for one in wanted}
        return BatchResult([*results, *done], to_verify=items_to_verify("job", done, jobs))

    def plan(self, items: Sequence[SyncItem], names: Mapping[bytes, str]) -> Iterator[PlanStep]:
        """Say how many statuses a push would write of each pipeline: names of those to be made by keys."""
        found = self._wanted(items)
        counts = Counter(one.pipeline.name for one in found if isinstance(one, _DesiredStatus))
        waiting = [one.item.key for one in found if isinstance(one, Completed) and one.outcome is Outcome.WAITING]
        stored = read_runs(self._at.db, self._at.org, self._at.rules.folding, waiting)
        counts.update(names[run.job] for run in stored.values() if run.job in names)
        for name, count in sorted(counts.items()):
            yield PlanStep("create", "status", f"{name}: {count} runs")

    def expected_bodies(self, items: Sequence[SyncItem]) -> dict[bytes, JsonObject]:
        """Give what was told of runs, of those that would be told the same now."""
        runs = self._described.read([item.key for item in items])
        found: dict[bytes, JsonObject] = {}
        for item in items:
            run = runs.get(item.key)
            if run is None or run.pipeline is None or item.remote is None:
                continue
            body = pipeline_status(run.told, int(item.remote.id.rpartition("/")[2]))
            if item.fingerprint == fingerprint([run.pipeline, body]):
                found[item.key] = body
        return found

    def _wanted(self, items: Sequence[SyncItem]) -> list[_DesiredStatus | Completed]:
        """Say what statuses runs shall have, or why they have none."""
        runs = self._described.read([item.key for item in items])
        taken: set[str] = set()
        found: list[_DesiredStatus | Completed] = []
        for item in sorted(items, key=lambda one: (runs[one.key].began if one.key in runs else 0, one.key)):
            run = runs.get(item.key)
            if run is None:
                found.append(item.complete(Outcome.UNWANTED, "it is told as another run, or nobody reported of it"))
            elif run.pipeline is None:
                found.append(item.complete(Outcome.WAITING, "its pipeline is not there"))
            else:
                one = self._status(item, run, run.pipeline, taken)
                taken.add(one.remote.id)
                elsewhere = stale_locations(self._at.items, item, one.moment)
                found.append(_known(one) or one._replace(elsewhere=tuple(elsewhere)))
        return found

    def _status(
        self, item: SyncItem, run: DescribedRun, pipeline: RemoteReference, taken: set[str]
    ) -> _DesiredStatus:
        """Find the time by which a status is known: when the run began, or a moment later if another one has that."""
        time = run.began
        while not self._is_free(item, f"{pipeline.id}/{time}", taken):
            time += 1
        body = pipeline_status(run.told, time)
        return _DesiredStatus(item, run.job, pipeline, body, fingerprint([pipeline, body]))

    def _is_free(self, item: SyncItem, id_: str, taken: set[str]) -> bool:
        others = (one for one in self._at.items.find_by_remote_id(id_) if one.key != item.key)
        return id_ not in taken and next(others, None) is None

    def _retract(self, left: _Left) -> Completed | Failure:
        """Delete the statuses of a run that is told as another by now."""
        settled, moments = left
        for moment in moments:
            self._at.client.delete_status(moment.of, moment.timestamp)
        detail = with_previous(settled.item, None)
        return settled._replace(remote=None, fingerprint=_UNTOLD_MARK, record=detail)

    def _send(self, batch: Sequence[_DesiredStatus]) -> list[Completed | Failure]:
        """Send statuses of one pipeline; what is refused as a whole is halved until the culprit is alone."""
        try:
            for one in batch:
                for moment in one.elsewhere:
                    self._at.client.delete_status(moment.of, moment.timestamp)
            self._at.client.put_statuses(batch[0].pipeline.name, [one.body for one in batch])
        except LineageBridgeError as error:
            refused = isinstance(error, TargetRejected) and error.status != NOT_FOUND
            failed = isinstance(error, TargetUnavailable) and error.status == _SERVER_FAILED
            if len(batch) > 1 and (refused or (failed and self._at.workers.server_responds())):
                half = len(batch) // 2
                return self._send(batch[:half]) + self._send(batch[half:])
            if refused and _UNKNOWN_TASK in str(error):  # somebody took it from the pipeline
                return _failed(batch, TargetUnavailable(str(error), NOT_FOUND))
            return _failed(batch, self._at.failed(error))
        return [one.settled() for one in batch]


def _known(one: _DesiredStatus) -> Completed | None:
    """Settle what is as it was when it was last pushed, or refused."""
    item = one.item
    if item.fingerprint != one.mark:
        return None
    if item.outcome in ABANDONED:
        return item.complete(Outcome(item.outcome), item.reason)
    return item.complete(Outcome.UNCHANGED, item.reason) if item.remote == one.remote else None


def _batches(wanted: Sequence[_DesiredStatus]) -> list[list[_DesiredStatus]]:
    """Put statuses of one pipeline together, as many as a server takes."""
    of: dict[str, list[_DesiredStatus]] = {}
    for one in wanted:
        of.setdefault(one.pipeline.name, []).append(one)
    return [found[i : i + _MAX_BATCH] for found in of.values() for i in range(0, len(found), _MAX_BATCH)]


def _failed(batch: Sequence[_DesiredStatus], error: LineageBridgeError) -> list[Completed | Failure]:
    return [Failure(one.item, error, one.body, one.mark) for one in batch]


def _still_there(left: _Left, error: LineageBridgeError) -> Completed | Failure:
    return Failure(left[0].item, error)
