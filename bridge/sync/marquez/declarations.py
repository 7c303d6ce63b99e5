"""Sends declared jobs and governed datasets."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bridge.sync.context import split_plan
from bridge.sync.marquez import NAME, MarquezContext
from bridge.sync.marquez.canonical import MarquezDataset, MarquezJob, newest_sent_run, read_datasets, read_jobs
from bridge.sync.sync_item import (
    Completed,
    Failure,
    ItemRecord,
    Outcome,
    RemoteReference,
    SyncItem,
    fingerprint,
    pushed,
)
from bridge.sync.target import BatchResult, ItemKey
from connectors.errors import TargetRejected
from mappers.canonical_json import JsonObject
from mappers.marquez.events import dataset_event, job_event
from mappers.marquez.governance import MarquezTags, governance_facets, governance_tags
from mappers.marquez.names import find_unsafe_name

_ONLY_RUNS = "only its runs describe it: `dead list` shows rejected ones"
_WITH_RUN = "sent with the terminal event of its newest run"


class JobDeclaration(NamedTuple):
    """A job to declare with a job event."""

    item: SyncItem
    name: str
    request: JsonObject
    fingerprint: bytes


class JobDeclarationSender:
    """Sends declared jobs. Not thread-safe."""

    def __init__(self, ctx: MarquezContext) -> None:
        self._ctx = ctx

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        planned, to_verify = self.plan(items)
        return BatchResult(self._ctx.push_each(planned, self._send), to_verify=to_verify)

    def plan(self, items: Sequence[SyncItem]) -> tuple[list[JobDeclaration | Completed | Failure], set[ItemKey]]:
        """Plan what to send for each job. Also return the runs to send again because they carry a declaration."""
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
        if unchanged := item.complete_if_unchanged(content_fingerprint):
            return unchanged
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
        self._ctx.client.send(job.request)
        return pushed(job, RemoteReference("job", job.name, job.name))


#: Marquez fails to tag columns of datasets with aliases.
_UNTAGGED = "column tags not set (unknown column, or Marquez cannot tag columns of datasets with aliases)"


class TagRecord(ItemRecord, frozen=True):
    """Tags that this bridge has set or may have set."""

    tags: tuple[str, ...] = ()
    column_tags: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, *tags: MarquezTags) -> "TagRecord":
        dataset_tags = {tag for tag_set in tags for tag in tag_set.dataset_tags}
        column_tags = {pair for tag_set in tags for pair in tag_set.column_tags}
        return cls(tuple(sorted(dataset_tags)), tuple(sorted(column_tags)))


class GovernedDataset(NamedTuple):
    """A dataset that has or had governance."""

    item: SyncItem
    name: str
    dataset: MarquezDataset
    request: JsonObject
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
        _, datasets = split_plan(planned)
        self._ctx.items.record_intent(
            (dataset.item, TagRecord.of(dataset.tags, dataset.removed_tags)) for dataset in datasets
        )
        return BatchResult(self._ctx.push_each(planned, self._send))

    def plan(self, items: Sequence[SyncItem]) -> list[GovernedDataset | Completed | Failure]:
        """Plan what to send for each dataset."""
        datasets = read_datasets(self._ctx.db, self._ctx.org, [item.key for item in items])
        return [self._plan_item(item, datasets.get(item.key)) for item in items]

    def _plan_item(self, item: SyncItem, dataset: MarquezDataset | None) -> GovernedDataset | Completed | Failure:
        recorded = item.read_record(TagRecord)
        if dataset is None or (not dataset.governance and item.remote is None and recorded == TagRecord()):
            return item.complete(Outcome.UNWANTED, "it has no governance")
        facets = governance_facets(dataset.governance)
        content_fingerprint = fingerprint([facets, dataset.namespace, dataset.name])
        if unchanged := item.complete_if_unchanged(content_fingerprint):
            return unchanged
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
            MarquezTags(frozenset(recorded.tags), frozenset(recorded.column_tags)).without(tags),
            content_fingerprint,
        )

    def _send(self, dataset: GovernedDataset) -> Completed | Failure:
        """Send the dataset, then its tags: it must exist before its tags can be changed."""
        client = self._ctx.client
        name = (dataset.dataset.namespace, dataset.dataset.name)
        client.send(dataset.request)
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
        remote = RemoteReference("dataset", " ".join(name), " ".join(name))
        return pushed(dataset, remote, reason, TagRecord.of(dataset.tags))


def possible_tags(dataset: MarquezDataset) -> MarquezTags:
    """Return desired tags that can be set in Marquez."""
    desired = governance_tags(dataset.governance)
    columns = set() if dataset.has_aliases else {column.name for column in dataset.columns}
    return desired._replace(
        column_tags=frozenset((column, tag) for column, tag in desired.column_tags if column in columns)
    )
