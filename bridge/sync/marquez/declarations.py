"""Sends declared jobs and governed datasets."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bridge.sync.marquez.canonical import MarquezDataset, MarquezJob, newest_sent_run, read_datasets, read_jobs
from bridge.sync.marquez.context import NAME, MarquezContext
from bridge.sync.sync_item import (
    Completed,
    Failure,
    Outcome,
    RemoteReference,
    SyncItem,
    complete_unchanged,
    fingerprint,
    is_unchanged,
)
from bridge.sync.target import BatchResult, ItemKey
from connectors.errors import TargetRejected
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.marquez.events import dataset_event, job_event
from mappers.marquez.governance import MarquezTags, governance_facets, governance_tags
from mappers.marquez.names import find_unsafe_name

_ONLY_RUNS = "only its runs describe it: `dead list` shows rejected ones"
_WITH_RUN = "sent with the terminal event of its newest run"


class JobDeclaration(NamedTuple):
    """A job to declare with a job event."""

    item: SyncItem
    name: str
    event: JsonObject
    fingerprint: bytes


class JobDeclarationSender:
    """Sends declared jobs. Not thread-safe."""

    def __init__(self, ctx: MarquezContext) -> None:
        self._ctx = ctx

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        planned, to_verify = self.plan(items)
        sent = self._ctx.requests.map(
            self._send, [job for job in planned if isinstance(job, JobDeclaration)], _failed_declaration
        )
        return BatchResult(
            [*(result for result in planned if not isinstance(result, JobDeclaration)), *sent], to_verify=to_verify
        )

    def plan(self, items: Sequence[SyncItem]) -> tuple[list[JobDeclaration | Completed | Failure], set[ItemKey]]:
        """Plan what to send for each job; also returns the runs to send again because they carry a declaration."""
        jobs = read_jobs(self._ctx.db, self._ctx.org, [item.key for item in items])
        to_verify: set[ItemKey] = set()
        return [self._plan_item(item, jobs, to_verify) for item in items], to_verify

    def _plan_item(
        self, item: SyncItem, jobs: Mapping[bytes, MarquezJob], to_verify: set[ItemKey]
    ) -> JobDeclaration | Completed | Failure:
        """Plan how a job is declared: with its newest sent run (added to `to_verify`) or by its own job event."""
        job = jobs.get(item.key)
        if job is None or not (job.declared_facets or job.inputs or job.outputs):
            return item.complete(Outcome.UNWANTED, _ONLY_RUNS)
        content_fingerprint = fingerprint([job.namespace, job.name, job.declared_facets, job.inputs, job.outputs])
        if is_unchanged(item, content_fingerprint):
            return complete_unchanged(item)
        name = f"{job.namespace} {job.name}"
        if newest := newest_sent_run(self._ctx.db, self._ctx.org, NAME, item.key):
            _, newest_run = newest
            to_verify.add(("run", newest_run))
            return Completed(
                item,
                Outcome.PUSHED,
                _WITH_RUN,
                content_fingerprint,
                RemoteReference("job", name, name),
                created_by_us=True,
            )
        if job.has_runs:
            return item.complete(
                Outcome.UNWANTED, "described by the terminal events of its runs, none of which was sent yet"
            )
        body = {"namespace": job.namespace, "name": job.name, "facets": job.facets}
        event = job_event(body, job.inputs, job.outputs, job.declared_at)
        if reason := find_unsafe_name(event):
            return Failure(item, TargetRejected(reason, 0), event, content_fingerprint)
        return JobDeclaration(item, name, event, content_fingerprint)

    def _send(self, job: JobDeclaration) -> Completed | Failure:
        self._ctx.client.send(job.event)
        return Completed(
            job.item,
            Outcome.PUSHED,
            None,
            job.fingerprint,
            RemoteReference("job", job.name, job.name),
            created_by_us=True,
        )


def _failed_declaration(job: JobDeclaration, error: LineageBridgeError) -> Completed | Failure:
    return Failure(job.item, error, job.event, job.fingerprint)


_TAGS, _COLUMN_TAGS = "tags", "column_tags"
#: Marquez fails to tag columns of datasets with aliases.
_UNTAGGED = "column tags not set (unknown column, or Marquez cannot tag columns of datasets with aliases)"


class GovernedDataset(NamedTuple):
    """A dataset that has or had governance."""

    item: SyncItem
    name: str
    dataset: MarquezDataset
    event: JsonObject
    #: Desired tags, and tags to remove that this bridge set.
    tags: MarquezTags
    removed_tags: MarquezTags
    fingerprint: bytes


class GovernedDatasetSender:
    """Sends governed datasets. Not thread-safe."""

    def __init__(self, ctx: MarquezContext) -> None:
        self._ctx = ctx

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        planned = self.plan(items)
        desired = [dataset for dataset in planned if isinstance(dataset, GovernedDataset)]
        self._ctx.items.record_intent(
            (dataset.item, _tag_record(dataset.tags, dataset.removed_tags)) for dataset in desired
        )
        sent = self._ctx.requests.map(self._send, desired, _failed_dataset)
        return BatchResult([*(result for result in planned if not isinstance(result, GovernedDataset)), *sent])

    def plan(self, items: Sequence[SyncItem]) -> list[GovernedDataset | Completed | Failure]:
        """Plan what to send for each dataset."""
        datasets = read_datasets(self._ctx.db, self._ctx.org, [item.key for item in items])
        return [self._plan_item(item, datasets.get(item.key)) for item in items]

    def _plan_item(self, item: SyncItem, dataset: MarquezDataset | None) -> GovernedDataset | Completed | Failure:
        if dataset is None or (not dataset.governance and item.remote is None and not item.record):
            return item.complete(Outcome.UNWANTED, "it has no governance")
        facets = governance_facets(dataset.governance)
        content_fingerprint = fingerprint([facets, dataset.namespace, dataset.name])
        if is_unchanged(item, content_fingerprint):
            return complete_unchanged(item)
        fields = [{"name": column.name, "type": column.type} for column in dataset.columns if column.depth == 0]
        if fields:
            facets["schema"] = {"fields": fields}
        body = {"namespace": dataset.namespace, "name": dataset.name, "facets": facets}
        event = dataset_event(body, dataset.governance_at)
        if reason := find_unsafe_name(event):
            return Failure(item, TargetRejected(reason, 0), event, content_fingerprint)
        tags = possible_tags(dataset)
        return GovernedDataset(
            item,
            f"{dataset.namespace} {dataset.name}",
            dataset,
            event,
            tags,
            _recorded_tags(item).without(tags),
            content_fingerprint,
        )

    def _send(self, dataset: GovernedDataset) -> Completed | Failure:
        """Send the dataset, then its tags: it must exist before its tags can be changed."""
        name, client = (dataset.dataset.namespace, dataset.dataset.name), self._ctx.client
        client.send(dataset.event)
        for tag in sorted(dataset.tags.dataset_tags):
            client.add_tag(*name, tag)
        for tag in sorted(dataset.removed_tags.dataset_tags):
            client.remove_tag(*name, tag)
        for column, tag in sorted(dataset.tags.column_tags):
            client.add_field_tag(*name, column, tag)
        for column, tag in sorted(dataset.removed_tags.column_tags):
            client.remove_field_tag(*name, column, tag)
        skipped = governance_tags(dataset.dataset.governance).without(dataset.tags).column_tags
        reason = f"{_UNTAGGED}: {', '.join(sorted({column for column, _ in skipped}))}" if skipped else None
        remote, record = RemoteReference("dataset", " ".join(name), " ".join(name)), _tag_record(dataset.tags)
        return Completed(
            dataset.item, Outcome.PUSHED, reason, dataset.fingerprint, remote, created_by_us=True, record=record
        )


def possible_tags(dataset: MarquezDataset) -> MarquezTags:
    """Desired tags that can be set in Marquez."""
    desired = governance_tags(dataset.governance)
    columns = set() if dataset.has_aliases else {column.name for column in dataset.columns}
    return desired._replace(column_tags=frozenset(pair for pair in desired.column_tags if pair[0] in columns))


def _recorded_tags(item: SyncItem) -> MarquezTags:
    """Tags that this bridge has set or may have set."""
    return MarquezTags(
        frozenset(item.record.get(_TAGS, ())),
        frozenset((column, tag) for column, tag in item.record.get(_COLUMN_TAGS, ())),
    )


def _tag_record(*tags: MarquezTags) -> dict[str, Any]:
    dataset_tags = {tag for tag_set in tags for tag in tag_set.dataset_tags}
    return {
        _TAGS: sorted(dataset_tags),
        _COLUMN_TAGS: sorted(list(pair) for tag_set in tags for pair in tag_set.column_tags),
    }


def _failed_dataset(dataset: GovernedDataset, error: LineageBridgeError) -> Completed | Failure:
    return Failure(dataset.item, error, dataset.event, dataset.fingerprint)
