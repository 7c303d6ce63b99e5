"""Runs as statuses describe them: by the names that datasets and steps have in OpenMetadata."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from bridge.sync.item import Item, Remote
from bridge.sync.jobs import read_jobs
from bridge.sync.openmetadata.workbench import Workbench
from bridge.sync.runs import RunUsage, StoredRun, read_runs
from mappers.openmetadata.fqn import entity_name
from mappers.openmetadata.runs import DescribedRun, TaskRun, Usage


class Described(NamedTuple):
    """A run, the job that it is told as, and its pipeline as far as that is there; it began at a time in millis."""

    job: bytes
    pipeline: Remote | None
    began: int
    told: DescribedRun


class DescribedRuns:
    """Describes runs. Not for several threads at once."""

    def __init__(self, at: Workbench) -> None:
        self._at = at

    def read(self, runs: Collection[bytes]) -> dict[bytes, Described]:
        """Describe runs; one that is told as another is not among them."""
        stored = read_runs(self._at.db, self._at.org, self._at.rules.folding, runs)
        jobs = self._at.items.of("job", {run.job for run in stored.values()})
        usages = (one for run in stored.values() for one in (*run.inputs, *run.outputs))
        datasets = self._at.items.of("dataset", {one.dataset for one in usages})
        names = {key: item.remote.name for key, item in datasets.items() if item.remote}
        steps = self._steps(jobs)
        return {
            key: Described(
                run.job,
                jobs[run.job].remote if run.job in jobs else None,
                run.began // 1_000,
                _described(run, names, steps.get(run.job, {})),
            )
            for key, run in stored.items()
        }

    def _steps(self, jobs: dict[bytes, Item]) -> dict[bytes, dict[bytes, list[str]]]:
        """Name the tasks that actions are told as, of those that their pipelines have over there."""
        shown = read_jobs(self._at.db, self._at.org, self._at.rules.folding, jobs).shown
        steps: dict[bytes, dict[bytes, list[str]]] = {job: {} for job in jobs}
        for job, stored in shown.items():
            there = set(jobs[job].detail.get("tasks", ()))
            for task in stored.tasks:
                for action in task.actions if entity_name(task.name).name in there else ():
                    steps[job].setdefault(action, []).append(task.name)
        return steps


def _described(run: StoredRun, names: Mapping[bytes, str], steps: Mapping[bytes, Sequence[str]]) -> DescribedRun:
    return DescribedRun(
        run.run_uuid,
        run.status,
        _millis(run.ended),
        run.error,
        (_time(run.nominal[0]), _time(run.nominal[1])),
        _usages(run.inputs, names),
        _usages(run.outputs, names),
        tuple(
            TaskRun(name, step.status, _millis(step.began), _millis(step.ended))
            for step in run.steps
            for name in steps.get(step.job, ())
        ),
    )


def _usages(used: Sequence[RunUsage], names: Mapping[bytes, str]) -> tuple[Usage, ...]:
    told = {names[one.dataset]: one for one in used if one.dataset in names}  # two names may be one entity
    return tuple(Usage(name, one.rows, one.bytes, one.version) for name, one in sorted(told.items()))


def _millis(micros: int | None) -> int | None:
    return None if micros is None else micros // 1_000


def _time(micros: int | None) -> str | None:
    return None if micros is None else datetime.fromtimestamp(micros / 1_000_000, UTC).isoformat()
