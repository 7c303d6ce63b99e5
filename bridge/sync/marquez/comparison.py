"""Compares what Marquez has with what it was told: newest runs with their graphs, and what is said beside them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from bridge.sync.marquez.canonical import (
    MarquezDataset,
    MarquezJob,
    newest_sent_run,
    read_datasets,
    read_jobs,
    read_runs,
)
from bridge.sync.marquez.context import NAME, MarquezContext
from bridge.sync.marquez.declarations import possible_tags
from bridge.sync.marquez.runs import required_events
from bridge.sync.sync_item import SyncItem
from bridge.sync.target import ComparedBatch, Difference
from mappers.canonical_json import JsonObject
from mappers.marquez.events import RUNNING, run_state
from mappers.marquez.metadata import is_alias

_AT_ONCE = 100
#: The state of a run that was told of, and not begun.
_NEW = "NEW"
_GONE = "is not there"
_TOLD = """
SELECT i.key, r.job_id, row_number() OVER (
  PARTITION BY r.job_id ORDER BY coalesce(r.started_at, r.created_at) DESC, r.run_id DESC) AS place
FROM sync_item i JOIN ol_run r ON r.org_id = i.org_id AND r.run_id = i.key
WHERE i.org_id = ?1 AND i.target = ?2 AND i.kind = 'run' AND i.remote_id IS NOT NULL AND i.settled >= i.marked
"""
_NEWEST = f"SELECT job_id, key FROM ({_TOLD}) n WHERE n.place = 1 ORDER BY job_id"
_OLDER = f"SELECT key FROM ({_TOLD} AND r.job_id = ?3) n WHERE n.place > ?4 ORDER BY n.place LIMIT ?5"


class MarquezComparison:
    """Says what is not as it was left; calls run in threads. Not for several threads at once."""

    def __init__(self, at: MarquezContext) -> None:
        self._at = at

    def compare(self) -> Iterator[ComparedBatch]:
        """Compare the newest run of each job; where it is gone, the others too: a backup may be back."""
        newest = self._at.db.fetch_all(_NEWEST, self._at.org, NAME)
        for i in range(0, len(newest), _AT_ONCE):
            jobs = {bytes(run): bytes(job) for job, run in newest[i : i + _AT_ONCE]}
            found = self._compared(list(jobs), newest=True)
            yield ComparedBatch("run", len(jobs), found)
            for one in found:
                if one.description == _GONE:
                    yield from self._older(jobs[one.key])

        yield from self._said("job", self._jobs)
        yield from self._said("dataset", self._datasets)

    def _said(
        self, kind: str, of: Callable[[Sequence[SyncItem]], Iterator[tuple[SyncItem, Callable[[], str | None]]]]
    ) -> Iterator[ComparedBatch]:
        """Compare what is declared of jobs, and what stewards say of datasets."""
        for items in self._at.items.batches(kind, _AT_ONCE):
            asked = list(of([item for item in items if item.remote]))
            wrong = self._at.pool.map(lambda one: one[1](), asked)
            found = [
                Difference(kind, item.key, item.remote.name if item.remote else "", what)
                for (item, _), what in zip(asked, wrong, strict=True)
                if what
            ]
            yield ComparedBatch(kind, len(asked), found)

    def _jobs(self, items: Sequence[SyncItem]) -> Iterator[tuple[SyncItem, Callable[[], str | None]]]:
        """Look for jobs that no run tells of; others are looked at with their newest run."""
        stored = read_jobs(self._at.db, self._at.org, [item.key for item in items])
        for item in items:
            if newest_sent_run(self._at.db, self._at.org, NAME, item.key) is None:
                yield item, partial(self._unknown, stored[item.key])

    def _unknown(self, job: MarquezJob) -> str | None:
        return None if self._at.client.get_job(job.namespace, job.name) else _GONE

    def _datasets(self, items: Sequence[SyncItem]) -> Iterator[tuple[SyncItem, Callable[[], str | None]]]:
        """Look for what stewards say of datasets."""
        stored = read_datasets(self._at.db, self._at.org, [item.key for item in items])
        for item in items:
            yield item, partial(self._unsaid, stored[item.key])

    def _unsaid(self, stored: MarquezDataset) -> str | None:
        there = self._at.client.get_dataset(stored.namespace, stored.name)
        if there is None:
            return _GONE
        if stored.said.get("description") not in (None, there.get("description")):
            return "has another description"
        lacking = possible_tags(stored).own - set(there.get("tags") or ())
        return f"lacks the tag {min(lacking)}" if lacking else None

    def _older(self, job: bytes) -> Iterator[ComparedBatch]:
        """Look for older runs of a job until some are there."""
        place = 1
        while rows := self._at.db.fetch_all(_OLDER, self._at.org, NAME, job, place, _AT_ONCE):
            found = self._compared([bytes(run) for (run,) in rows], newest=False)
            yield ComparedBatch("run", len(rows), found)
            if len(found) < len(rows):
                return
            place += len(rows)

    def _compared(self, runs: Sequence[bytes], *, newest: bool) -> list[Difference]:
        stored = read_runs(self._at.db, self._at.org, runs)
        events = {key: list(required_events(stored[key]).values()) for key in runs if stored[key].events}
        items = self._at.items.get("run", runs)
        asked = [(items[key], found) for key, found in events.items() if key in items]
        wrong = self._at.pool.map(lambda one: self._what(*one, newest=newest), asked)
        return [
            Difference("run", item.key, item.remote.name if item.remote else "", what)
            for (item, _), what in zip(asked, wrong, strict=True)
            if what
        ]

    def _what(self, item: SyncItem, events: Sequence[JsonObject], *, newest: bool) -> str | None:
        """Say what of a run, and of the graph that the newest one leaves, is not as it was left."""
        there = self._at.client.get_run(item.remote.id) if item.remote else None
        if there is None:
            return _GONE
        wanted, state = run_state(events[-1]), there.get("state")
        if state != wanted and not (wanted == RUNNING and state == _NEW):
            return f"is {state}, not {wanted}"
        version = there.get("jobVersion")
        if not newest or wanted == RUNNING or not version:
            return None
        job = self._at.client.get_job(version["namespace"], version["name"]) or {}
        return self._differing(job, events, _used(there))

    def _differing(self, job: JsonObject, events: Sequence[JsonObject], of_run: set[tuple[str, str]]) -> str | None:
        """Say which datasets the graph of a job lacks, or has too many.

        Other names of them are shown as well, and what others told of the same run.
        """
        for side, word in (("inputs", "input"), ("outputs", "output")):
            wanted = {(one["namespace"], one["name"]) for event in events for one in event[side]}
            there = {(one["namespace"], one["name"]) for one in job.get(side) or ()}
            if lacking := sorted(wanted - there):
                return f"its job lacks the {word} {' '.join(lacking[0])}"
            for name in sorted(there - wanted - of_run):
                if not is_alias(self._at.client.get_dataset(*name) or {}):
                    return f"its job has another {word}, {' '.join(name)}"
        return None


def _used(run: JsonObject) -> set[tuple[str, str]]:
    """Name what a run read and wrote, whoever told it."""
    used = [*(run.get("inputDatasetVersions") or ()), *(run.get("outputDatasetVersions") or ())]
    return {(one["datasetVersionId"]["namespace"], one["datasetVersionId"]["name"]) for one in used}
