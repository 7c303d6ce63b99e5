"""Compares the newest runs, declared jobs and governed datasets with Marquez."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from bridge.sync.marquez import NAME, MarquezContext
from bridge.sync.marquez.canonical import (
    MarquezDataset,
    MarquezJob,
    newest_sent_run,
    read_datasets,
    read_jobs,
    read_runs,
)
from bridge.sync.marquez.declarations import possible_tags
from bridge.sync.marquez.runs import required_events
from bridge.sync.sync_item import SyncItem
from bridge.sync.target import ComparedBatch, Difference
from mappers.canonical_json import JsonObject
from mappers.marquez.events import RUNNING, is_streaming, run_state
from mappers.marquez.metadata import is_alias

_BATCH_SIZE = 100
#: State of a run that Marquez knows but that has not started.
_NEW = "NEW"
_MISSING = "is missing"
_SENT_RUNS = """
SELECT i.key, r.job_id, row_number() OVER (
  PARTITION BY r.job_id ORDER BY coalesce(r.started_at, r.created_at) DESC, r.run_id DESC) AS place
FROM sync_item i JOIN ol_run r ON r.org_id = i.org_id AND r.run_id = i.key
WHERE i.org_id = ?1 AND i.target = ?2 AND i.kind = 'run' AND i.remote_id IS NOT NULL AND i.settled >= i.marked
"""
_STARTS = "SELECT run_id, coalesce(started_at, created_at) FROM ol_run WHERE org_id = ?1 AND run_id {ids}"
_NEWEST = f"SELECT job_id, key FROM ({_SENT_RUNS}) n WHERE n.place = 1 ORDER BY job_id"
_OLDER = f"SELECT key FROM ({_SENT_RUNS} AND r.job_id = ?3) n WHERE n.place > ?4 ORDER BY n.place LIMIT ?5"


#: One of this many comparisons looks up all outputs of the newest runs.
_OUTPUTS_EVERY = 24


class _Check(NamedTuple):
    """A check of one item; `describe_difference` returns None if the item is in sync."""

    item: SyncItem
    describe_difference: Callable[[], str | None]


class MarquezComparison:
    """Compares Marquez with the sent events; requests run in a thread pool. Not thread-safe."""

    def __init__(self, ctx: MarquezContext) -> None:
        self._ctx = ctx
        self._comparisons = 0
        #: Existing outputs of jobs, and the time at which Marquez had last changed the job.
        self._verified_outputs: dict[tuple[str, str], str] = {}

    def compare(self) -> Iterator[ComparedBatch]:
        """Compare the newest run of each job.

        If Marquez lacks that run, older runs are compared too, because Marquez may have been restored from a backup.
        Outputs that existed are looked up again only if Marquez has changed their job since, or once in
        `_OUTPUTS_EVERY` comparisons.
        """
        if self._comparisons % _OUTPUTS_EVERY == 0:
            self._verified_outputs.clear()
        self._comparisons += 1
        newest = self._ctx.db.fetch_all(_NEWEST, self._ctx.org, NAME)
        for i in range(0, len(newest), _BATCH_SIZE):
            job_by_run = {bytes(run): bytes(job) for job, run in newest[i : i + _BATCH_SIZE]}
            differences = self._compare_runs(list(job_by_run), newest=True)
            checked = len(job_by_run)
            for missing in [difference for difference in differences if difference.description == _MISSING]:
                older_differences, older_checked = self._compare_older_runs(job_by_run[missing.key])
                differences += older_differences
                checked += older_checked
            yield ComparedBatch("run", checked, self._oldest_first(differences))
        yield from self._compare_declared("job", self._job_checks)
        yield from self._compare_declared("dataset", self._dataset_checks)

    def _compare_declared(
        self, kind: str, prepare_checks: Callable[[Sequence[SyncItem]], Iterator[_Check]]
    ) -> Iterator[ComparedBatch]:
        """Compare declared jobs or governed datasets."""
        for items in self._ctx.items.batches(kind, _BATCH_SIZE):
            checks = list(prepare_checks([item for item in items if item.remote]))
            descriptions = self._ctx.pool.map(lambda check: check.describe_difference(), checks)
            differences = [
                Difference(kind, item.key, item.remote.name if item.remote else "", description)
                for (item, _), description in zip(checks, descriptions, strict=True)
                if description
            ]
            yield ComparedBatch(kind, len(checks), differences)

    def _job_checks(self, items: Sequence[SyncItem]) -> Iterator[_Check]:
        """Yield checks of jobs without sent runs; other jobs are checked with their newest run."""
        jobs = read_jobs(self._ctx.db, self._ctx.org, [item.key for item in items])
        for item in items:
            if newest_sent_run(self._ctx.db, self._ctx.org, NAME, item.key) is None:
                yield _Check(item, partial(self._check_job, jobs[item.key]))

    def _check_job(self, job: MarquezJob) -> str | None:
        return None if self._ctx.client.get_job(job.namespace, job.name) else _MISSING

    def _dataset_checks(self, items: Sequence[SyncItem]) -> Iterator[_Check]:
        """Yield a governance check for each dataset."""
        datasets = read_datasets(self._ctx.db, self._ctx.org, [item.key for item in items])
        for item in items:
            yield _Check(item, partial(self._check_dataset, datasets[item.key]))

    def _check_dataset(self, dataset: MarquezDataset) -> str | None:
        remote = self._ctx.client.get_dataset(dataset.namespace, dataset.name)
        if remote is None:
            return _MISSING
        if dataset.governance.get("description") not in (None, remote.get("description")):
            return "has another description"
        missing_tags = possible_tags(dataset).dataset_tags - set(remote.get("tags") or ())
        return f"tag {min(missing_tags)} is missing" if missing_tags else None

    def _compare_older_runs(self, job: bytes) -> tuple[list[Difference], int]:
        """Compare older runs of a job until one exists. Return the differences and the number of compared runs."""
        differences: list[Difference] = []
        checked = 0
        while rows := self._ctx.db.fetch_all(_OLDER, self._ctx.org, NAME, job, checked + 1, _BATCH_SIZE):
            batch_differences = self._compare_runs([bytes(run) for (run,) in rows], newest=False)
            differences += batch_differences
            checked += len(rows)
            if len(batch_differences) < len(rows):
                break
        return differences, checked

    def _oldest_first(self, differences: list[Difference]) -> list[Difference]:
        """Sort by start, because runs are sent again in this order and Marquez derives versions from the order."""
        runs = sorted(difference.key for difference in differences)
        starts = dict(self._ctx.db.fetch_for_ids(_STARTS, runs, self._ctx.org))
        return sorted(differences, key=lambda difference: (starts.get(difference.key) or 0, difference.key))

    def _compare_runs(self, runs: Sequence[bytes], *, newest: bool) -> list[Difference]:
        stored_runs = read_runs(self._ctx.db, self._ctx.org, runs)
        events = {key: list(required_events(stored_runs[key]).values()) for key in runs if stored_runs[key].events}
        items = self._ctx.items.get("run", runs)
        checks = [(items[key], run_events) for key, run_events in events.items() if key in items]
        descriptions = self._ctx.pool.map(lambda check: self._check_run(*check, newest=newest), checks)
        return [
            Difference("run", item.key, item.remote.name if item.remote else "", description)
            for (item, _), description in zip(checks, descriptions, strict=True)
            if description
        ]

    def _check_run(self, item: SyncItem, events: Sequence[JsonObject], *, newest: bool) -> str | None:
        """Describe how a run (or the job of the newest run) differs from the sent events; None if they match."""
        run = self._ctx.client.get_run(item.remote.id) if item.remote else None
        if run is None:
            return _MISSING
        expected_state, state = run_state(events[-1]), run.get("state")
        if state != expected_state and not (expected_state == RUNNING and state == _NEW):
            return f"state is {state} instead of {expected_state}"
        if not newest or expected_state == RUNNING:
            return None
        version = run.get("jobVersion")
        if not version:  # Marquez creates none if the terminal event of a streaming run names no datasets
            names_datasets = any(event["inputs"] or event["outputs"] for event in events)
            return "has no job version" if names_datasets or not is_streaming(events[-1]) else None
        job = self._ctx.client.get_job(version["namespace"], version["name"])
        return "its job is missing" if job is None else self._check_graph(job, events, _datasets_of_run(run))

    def _check_graph(
        self, job: JsonObject, events: Sequence[JsonObject], used_by_run: set[tuple[str, str]]
    ) -> str | None:
        """Describe the first missing or additional dataset in the graph of a job; None if the graph is as expected.

        Aliases, and datasets that other producers reported for the same run, do not count as additional.
        """
        for field, role in (("inputs", "input"), ("outputs", "output")):
            expected = {(dataset["namespace"], dataset["name"]) for event in events for dataset in event[field]}
            remote = {(dataset["namespace"], dataset["name"]) for dataset in job.get(field) or ()}
            if missing := sorted(expected - remote):
                return f"its job lacks {role} {' '.join(missing[0])}"
            for name in sorted(remote - expected - used_by_run):
                if not is_alias(self._ctx.client.get_dataset(*name) or {}):
                    return f"its job has an additional {role}: {' '.join(name)}"
            if role == "output":
                for name in sorted(expected):
                    if not self._output_exists(name, str(job.get("updatedAt"))):
                        return f"its output {' '.join(name)} is missing"
        return None

    def _output_exists(self, name: tuple[str, str], job_updated_at: str) -> bool:
        if self._verified_outputs.get(name) == job_updated_at:
            return True
        if self._ctx.client.get_dataset(*name) is None:
            return False
        self._verified_outputs[name] = job_updated_at
        return True


def _datasets_of_run(run: JsonObject) -> set[tuple[str, str]]:
    """Return the names of the datasets that a run read and wrote, as reported by any producer."""
    versions = [*(run.get("inputDatasetVersions") or ()), *(run.get("outputDatasetVersions") or ())]
    return {(version["datasetVersionId"]["namespace"], version["datasetVersionId"]["name"]) for version in versions}
