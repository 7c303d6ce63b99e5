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
    """Content of a run status, with its job and pipeline; the start is in milliseconds."""

    job: bytes
    pipeline: RemoteReference | None
    started_ms: int
    content: RunContent


class RunStatusSource:
    """Reads the content of run statuses. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx

    def read(self, runs: Collection[bytes]) -> dict[bytes, DescribedRun]:
        """Content by run; runs that are shown as another run are left out."""
        canonical_runs = read_runs(self._ctx.db, self._ctx.org, self._ctx.options.folding, runs)
        jobs = self._ctx.items.get("job", {run.job for run in canonical_runs.values()})
        usages = (usage for run in canonical_runs.values() for usage in (*run.inputs, *run.outputs))
        datasets = self._ctx.items.get("dataset", {usage.dataset for usage in usages})
        names = {key: item.remote.name for key, item in datasets.items() if item.remote}
        task_names = self._task_names(jobs)
        return {
            key: DescribedRun(
                run.job,
                jobs[run.job].remote if run.job in jobs else None,
                run.started_at // 1_000,
                _content(run, names, task_names.get(run.job, {})),
            )
            for key, run in canonical_runs.items()
        }

    def _task_names(self, jobs: dict[bytes, SyncItem]) -> dict[bytes, dict[bytes, list[str]]]:
        """Names of the remote tasks of each action, by job and action."""
        logical_jobs = read_jobs(self._ctx.db, self._ctx.org, self._ctx.options.folding, jobs).logical
        task_names: dict[bytes, dict[bytes, list[str]]] = {job: {} for job in jobs}
        for job, logical_job in logical_jobs.items():
            remote_tasks = set(jobs[job].record.get("tasks", ()))
            for task in logical_job.tasks:
                for action in task.actions if entity_name(task.name).name in remote_tasks else ():
                    task_names[job].setdefault(action, []).append(task.name)
        return task_names


def _content(run: CanonicalRun, names: Mapping[bytes, str], task_names: Mapping[bytes, Sequence[str]]) -> RunContent:
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
            for name in task_names.get(step.job, ())
        ),
    )


def _usages(used: Sequence[CanonicalDatasetUsage], names: Mapping[bytes, str]) -> tuple[DatasetUsage, ...]:
    usage_by_name = {
        names[usage.dataset]: usage for usage in used if usage.dataset in names
    }  # two datasets may share one entity
    return tuple(
        DatasetUsage(name, usage.rows, usage.bytes, usage.version) for name, usage in sorted(usage_by_name.items())
    )


def _millis(micros: int | None) -> int | None:
    return None if micros is None else micros // 1_000


def _time(micros: int | None) -> str | None:
    return None if micros is None else datetime.fromtimestamp(micros / 1_000_000, UTC).isoformat()


_TYPE = "pipelineStatus"
#: Maximum number of statuses per request.
_MAX_BATCH = 1_000
_SERVER_ERROR = 500
#: Outcomes of runs without a status.
_WITHOUT_STATUS = (Outcome.UNWANTED, Outcome.WAITING)
#: A run without a status, and the locations where one may exist.
_Retraction = tuple[Completed, list[ObservationLocation]]
#: Fingerprint of runs that need no status. Without a fingerprint, the content of the server is unknown.
_NO_STATUS = fingerprint("untold")
_UNKNOWN_TASK = "Invalid task name"


class _DesiredStatus(NamedTuple):
    """A desired status and the locations that it replaces."""

    item: SyncItem
    job: bytes
    pipeline: RemoteReference
    body: JsonObject
    fingerprint: bytes
    #: Other locations of this run, to delete.
    stale: tuple[ObservationLocation, ...] = ()

    @property
    def remote(self) -> RemoteReference:
        """Remote reference of the status; a pipeline has one status per timestamp."""
        return RemoteReference(_TYPE, f"{self.pipeline.id}/{self.body['timestamp']}", self.pipeline.name)

    @property
    def location(self) -> ObservationLocation:
        return ObservationLocation(self.pipeline.name, self.pipeline.id, self.body["timestamp"])

    def completed(self) -> Completed:
        record = with_previous(self.item, self.location)
        return Completed(
            self.item, Outcome.PUSHED, None, self.fingerprint, self.remote, created_by_us=True, record=record
        )


class RunStatusPusher:
    """Pushes run statuses. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx
        self._source = RunStatusSource(ctx)

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        planned = self._plan(items)
        desired = [status for status in planned if isinstance(status, _DesiredStatus)]
        completed = [result for result in planned if isinstance(result, Completed)]
        retractions = [
            (result, stale_locations(self._ctx.items, result.item, None))
            for result in completed
            if result.outcome in _WITHOUT_STATUS
        ]
        results: list[Completed | Failure] = [result for result in completed if result.outcome not in _WITHOUT_STATUS]
        results += self._ctx.requests.map(self._delete_statuses, retractions, _retraction_failed)
        batches = _batches(desired)
        self._ctx.items.record_intent(
            (status.item, with_attempt(status.item, status.location)) for batch in batches for status in batch
        )
        pushed = [result for batch in self._ctx.requests.map(self._send, batches, _failed) for result in batch]
        jobs = {status.item.key: status.job for status in desired}
        return BatchResult([*results, *pushed], to_verify=items_to_verify("job", pushed, jobs))

    def plan(self, items: Sequence[SyncItem], names: Mapping[bytes, str]) -> Iterator[PlanStep]:
        """Count the statuses to push per pipeline; `names` are pipelines that the same push would create."""
        planned = self._plan(items)
        counts = Counter(status.pipeline.name for status in planned if isinstance(status, _DesiredStatus))
        waiting = [
            result.item.key
            for result in planned
            if isinstance(result, Completed) and result.outcome is Outcome.WAITING
        ]
        canonical_runs = read_runs(self._ctx.db, self._ctx.org, self._ctx.options.folding, waiting)
        counts.update(names[run.job] for run in canonical_runs.values() if run.job in names)
        for name, count in sorted(counts.items()):
            yield PlanStep("create", "status", f"{name}: {count} runs")

    def expected_bodies(self, items: Sequence[SyncItem]) -> dict[bytes, JsonObject]:
        """Bodies of pushed statuses with unchanged content."""
        runs = self._source.read([item.key for item in items])
        bodies: dict[bytes, JsonObject] = {}
        for item in items:
            run = runs.get(item.key)
            if run is None or run.pipeline is None or item.remote is None:
                continue
            body = pipeline_status(run.content, int(item.remote.id.rpartition("/")[2]))
            if item.fingerprint == fingerprint([run.pipeline, body]):
                bodies[item.key] = body
        return bodies

    def _plan(self, items: Sequence[SyncItem]) -> list[_DesiredStatus | Completed]:
        """Desired status of each run, or a completed item with the reason for its absence."""
        runs = self._source.read([item.key for item in items])
        taken_ids: set[str] = set()
        planned: list[_DesiredStatus | Completed] = []
        for item in sorted(items, key=lambda item: (runs[item.key].started_ms if item.key in runs else 0, item.key)):
            run = runs.get(item.key)
            if run is None:
                planned.append(item.complete(Outcome.UNWANTED, "shown as another run, or no event reported it"))
            elif run.pipeline is None:
                planned.append(item.complete(Outcome.WAITING, "its pipeline is not in OpenMetadata yet"))
            else:
                status = self._desired_status(item, run, run.pipeline, taken_ids)
                taken_ids.add(status.remote.id)
                stale = stale_locations(self._ctx.items, item, status.location)
                planned.append(_unchanged(status) or status._replace(stale=tuple(stale)))
        return planned

    def _desired_status(
        self, item: SyncItem, run: DescribedRun, pipeline: RemoteReference, taken_ids: set[str]
    ) -> _DesiredStatus:
        """Desired status; its timestamp is the start of the run or the next free millisecond."""
        time = run.started_ms
        while not self._is_free(item, f"{pipeline.id}/{time}", taken_ids):
            time += 1
        body = pipeline_status(run.content, time)
        return _DesiredStatus(item, run.job, pipeline, body, fingerprint([pipeline, body]))

    def _is_free(self, item: SyncItem, id_: str, taken_ids: set[str]) -> bool:
        other_items = (other for other in self._ctx.items.find_by_remote_id(id_) if other.key != item.key)
        return id_ not in taken_ids and next(other_items, None) is None

    def _delete_statuses(self, retraction: _Retraction) -> Completed | Failure:
        """Delete the published statuses of a run that should no longer have a status."""
        completed, locations = retraction
        for location in locations:
            self._ctx.client.delete_status(location.entity, location.timestamp)
        record = with_previous(completed.item, None)
        return completed._replace(remote=None, fingerprint=_NO_STATUS, record=record)

    def _send(self, batch: Sequence[_DesiredStatus]) -> list[Completed | Failure]:
        """Send statuses of one pipeline; if the server rejects a whole batch, halve it until the cause is found."""
        try:
            for status in batch:
                for location in status.stale:
                    self._ctx.client.delete_status(location.entity, location.timestamp)
            self._ctx.client.put_statuses(batch[0].pipeline.name, [status.body for status in batch])
        except LineageBridgeError as error:
            rejected = isinstance(error, TargetRejected) and error.status != NOT_FOUND
            server_error = isinstance(error, TargetUnavailable) and error.status == _SERVER_ERROR
            if len(batch) > 1 and (rejected or (server_error and self._ctx.requests.server_responds())):
                half = len(batch) // 2
                return self._send(batch[:half]) + self._send(batch[half:])
            if rejected and _UNKNOWN_TASK in str(error):  # the task was removed from the pipeline
                return _failed(batch, TargetUnavailable(str(error), NOT_FOUND))
            return _failed(batch, self._ctx.note_failure(error))
        return [status.completed() for status in batch]


def _unchanged(status: _DesiredStatus) -> Completed | None:
    """Complete an item if its status equals the last pushed or rejected one; otherwise None."""
    item = status.item
    if item.fingerprint != status.fingerprint:
        return None
    if item.outcome in ABANDONED:
        return item.complete(Outcome(item.outcome), item.reason)
    return item.complete(Outcome.UNCHANGED, item.reason) if item.remote == status.remote else None


def _batches(desired: Sequence[_DesiredStatus]) -> list[list[_DesiredStatus]]:
    """Split statuses into batches, each for a single pipeline."""
    statuses_by_pipeline: dict[str, list[_DesiredStatus]] = {}
    for status in desired:
        statuses_by_pipeline.setdefault(status.pipeline.name, []).append(status)
    return [
        statuses[i : i + _MAX_BATCH]
        for statuses in statuses_by_pipeline.values()
        for i in range(0, len(statuses), _MAX_BATCH)
    ]


def _failed(batch: Sequence[_DesiredStatus], error: LineageBridgeError) -> list[Completed | Failure]:
    return [Failure(status.item, error, status.body, status.fingerprint) for status in batch]


def _retraction_failed(retraction: _Retraction, error: LineageBridgeError) -> Completed | Failure:
    return Failure(retraction[0].item, error)
