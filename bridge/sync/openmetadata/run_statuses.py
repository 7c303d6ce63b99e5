"""Pushes run statuses of pipelines."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from bridge.sync.canonical.jobs import read_jobs
from bridge.sync.canonical.runs import CanonicalDatasetUsage, CanonicalRun, read_runs
from bridge.sync.context import split_plan
from bridge.sync.openmetadata.context import OpenMetadataContext
from bridge.sync.openmetadata.desired_entities import EntityRecord
from bridge.sync.openmetadata.observations import (
    DesiredObservation,
    Observation,
    ObservationLocation,
    ObservationPusher,
    pushed_observation,
    stale_locations,
)
from bridge.sync.sync_item import Completed, Failure, Outcome, RemoteReference, SyncItem, all_failed
from bridge.sync.target import PlanStep
from mappers.canonical_json import JsonObject
from mappers.counts import count_of
from mappers.openmetadata.fqn import entity_name
from mappers.openmetadata.pipeline_status import DatasetUsage, RunContent, TaskExecution, pipeline_status
from mappers.timestamps import to_datetime


class DescribedRun(NamedTuple):
    """The content of a run status, with the job, pipeline and start of the run."""

    job: bytes
    pipeline: RemoteReference | None
    started_ms: int
    content: RunContent


class RunStatusSource:
    """Reads the content of run statuses. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx

    def read(self, runs: Collection[bytes]) -> dict[bytes, DescribedRun]:
        """Return the content by run; runs that are shown as another run are left out."""
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
        """Return the names of the tasks that represent each action in OpenMetadata, by job and action."""
        logical_jobs = read_jobs(self._ctx.db, self._ctx.org, self._ctx.options.folding, jobs).logical
        task_names: dict[bytes, dict[bytes, list[str]]] = {job: {} for job in jobs}
        for job, logical_job in logical_jobs.items():
            remote_tasks = set(jobs[job].read_record(EntityRecord).tasks)
            for task in logical_job.tasks:
                if entity_name(task.name).name in remote_tasks:
                    for action in task.actions:
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
    # two datasets may share one entity
    usage_by_name = {names[usage.dataset]: usage for usage in used if usage.dataset in names}
    return tuple(
        DatasetUsage(name, usage.rows, usage.bytes, usage.version) for name, usage in sorted(usage_by_name.items())
    )


def _millis(micros: int | None) -> int | None:
    return None if micros is None else micros // 1_000


def _time(micros: int | None) -> str | None:
    return None if micros is None else to_datetime(micros).isoformat()


#: Outcomes of runs without a status.
_WITHOUT_STATUS = (Outcome.UNWANTED, Outcome.WAITING)


class RunStatusPusher(ObservationPusher):
    """Pushes run statuses, many per request. Not thread-safe."""

    kind, entity_kind, type = "run", "job", "pipelineStatus"
    batch_size = 1_000

    def __init__(self, ctx: OpenMetadataContext) -> None:
        super().__init__(ctx)
        self._source = RunStatusSource(ctx)

    def plan(self, items: Sequence[SyncItem], names: Mapping[bytes, str]) -> Iterator[PlanStep]:
        """Count the statuses to push per pipeline; `names` contains pipelines that the same push would create."""
        results, desired = split_plan(self._plan(items))
        counts = Counter(status.entity.name for status in desired)
        waiting = [
            result.item.key
            for result in results
            if isinstance(result, Completed) and result.outcome is Outcome.WAITING
        ]
        canonical_runs = read_runs(self._ctx.db, self._ctx.org, self._ctx.options.folding, waiting)
        counts.update(names[run.job] for run in canonical_runs.values() if run.job in names)
        for name, count in sorted(counts.items()):
            yield PlanStep("create", "status", f"{name}: {count_of(count, 'run')}")

    def read_observations(self, items: Sequence[SyncItem]) -> list[Observation | Completed]:
        runs = self._source.read([item.key for item in items])
        return [_observation(item, runs.get(item.key)) for item in items]

    def read_remote(self, entity: str, start: int, end: int) -> list[JsonObject] | None:
        return self._ctx.client.statuses(entity, start, end)

    def _stale_locations(self, desired: DesiredObservation) -> Sequence[ObservationLocation]:
        return stale_locations(self._ctx.items, desired.item, desired.location)

    def _is_retracted(self, completed: Completed) -> bool:
        return completed.outcome in _WITHOUT_STATUS

    def _delete(self, location: ObservationLocation) -> None:
        self._ctx.client.delete_status(location.entity, location.timestamp)

    def _send_batch(self, batch: Sequence[DesiredObservation]) -> list[Completed | Failure]:
        return self._ctx.requests.send_in_halves(batch, self._put, all_failed)

    def _put(self, batch: Sequence[DesiredObservation]) -> list[Completed | Failure]:
        for status in batch:
            for location in status.stale:
                self._delete(location)
        self._ctx.client.put_statuses(batch[0].entity.name, [status.request for status in batch])
        return [pushed_observation(status) for status in batch]


def _observation(item: SyncItem, run: DescribedRun | None) -> Observation | Completed:
    if run is None:
        return item.complete(Outcome.UNWANTED, "shown as another run, or no event reported it")
    if run.pipeline is None:
        return item.complete(Outcome.WAITING, "its pipeline is not in OpenMetadata yet")
    return Observation(run.pipeline, run.job, run.started_ms, partial(pipeline_status, run.content))
